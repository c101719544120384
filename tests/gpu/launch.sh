#!/usr/bin/env bash
# tests/gpu/launch.sh BUILD OUT [PACK [DEVICE]]: a pack launched from a plain C
# program (tests/gpu/launch.c: wsrt.h and libwsrt.a, nothing of CUDA's):
# results against sums made on the host, once on a stream and twice from a
# captured graph, for every tuned float32 shape and a near one; what pick and
# launch cost beside a bare cuLaunchKernel. Without PACK a small tune of gemm
# on DEVICE (cuda:0) makes one.
#
# Leaves OUT/launch.json and OUT/launch-binaries.txt. The program comes with
# `make portable`; elsewhere: make B=BUILD BUILD/tests/gpu/launch. BUDGET: of
# the tune (120 trials); SEED; BATCHES: of calls that are timed (201; 0: none).
# The first GPU is used.
set -u
[ $# -ge 2 ] || { sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 pack=${3:-} dev=${4:-cuda:0}
cd "$(dirname "$0")/../.." || exit 2
mkdir -p "$out"
program=$build/tests/gpu/launch
[ -x "$program" ] || { echo "there is no $program: make B=$build $program"; exit 2; }
ws=$build/wavesmith
export WAVESMITH_WORKER=$PWD/$build/wavesmith-worker WAVESMITH_SHARE=$PWD
if [ -z "$pack" ]; then
    pack=$out/launch.wspack
    "$ws" tune gemm --device "$dev" --workloads tests/gpu/launch.yaml \
        --budget "${BUDGET:-120}" --seed "${SEED:-1}" \
        --store "$out/launch.db" --out "$pack" || exit 1
fi
"$ws" pick "$pack" --binaries | tee "$out/launch-binaries.txt" | tail -n 3
"$program" "$pack" "${BATCHES:-201}" >"$out/launch.json"
rc=$?
cat "$out/launch.json"
echo "failures: $rc"
exit $rc
