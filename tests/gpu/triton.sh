#!/usr/bin/env bash
# tests/gpu/triton.sh BUILD OUT [DATA [DEVICE]]: kernels in Triton on a GPU.
# Those that a timing matrix was measured with (DATA, ../shared/data/h200:
# triton_kernels.py, cubins.tgz, gemm.csv.gz, attn.csv.gz), checked and timed
# beside it; then the same kernels compiled here by 'wavesmith compile', tuned
# for a minute, and the pack measured again. Needs python3 with numpy; the last
# part Triton, too (PYTHON: an interpreter that has it), and is left out without.
#
# PARTS: matrix, live (both); BUDGET: of the tunes (60s); JOBS: checks at a
# time (8); MOST: what the median ratio to the matrix may differ by (0.10).
set -u
[ $# -ge 2 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 data=${3:-../shared/data/h200} dev=${4:-cuda:0}
. tests/gpu/lib.sh
parts=" ${PARTS:-matrix live} "
python=${PYTHON:-python3}
export WAVESMITH_PYTHON=$python
work=$(mktemp -d /tmp/ws-triton-XXXXXX)
trap 'rm -rf "$work"' EXIT

matrix() {
    "$python" tests/gpu/triton/matrix.py "$data" "$work/matrix" convert || return 1
    "$python" tests/gpu/triton/matrix.py "$data" "$work/matrix" run "$ws" "$dev" | tee "$out/cells.txt"
    [ "${PIPESTATUS[0]}" -eq 0 ] || return 1
    awk -v most="${MOST:-0.10}" '/ratio median/ {
        split($0, a, "median "); n++; m = a[2] + 0
        if (m < 1 - most || m > 1 + most) { print "the median is off: " $0; bad = 1 } }
        END {exit bad || n != 2}' "$out/cells.txt"
}
# Every config with a verdict that is not right is a failure; JOBS at a time.
one_verdict() { # FOLDER SHAPE CONFIG
    local said v
    said=$(timeout 120 "$ws" check "$1/gemm.yaml" --device "$dev" --config "$3" --workload "$2" --json)
    v=$(printf '%s' "$said" | sed -n 's/^ *"verdict": "\([a-z_]*\)".*/\1/p' | head -n 1)
    echo "${v:-none} $3 on $2"
}
verdicts() {
    local n wrong
    "$ws" space "$1/gemm.yaml" --workload "$2" --list | tr '\n' '\0' |
        xargs -0 -P "${JOBS:-8}" -I{} bash -c 'one_verdict "$@"' _ "$1" "$2" {} >"$out/verdicts.txt"
    n=$(wc -l <"$out/verdicts.txt")
    wrong=$(grep -cv '^ok ' "$out/verdicts.txt")
    grep -v '^ok ' "$out/verdicts.txt" | head -n 5
    echo "$2: $n configs, $wrong not right"
    [ "$wrong" -eq 0 ] && [ "$n" -eq 76 ]
}
export -f one_verdict
export ws dev
all_configs() {
    verdicts "$work/matrix" M=100,N=528,K=1040,T=bfloat16 && verdicts "$work/matrix" M=128,N=512,K=1024,T=bfloat16
}
live() {
    mkdir -p "$work/live" && cp tests/gpu/triton/*.yaml tests/gpu/triton/attn_reference.py "$data/triton_kernels.py" "$work/live"
    "$ws" compile "$work/live/gemm.yaml" --target sm_90 --workloads tests/gpu/triton/live.yaml --trust-python \
        --json >"$out/compile.json" || { cat "$out/compile.json"; return 1; }
    cat "$out/compile.json"
    "$ws" compile "$work/live/attn.yaml" --target sm_90 --trust-python --workloads tests/gpu/triton/live_attn.yaml || return 1
}
live_tune() {
    "$ws" tune "$work/live/gemm.yaml" --device "$dev" --workloads tests/gpu/triton/live.yaml --budget "${BUDGET:-60s}" \
        --store "$out/store.db" --out "$out/gemm.wspack" --json >"$out/tune.json" 2>"$out/tune.log" ||
        { tail -n 5 "$out/tune.log"; return 1; }
    "$ws" bench "$out/gemm.wspack" --device "$dev"
}
live_attn() {
    "$ws" tune "$work/live/attn.yaml" --device "$dev" --workloads tests/gpu/triton/live_attn.yaml --budget "${BUDGET:-60s}" \
        --store "$out/attn.db" --out "$out/attn.wspack" --trust-python
}

if [[ $parts == *" matrix "* ]]; then
    step "cells of the matrix" matrix
    step "all configs of gemm" all_configs
fi
if [[ $parts == *" live "* ]]; then
    if "$python" -c 'import triton' 2>/dev/null; then
        step "compile" live
        step "tune gemm" live_tune
        step "tune attention" live_attn
    else
        echo "no Triton in $python: the live part is left out"
    fi
fi
summary
