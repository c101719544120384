#!/usr/bin/env bash
# Strategies beside each other on the matrices of an H200: what `docs/results/`
# has a page of. Arithmetic on files: the same figures everywhere.
#
#   tests/perf/h200/strategies.sh [PATH/wavesmith]
#
# KERNELS, SEEDS: less of it. PART: every PART-th shape (10); TRIALS a shape (10).
set -euo pipefail
cd "$(dirname "$0")/../../.."
tool=${1:-build/gcc/wavesmith}
shapes=$(mktemp)
trap 'rm -f "$shapes"' EXIT
for kernel in ${KERNELS:-gemm attn moe}; do
    awk -v part="${PART:-10}" 'NR % part == 1' "tests/data/h200/$kernel/workloads.jsonl" >"$shapes"
    n=$(wc -l <"$shapes")
    pass=1
    [ "$kernel" = moe ] && pass=3
    echo "$kernel: $n shapes, $((n * ${TRIALS:-10})) trials"
    "$tool" compare "tests/perf/h200/$kernel.yaml" --recordings "tests/data/h200/$kernel.csv.gz" \
        --where "pass=$pass" --workloads "$shapes" --seeds "${SEEDS:-10}" \
        --budget "$((n * ${TRIALS:-10}))" 2>/dev/null
    echo
done
