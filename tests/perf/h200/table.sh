#!/usr/bin/env bash
# How well methods choose on the matrices of an H200, as tables in Markdown:
# `docs/results/` has one that this printed. Arithmetic on files: the same
# figures everywhere.
#
#   tests/perf/h200/table.sh [PATH/wavesmith]
#
# KERNELS, METHODS, BUDGETS, SEEDS: less of it.
set -euo pipefail
cd "$(dirname "$0")/../../.."
tool=${1:-build/gcc/wavesmith}
kernels=${KERNELS:-gemm attn moe}
methods=${METHODS:-wave bilinear nearest single random}
budgets=${BUDGETS:-0 0.5% 1% 2% 5% 10%}
seeds=${SEEDS:-5}

row() { # KERNEL METHOD BUDGET [OPTIONS]: the line of means, and cells for Markdown
    local kernel=$1 method=$2 budget=$3
    shift 3
    "$tool" model eval --space "tests/perf/h200/$kernel.yaml" \
        --data "tests/data/h200/$kernel.csv.gz" --seeds "$seeds" \
        --method "$method" --budget "$budget" "$@" |
        awk -v m="$method" -v b="$budget" '$1 == "mean" {
            error = m == "wave" || m == "bilinear" ? $9 : "-"
            printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
                b, m, $10, $2, $3, $4, $5, $6, $7, $8, error}'
}

head_row() {
    echo
    echo "| budget | method | cells | best/chosen | of the top 3 | mean regret | p95 | worst | within 5 % | slower than the default | error |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|"
}

rows() { # KERNEL [OPTIONS]: of all budgets and methods
    local kernel=$1 budget method
    shift
    for budget in $budgets; do
        for method in $methods; do
            # What spends nothing cannot learn, and what does not learn has one
            # row.
            case $method:$budget in
            bilinear:0 | nearest:0 | single:0) continue ;;
            random:0) ;;
            random:*) continue ;;
            esac
            row "$kernel" "$method" "$budget" "$@"
        done
    done
}

for kernel in $kernels; do
    echo
    echo "## $kernel"
    head_row
    rows "$kernel"
done

case " $kernels " in
*" gemm "*)
    echo
    echo "## gemm_lines, fitted on gemm"
    head_row
    # At 10% there are more cells than the process holds, and little to see.
    budgets=${budgets/ 10%/}
    rows gemm --holdout tests/data/h200/gemm_lines.csv.gz
    ;;
esac
