#!/usr/bin/env bash
# tests/gpu/cuda.sh BUILD OUT [DEVICE [OTHER]]: the whole chain on a GPU through
# the CUDA driver: devices, verdicts of the shipped operators over types and
# awkward shapes, a tune of each through CUDA (DEVICE, cuda:0) and through the
# vendor's OpenCL (OTHER; the card's), with the same budget and seed, and one
# table of both. Every step is timed; what failed is counted.
#
# PARTS: devices, checks, tunes (all); OPS: which operators; else as lib.sh
# says: BUDGET SAMPLES JOBS SEED SMALL BENCH.
set -u
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
. tests/gpu/lib.sh
other=${4:-$(card_opencl)}
ops=${OPS:-gemm rmsnorm gqa_paged_decode}
parts=" ${PARTS:-devices checks tunes} "

devices() {
    "$ws" devices && "$ws" devices --json >"$out/devices.json"
    "$ws" devices | grep -q "^$dev " || { echo "no device $dev"; return 1; }
}
[[ $parts != *" devices "* ]] || step devices devices
if [[ $parts == *" checks "* ]]; then
    for op in $ops; do step "check $op on $dev" check_op "$op"; done
    cat "$out"/checks-*.tsv >"$out/checks.tsv" && rm -f "$out"/checks-*.tsv
fi
if [[ $parts == *" tunes "* ]]; then
    for op in $ops; do
        step "tune $op on $dev" tune_op "$op" "$dev" "$op-cuda"
        if [ -n "$other" ]; then step "tune $op on $other" tune_op "$op" "$other" "$op-opencl"; fi
    done
    table_of_both() { table "$out" >"$out/table.md" && cat "$out/table.md"; }
    step table table_of_both
fi
summary
