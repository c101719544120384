#!/usr/bin/env bash
# tests/gpu/integrity.sh BUILD OUT [DEVICE]: the attacks and the honest kernels
# of tests/integrity on a GPU (cuda:0): OUT/verdicts.tsv, OUT/rates.json, and
# the line with both rates. JOBS: checks at a time (6).
set -u
[ $# -ge 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
. tests/gpu/lib.sh
export BUILD=$build JOBS=${JOBS:-6}
judge() { tests/integrity/run -d "$dev" -o "$out"; }
step "attacks and honest kernels on $dev" judge
summary
