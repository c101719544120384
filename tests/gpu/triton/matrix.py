"""matrix.py DATA WORK convert|run TOOL DEVICE: kernels of the timing matrix
(README.md of DATA) through Wavesmith.

convert: the exact cubins of the measurement, as the folders that 'wavesmith
compile' would have made, beside copies of this folder's kernel files in WORK.
run: checks and times a sample of cells and compares with pass 3 of the matrix.
Two configs of a shape are timed by one 'wavesmith bench'; a line a cell, then
the ratio's median and percentiles by kernel.
"""
import csv
import gzip
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
P = "*bf16:16"
TYPES = {
    "gemm": [P, P, P, "i32", "i32:16", "i32:16"],
    "gemm_sk": [P, P, "*fp32:16", "i32", "i32:16", "i32:16"],
    "sk_reduce": ["*fp32:16", P, "i32:16"],
    "attn": [P, P, P, P, "i32", "i32", "i32", "i32"],
}
FOLDERS = {"gemm": ("gemm", "gemm_sk", "sk_reduce"), "attn": ("attn",)}
# Shapes of at most so many multiplications, which processors compute in seconds
# for the verdict, and how many of them, two configs each.
WORK = {"gemm": 8e10, "attn": 3e10}
SHAPES = {"gemm": 15, "attn": 8}


def key(e):
    args = [f"'{t}'" for t in TYPES[e["kernel"]]]
    args += [f"{n}={v}" for n, v in e["consts"].items()]
    args += [f"num_warps={e['num_warps']}", f"num_stages={e['num_stages']}"]
    return f"{e['kernel']}({', '.join(args)})"


def convert(data, work):
    os.makedirs(work, exist_ok=True)
    for name in os.listdir(HERE):
        if name.endswith((".yaml", ".py")) and name != "matrix.py":
            shutil.copy(os.path.join(HERE, name), work)
    source = os.path.join(data, "triton_kernels.py")
    shutil.copyfile(source, os.path.join(work, "triton_kernels.py"))
    with tarfile.open(os.path.join(data, "cubins.tgz")) as tar:
        files = {os.path.basename(m.name): tar.extractfile(m).read() for m in tar if m.isfile()}
    index = json.loads(files["index.json"])
    for folder, kernels in FOLDERS.items():
        out = os.path.join(work, f"{folder}.triton", "sm_90")
        os.makedirs(out, exist_ok=True)
        shutil.copyfile(source, os.path.join(out, "source.py"))
        listed = []
        for e in index:
            if e["kernel"] not in kernels:
                continue
            name = e["key"] + ".cubin"
            with open(os.path.join(out, name), "wb") as f:
                f.write(files[name])
            listed.append(
                {
                    "key": key(e),
                    "file": name,
                    "entry": e["name"],
                    "threads": 32 * e["warps_out"],
                    "shared": e["shared"],
                    "nulls": e["params"] - len(TYPES[e["kernel"]]),
                    "bytes": len(files[name]),
                }
            )
        with open(os.path.join(out, "index.json"), "w", encoding="ascii") as f:
            json.dump(
                {"format": "wavesmith-triton-1", "triton": "3.6.0", "target": "sm_90", "files": listed}, f, indent=0
            )
        print(f"{out}: {len(listed)} files")


def work_of(kind, r):
    if kind == "gemm":
        return int(r["M"]) * int(r["N"]) * int(r["K"])
    return int(r["B"]) * int(r["HQ"]) * int(r["S"]) ** 2 * 128


def cells(data, kind):
    """{shape: {config: (row, time in us)}} of pass 3."""
    found = {}
    with gzip.open(os.path.join(data, f"{kind}.csv.gz"), "rt") as f:
        for r in csv.DictReader(f):
            if r["pass"] == "3" and r["bm"] and work_of(kind, r) <= WORK[kind]:
                found.setdefault(r["shape"], {})[r["cfg"]] = r
    return found


def config_of(kind, r):
    text = f"BM={r['bm']},BN={r['bn']},WARPS={r['warps']},STAGES={r['stages']}"
    return text + (f",BK={r['bk']},SPLIT_K={r['split_k']}" if kind == "gemm" else "")


def workload_of(kind, r):
    axes = "MNK" if kind == "gemm" else ("B", "S", "HQ", "HKV")
    return ",".join(f"{a}={r[a]}" for a in axes) + (",T=bfloat16" if kind == "gemm" else "")


def bench(tool, device, work, kind, a, b):
    done = subprocess.run(
        [tool, "bench", os.path.join(work, f"{kind}.yaml"), "--device", device, "--trust-python", "--json"]
        + ["--workload", workload_of(kind, a), "--against", config_of(kind, a), "--config", config_of(kind, b)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": done.stdout + done.stderr}


def times(answer):
    row = answer["rows"][0] if "rows" in answer else answer
    if row["a"]["verdict"] != "ok" or row["b"]["verdict"] != "ok":
        raise KeyError
    return row["a"]["median_ns"] / 1e3, row["b"]["median_ns"] / 1e3


def spread(kind, found):
    """So many shapes, from the smallest work to the largest."""
    by_work = sorted(found, key=lambda s: (work_of(kind, next(iter(found[s].values()))), s))
    n = min(SHAPES[kind], len(by_work))
    return [by_work[i * (len(by_work) - 1) // (n - 1)] for i in range(n)]


def run(data, work, tool, device):
    random.seed(1)
    bad = 0
    for kind in FOLDERS:
        found = cells(data, kind)
        ratios = []
        shapes = spread(kind, found)
        for shape in shapes:
            names = sorted(found[shape])
            split = [c for c in names if c.endswith("_k4")]
            pick = random.sample(names, 2)
            if split and pick[0] not in split and pick[1] not in split:
                pick[1] = random.choice(split)
            a, b = (found[shape][c] for c in pick)
            answer = bench(tool, device, work, kind, a, b)
            try:
                got = list(zip((a, b), times(answer)))
            except (KeyError, TypeError, IndexError):
                bad += 1
                print(f"FAILED {kind} {workload_of(kind, a)} {pick}: {json.dumps(answer)[:600]}")
                continue
            for r, us in got:
                want = float(r["median_us"])
                ratios.append(us / want)
                print(f"{kind} {workload_of(kind, r)} {r['cfg']}: {us:.2f} us, matrix {want:.2f}, ratio {us / want:.3f}")
        if ratios:
            q = statistics.quantiles(ratios, n=20, method="inclusive")
            print(f"{kind}: {len(ratios)} cells, ratio median {statistics.median(ratios):.3f}, p5 {q[0]:.3f}, p95 {q[-1]:.3f}")
    print(f"failures: {bad}")
    return bad


if __name__ == "__main__":
    if sys.argv[3] == "convert":
        convert(sys.argv[1], sys.argv[2])
    else:
        sys.exit(run(sys.argv[1], sys.argv[2], sys.argv[4], sys.argv[5]) > 0)
