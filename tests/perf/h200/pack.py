#!/usr/bin/env python3
"""How well packs choose for shapes that they have not seen, on the matrices of
an H200: tune on the recordings of some groups of shapes, ask the pack for the
others, look up what it chose. Unlike `model eval`, which judges the formula,
this judges what ships: margins, pruned portfolio and tree included.

    tests/perf/h200/pack.py [--tool PATH/wavesmith] [--budget N] [--seeds N] [--wide] [KERNEL...]

Arithmetic on files: the same figures everywhere. The kernels of the matrices
have no source here, so packs get one that is never built.
"""
import argparse
import collections
import csv
import gzip
import json
import pathlib
import random
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
ARGS = {"gemm": "A, W, C", "attn": "Q, K, V, O", "moe": "A, W, expert, C"}
HELD = 0.4  # of the shapes, in whole groups


def run(*command):
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(" ".join(done.args) + "\n" + done.stdout + done.stderr)
    return done.stdout


def axes_of(workload):
    return {k: v for k, v in workload.items() if k not in ("name", "about")}


def choice(tool, pack, workload, names):
    """The config and how it was found; none where the pack refuses the shape."""
    axes = [f"{a}={v}" for a, v in axes_of(workload).items()]
    command = [str(tool), "pick", str(pack), *axes, "--json"]
    said = json.loads(subprocess.run(command, text=True, capture_output=True).stdout)
    if "error" in said:
        if "outside of what was tuned" not in said["error"]["message"]:
            raise SystemExit(" ".join(command) + "\n" + said["error"]["message"])
        return None, "refused"
    return tuple(str(said["parameters"][n]) for n in names), said["how"]


def parameters(text):
    block = re.search(r"^parameters:\n((?:  .*\n)+)", text, re.M).group(1)
    return re.findall(r"^  (\w+):", block, re.M)


def write_kernel(folder, kernel, ranges):
    text = (ROOT / f"tests/perf/h200/{kernel}.yaml").read_text()
    names = parameters(text)
    args = ", ".join([ARGS[kernel]] + [f"{{int32: {n}}}" for n in names])
    text = re.sub(r"^op: .*$", f"op: {ROOT}/tests/data/h200/{kernel}\n"
                  "dialect: opencl\nsource: none.cl\nlaunches:\n"
                  f"  - {{entry: f, grid: [1], block: [1], args: [{args}]}}", text, flags=re.M)
    if ranges:
        text += f"ranges: {json.dumps(ranges)}\n"
    (folder / "kernel.yaml").write_text(text)
    (folder / "none.cl").write_text("kernel void f() {}\n")
    return names


def times(kernel, names):
    """By shape and config, in microseconds; rows of peers have no tile."""
    out = collections.defaultdict(dict)
    with gzip.open(ROOT / f"tests/data/h200/{kernel}.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if row["pass"] == "3" and row["bm"] and row["median_us"]:
                config = tuple(row[n] for n in names)
                out["s" + row["shape"]][config] = float(row["median_us"])
    return out


def group(workload):
    return workload["name"] if workload["about"] == "random" else workload["about"]


def split(workloads, seed):
    groups = sorted({group(w) for w in workloads})
    random.Random(seed).shuffle(groups)
    held = []
    for g in groups:
        if len(held) < HELD * len(workloads):
            held += [w for w in workloads if group(w) == g]
    return [w for w in workloads if w not in held], held


def judge(tool, kernel, budget, seed, wide):
    path = ROOT / f"tests/data/h200/{kernel}"
    workloads = [json.loads(s) for s in (path / "workloads.jsonl").read_text().splitlines()]
    fit, held = split(workloads, seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        axes = axes_of(workloads[0]) if wide else {}
        ranges = {a: [min(w[a] for w in workloads), max(w[a] for w in workloads)] for a in axes}
        names = write_kernel(folder, kernel, ranges)
        (folder / "fit.jsonl").write_text("".join(json.dumps(w) + "\n" for w in fit))
        run(tool, "tune", folder / "kernel.yaml", "--workloads", folder / "fit.jsonl",
            "--recordings", f"{path}.csv.gz", "--where", "pass=3", "--device", "h200",
            "--strategy", "wave", "--budget", budget, "--seed", seed,
            "--store", folder / "store.db", "--out", folder / "pack")
        size = (folder / "pack").stat().st_size
        known, quality, how = times(kernel, names), [], collections.Counter()
        for w in held:
            config, source = choice(tool, folder / "pack", w, names)
            how[source] += 1
            if config:
                of = known[w["name"]]
                quality.append(min(of.values()) / of[config])
    return quality, how, size


def main():
    parser = argparse.ArgumentParser(description="judge packs on the matrices of an H200")
    parser.add_argument("--tool", default=ROOT / "build/gcc/wavesmith")
    parser.add_argument("--budget", default="400")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--wide", action="store_true",
                        help="serve all shapes, not only those within the ranges of the tuned")
    parser.add_argument("kernel", nargs="*", default=list(ARGS))
    given = parser.parse_args()
    for kernel in given.kernel:
        means = []
        for seed in range(1, given.seeds + 1):
            q, how, size = judge(given.tool, kernel, given.budget, seed, given.wide)
            means.append(sum(q) / len(q))
            print(f"{kernel} seed {seed}: {len(q)} shapes, best/chosen {means[-1]:.4f}, "
                  f"worst {min(q):.3f}, {dict(how)}, {size} bytes", flush=True)
        print(f"{kernel} mean {sum(means) / len(means):.4f}", flush=True)


if __name__ == "__main__":
    main()
