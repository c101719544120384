#!/usr/bin/env python3
"""tests/perf/forge/ablation.py BUILD OUT [DEVICE]: what the parts of forge are worth.

Every kernel is forged once from an empty memory, so that there is something to
remember. Then it is forged again, with the same small budget, whole and with
one part left out: without profile, without memory, without pairs of moves.
What a whole run remembers is what the other kernels taught, never its own.

Variables: NAMES (kernels of practice/), BUDGET (questions a run, 24), TEACH
(questions of the first run, 40), SEEDS ("1 2"). Leaves a file a run and
ablation.tsv, prints ablation.md: geometric means over kernels and seeds, with
95 % intervals from resampling kernels. A run that is there is not made again.
"""
import json
import math
import os
import random
import shutil
import subprocess
import sys

NAMES = ("gemm_naive row_sum histogram softmax layernorm gemv rmsnorm broadcast_add batched_gemm "
         "pairwise_distance nbody black_scholes cross_entropy spmv_csr").split()
VARIANTS = {"whole": [], "no profile": ["--no-profile"], "no memory": ["--no-memory"], "single moves": ["--single"]}


class Bench:
    def __init__(self, build, out, device):
        self.tool = os.path.join(build, "wavesmith")
        self.out, self.device = out, device
        cpu = device.startswith("opencl")
        self.twin, self.shapes = ("opencl", "workloads.yaml") if cpu else ("cuda", "workloads-gpu.yaml")
        self.env = dict(os.environ, WAVESMITH_SHARE=os.getcwd(), WAVESMITH_CACHE=os.path.join(out, "cache"),
                        WAVESMITH_WORKER=os.path.abspath(os.path.join(build, "wavesmith-worker")))

    def data(self, name):
        path = os.path.join(self.out, "data", name)
        os.makedirs(path, exist_ok=True)
        return path

    def call(self, data, *args):
        return subprocess.run([self.tool, *args], env=dict(self.env, WAVESMITH_DATA=data), capture_output=True, text=True, check=False)

    def roof(self):
        """The ceilings of the device, once; every memory gets them."""
        path = self.data("roof")
        if not os.path.isdir(os.path.join(path, "roofs")):
            done = self.call(path, "roof", "--quick", "--device", self.device)
            if done.returncode:
                sys.exit(done.stderr)

    def forge(self, name, tag, data, budget, seed, more):
        result = os.path.join(self.out, f"{name}-{tag}.json")
        if not os.path.exists(result):
            store = os.path.join(self.out, f"{name}-{tag}.db")
            roofs = os.path.join(data, "roofs")
            if not os.path.isdir(roofs):
                shutil.copytree(os.path.join(self.data("roof"), "roofs"), roofs)
            done = self.call(data, "forge", f"practice/{name}", "--kernel", f"{name}_{self.twin}", "--workloads",
                             f"practice/{name}/{self.shapes}", "--device", self.device, "--store", store, "--seed", str(seed),
                             "--budget", str(budget), "--json", *more)
            if done.returncode not in (0, 1):
                sys.exit(f"{name}, {tag}: {done.stderr}")
            with open(result + ".tmp", "w", encoding="utf-8") as f:
                f.write(done.stdout)
            os.rename(result + ".tmp", result)
        with open(result, encoding="utf-8") as f:
            p = json.load(f)
        print(f"{name}, {tag}: {p['speedup']:.3f}x in {p['trials']} questions, {p['seconds']:.0f} s", flush=True)
        return p

    def memory_without(self, name, names, tag):
        """What all others taught."""
        path = self.data(f"{tag}-{name}")
        with open(os.path.join(path, "moves.txt"), "w", encoding="utf-8") as f:
            for other in names:
                taught = os.path.join(self.data(f"taught-{other}"), "moves.txt")
                if other != name and os.path.exists(taught):
                    with open(taught, encoding="utf-8") as g:
                        f.write(g.read())
        return path


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def interval(by_kernel, rng):
    """Of the geometric mean, kernels resampled."""
    means = sorted(geomean([v for k in rng.choices(by_kernel, k=len(by_kernel)) for v in k]) for _ in range(2000))
    return means[50], means[1949]


def report(rows, names, out):
    rng = random.Random(1)
    whole = {(r["name"], r["seed"]): r["speedup"] for r in rows if r["variant"] == "whole"}
    lines = ["| | geometric mean (95 %) | above 1.05x | questions | whole over it (95 %) | whole better, worse by 2 % |",
             "|---|---|---|---|---|---|"]
    for v in VARIANTS:
        mine = [r for r in rows if r["variant"] == v]
        kernels = [[r["speedup"] for r in mine if r["name"] == n] for n in names]
        ratios = [[whole[n, r["seed"]] / r["speedup"] for r in mine if r["name"] == n] for n in names]
        flat = [x for k in ratios for x in k]
        lo, hi = interval(kernels, rng)
        rlo, rhi = interval(ratios, rng)
        lines.append(f"| {v} | {geomean([x for k in kernels for x in k]):.3f} ({lo:.3f} to {hi:.3f}) | "
                     f"{sum(r['lo'] > 1.05 for r in mine)} of {len(mine)} | {sum(r['trials'] for r in mine)} | "
                     f"{geomean(flat):.3f} ({rlo:.3f} to {rhi:.3f}) | {sum(x > 1.02 for x in flat)}, {sum(x < 1 / 1.02 for x in flat)} |")
    with open(os.path.join(out, "ablation.tsv"), "w", encoding="utf-8") as f:
        f.write("kernel\tvariant\tseed\tspeedup\tlo\thi\tquestions\tseconds\n")
        for r in rows:
            f.write("\t".join(str(r[k]) for k in ("name", "variant", "seed", "speedup", "lo", "hi", "trials", "seconds")) + "\n")
    with open(os.path.join(out, "ablation.md"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    print("\n".join(lines))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    names = os.environ.get("NAMES", "").split() or NAMES
    seeds = [int(s) for s in os.environ.get("SEEDS", "1").split()]
    budget, teach = int(os.environ.get("BUDGET", "24")), int(os.environ.get("TEACH", "40"))
    out = os.path.abspath(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    bench = Bench(sys.argv[1], out, sys.argv[3] if len(sys.argv) > 3 else "opencl:0")
    bench.roof()
    for name in names:
        bench.forge(name, "taught", bench.data(f"taught-{name}"), teach, 1000, [])
    rows = []
    for name in names:
        for seed in seeds:
            for variant, more in VARIANTS.items():
                tag = f"{variant.replace(' ', '-')}-{seed}"
                p = bench.forge(name, tag, bench.memory_without(name, names, tag), budget, seed, more)
                rows.append({"name": name, "variant": variant, "seed": seed, **{k: p[k] for k in ("speedup", "lo", "hi", "trials", "seconds")}})
    report(rows, names, out)


if __name__ == "__main__":
    main()
