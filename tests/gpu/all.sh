#!/usr/bin/env bash
# tests/gpu/all.sh BUILD OUT 1|2|3: what is shown on a CUDA device, in three
# parts that end within nine minutes each. OUT gets N.log and N.tgz.
#   1  devices, verdicts of the shipped operators, forms of kernels,
#      faults in a tune, kills of workers                           (~6 min)
#   2  tunes of the three operators, CUDA beside OpenCL             (~7 min)
#   3  gemm beside Kernel Tuner, kills of the tool                  (~8 min)
# Part 3 needs kernel_tuner (tests/gpu/README.md). The variables of the scripts
# hold; DEVICE (cuda:0); LIMIT: seconds after which a part is ended, what it had
# is kept (560).
set -u
[ $# -eq 3 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 part=$3 dev=${DEVICE:-cuda:0}
here=$(mktemp -d)
mkdir -p "$out"
commands() {
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.limit,clocks_throttle_reasons.active --format=csv
    case $part in
    1)
        PARTS="devices checks" tests/gpu/cuda.sh "$build" "$here/checks" "$dev"
        echo "## forms"
        DEVICE=$dev tests/gpu/forms.sh "$build" "$here/forms" || echo "failures: 1 of the forms or more"
        PARTS="faults workers" tests/gpu/robust.sh "$build" "$here/robust" "$dev" ;;
    2) PARTS=tunes BUDGET=${BUDGET:-30s} tests/gpu/cuda.sh "$build" "$here/tunes" "$dev" ;;
    3)
        TRIALS=${TRIALS:-25} tests/gpu/peers.sh "$build" "$here/peers" "$dev"
        PARTS=tool tests/gpu/robust.sh "$build" "$here/robust" "$dev" ;;
    esac
}
export -f commands
export part here build dev
start=$SECONDS
timeout -k 5 "${LIMIT:-560}" bash -c commands 2>&1 | tee "$out/$part.log"
echo "part $part: $((SECONDS - start)) s" | tee -a "$out/$part.log"
rm -f "$here"/*/*.db* "$here"/*/*.wspack
tar -czf "$out/$part.tgz" -C "$here" .
rm -rf "$here"
! grep -q '^failures: [1-9]' "$out/$part.log"
