#!/bin/sh
# Library GEMMs on eight GPUs: each is predicted from its sheet and the model of
# its nearest relative, after 0, 16 and 64 of its own times. Prints one row a GPU
# and number of cells.
#
#   tests/perf/neusight/transfer.sh linear_test_8gpu.csv.gz [SEEDS [CELLS...]]
#
# WAVESMITH: the tool, if not the one of build/gcc.
set -eu
tool=${WAVESMITH:-build/gcc/wavesmith}
here=tests/perf/neusight
table=${1:-}
seeds=${2:-5}
[ $# -gt 2 ] && shift 2 || set -- 0 16 64
[ -r "$table" ] || { echo "skipped: no table at '$table'"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 $here/convert.py "$table" "$work" >"$work/log"

# held-out device, its sheet, nearest relative, its sheet
pairs="NVIDIA_H100_80GB_HBM3 h100 NVIDIA_A100_80GB_PCIe a100-80gb-pcie
NVIDIA_L4 l4 NVIDIA_A100_80GB_PCIe a100-80gb-pcie
NVIDIA_A100_80GB_PCIe a100-80gb-pcie NVIDIA_A100-PCIE-40GB a100-pcie
NVIDIA_A100-PCIE-40GB a100-pcie NVIDIA_A100_80GB_PCIe a100-80gb-pcie
Tesla_V100-PCIE-32GB v100 Tesla_T4 t4
Tesla_T4 t4 Tesla_V100-PCIE-32GB v100
Tesla_P100-PCIE-16GB p100 Tesla_P4 p4
Tesla_P4 p4 Tesla_P100-PCIE-16GB p100"

echo "device from cells | transfer: median p95 bias | neutral: median p95 bias"
echo "$pairs" | while read -r device sheet from from_sheet; do
    for cells; do
        "$tool" model transfer --json --space $here/linear.yaml \
            --data "$work/$from.csv" --sheet "$from_sheet" \
            --to-data "$work/$device.csv" --to-sheet "$sheet" \
            --cells $cells --seeds "$seeds" |
            python3 -c '
import json, sys
r, side = json.load(sys.stdin), []
for name in "transfer", "neutral":
    f = r[name]
    side.append("%5.1f%% %6.1f%% %5.2f" % (
        100 * f["error_median"], 100 * f["error_p95"], f["bias"]))
print("%-16s %-16s %3s | %s | %s" % (*sys.argv[1:], *side))' \
                "$sheet" "$from_sheet" $cells
    done
done
