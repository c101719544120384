#!/usr/bin/env python3
"""Library GEMMs of eight GPUs as timing matrices, one a device.

    convert.py linear_test_8gpu.csv.gz FOLDER

The table has one row a shape and device: the kernel that the library chose, its
launch, the time. Rows become those of tests/perf/neusight/linear.yaml:

- The table's K is the width of the output and its N what is summed over: grids
  are ceil(K / tile) by ceil(M / tile). They change places here.
- A tile comes from the kernel's name: its first number is along the output's
  width, the second along rows.
- A grid with more blocks than tiles splits the sum; one of the same number was
  only folded, to walk tiles in bands.
- Registers are not in the table. A thread of such kernels holds its share of the
  tile and about 58 more; that gives the blocks that are resident. (The table's
  blocks_per_sm is the launch's mean and no occupancy.)
"""
import csv
import gzip
import os
import re
import sys

COLUMNS = ["device", "B", "M", "N", "K", "rows", "columns", "slices", "threads",
           "stages", "split", "family", "blocks_per_sm", "n_regs", "grid", "time_ms"]
FAMILIES = ["maxwell", "volta", "ampere", "cutlass", "xmma"]


def ceil_div(a, b):
    return -(-a // b)


def kernel(row):
    """What the name and the block say."""
    name = row["kernel"]
    width, height = map(int, re.search(
        r"(?:tilesize|sgemm_)(\d+)x(\d+)", name).groups())
    sliced = re.search(r"sliced1x(\d+)", name)
    stages = re.search(r"stage(\d)|\d+x\d+_8x(\d)_", name)
    return {
        "rows": height,
        "columns": width,
        "slices": int(sliced.group(1)) if sliced else 1,
        "threads": int(row["block_x"]),
        "stages": int(stages.group(1) or stages.group(2)) if stages else 2,
        "family": next((f for f in FAMILIES if f in name), "cublas"),
    }


def split(row, k, out):
    grid = [int(row["grid_" + c]) for c in "xyz"]
    tiles = (out["B"] * ceil_div(out["M"], k["rows"]) *
             ceil_div(out["N"], k["columns"]))
    if grid[0] * grid[1] >= tiles:
        return grid[2]
    return max(1, round(grid[0] * grid[1] * grid[2] / tiles))


def resident(k):
    share = k["rows"] * k["columns"] * k["slices"] // k["threads"]
    registers = min(255, 8 * ceil_div(share + 58, 8))
    return registers, max(1, min(16, 65536 // (registers * k["threads"])))


def convert(row):
    out = {"device": row["device"], "B": int(row["B"]), "M": int(row["M"]),
           "N": int(row["K"]), "K": int(row["N"]), "time_ms": row["ms"]}
    k = kernel(row)
    out.update(k)
    out["split"] = split(row, k, out)
    out["n_regs"], out["blocks_per_sm"] = resident(k)
    out["grid"] = (out["B"] * ceil_div(out["M"], k["rows"]) *
                   ceil_div(out["N"], k["columns"]) * out["split"])
    return out


def main(path, folder):
    devices = {}
    with gzip.open(path, "rt") as f:
        for row in csv.DictReader(f):
            devices.setdefault(row["device"], []).append(convert(row))
    os.makedirs(folder, exist_ok=True)
    for device, rows in devices.items():
        name = device.replace(" ", "_") + ".csv"
        with open(os.path.join(folder, name), "w", newline="") as f:
            w = csv.DictWriter(f, COLUMNS)
            w.writeheader()
            w.writerows(rows)
        print(name, len(rows))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
