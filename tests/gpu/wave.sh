#!/usr/bin/env bash
# tests/gpu/wave.sh BUILD OUT DATA [DEVICE]: the wave model on a GPU. The Triton
# kernels of the timing matrices (DATA/triton_kernels.py) are compiled, tuned
# with the strategy 'wave' on some shapes, and the pack is asked for others. For
# these every config is then timed, so that the best is known. Needs python3
# with numpy and Triton (PYTHON: an interpreter that has them).
#
# PARTS: gemm, attn (both); BUDGET: of a tune (150s); LIMIT: of timing every
# config (400, seconds).
set -uo pipefail
[ $# -ge 3 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 data=$3 dev=${4:-cuda:0}
. tests/gpu/lib.sh
python=${PYTHON:-python3}
export WAVESMITH_PYTHON=$python
work=$(mktemp -d /tmp/ws-wave-XXXXXX)
trap 'rm -rf "$work"' EXIT
here=tests/gpu/wave

compile() {
    "$ws" compile "$work/$1.yaml" --target sm_90 --workloads "$here/$1_seen.yaml" --trust-python >/dev/null &&
        "$ws" compile "$work/$1.yaml" --target sm_90 --workloads "$here/$1_unseen.yaml" --trust-python
}
tune() {
    local start
    start=$(date +%s%N)
    timeout 400 "$ws" tune "$work/$1.yaml" --device "$dev" --workloads "$here/$1_seen.yaml" --strategy wave \
        --budget "${BUDGET:-150s}" --store "$work/$1.db" --out "$out/$1.wspack" --trust-python --json \
        >"$out/$1-tune.json" 2>"$out/$1.log" || { tail -n 5 "$out/$1.log"; return 1; }
    echo "$1: $(seconds_since "$start") s"
}
# Every config on every unseen shape; what the limit leaves out is said.
exhaust() {
    local start
    start=$(date +%s%N)
    timeout -s INT "${LIMIT:-400}" "$ws" tune "$work/$1.yaml" --device "$dev" --workloads "$here/$1_unseen.yaml" \
        --strategy grid --budget 100000 --store "$work/$1-all.db" --trust-python --json \
        >"$out/$1-all.json" 2>"$out/$1-all.log"
    "$ws" trials "$work/$1-all.db" --export "$work/$1-all.jsonl" >/dev/null || return 1
    gzip -c "$work/$1-all.jsonl" >"$out/$1-all.jsonl.gz"
    echo "$1: $(seconds_since "$start") s"
}
judge() {
    "$python" "$here/judge.py" "$ws" "$out/$1.wspack" "$work/$1-all.jsonl" "$out/$1-tune.json" | tee "$out/$1-wave.txt"
}

cp tests/gpu/triton/*.yaml tests/gpu/triton/attn_reference.py "$data/triton_kernels.py" "$work" || exit 2
for kind in ${PARTS:-gemm attn}; do
    step "compile $kind" compile "$kind"
    step "tune $kind" tune "$kind"
    step "every config of $kind" exhaust "$kind"
    step "judge $kind" judge "$kind"
done
summary
