#!/usr/bin/env bash
# tests/gpu/ops.sh BUILD OUT [DEVICE]: rmsnorm and gqa_paged_decode on a GPU
# through the vendor's OpenCL, or on any DEVICE: random configs on awkward and
# on real shapes, then a tune of each that fits two minutes, and its choices
# measured again. OUT gets checks-OP.tsv (verdict, shape and config), and for
# each operator its tune and bench as JSON, trials as text, store and pack.
# OPS: which operators; else as lib.sh says: SAMPLES JOBS BUDGET SEED SMALL.
set -u
build=$1 out=$2
. tests/gpu/lib.sh
dev=${3:-$(card_opencl)}
[ -n "$dev" ] || { echo "no GPU found"; exit 3; }
ops=${OPS:-rmsnorm gqa_paged_decode} BENCH=1
"$ws" devices --json >"$out/devices.json"
for op in $ops; do step "check $op on $dev" check_op "$op"; done
for op in $ops; do step "tune $op on $dev" tune_op "$op" "$dev" "$op"; done
table "$out" "$dev="
summary
