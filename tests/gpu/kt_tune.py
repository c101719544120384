#!/usr/bin/env python3
"""Kernel Tuner on the gemm that a tune of ours had, config by config.

    kt_tune.py TRIALS.jsonl SPACE.json KERNEL.c HEADER.h RESULT.json
               [--no-verify] [--iterations 7] [--lang CUPY,NVCUDA]

TRIALS.jsonl is `wavesmith trials STORE --export` of a tune of one workload by
--strategy random, SPACE.json `wavesmith space ... --json` of the same space.
Kernel Tuner gets the same source, the same parameters and constraints (which
are Python; axes and the device's variables are put in as numbers), and as its
strategy the configs that ours screened, in that order. Kernel Tuner launches
one kernel, so the space must be one without SPLIT_K.

Verification: what it does when asked to, one run of each config on one set of
inputs against an answer that is computed once, here by numpy in double; the
tolerance is that of docs/specification.md. One wrong result ends its tune.
Timing is its default: `iterations` runs, each with a synchronization, caches
warm.
"""
import argparse
import json
import os
import re
import sys
import time

BEGAN = time.perf_counter()
UNIT = {"float32": 2.0 ** -24, "float16": 2.0 ** -11, "bfloat16": 2.0 ** -8}
STORED = {"float32": "float32", "float16": "float16", "bfloat16": "uint16"}


def read_trials(path):
    """Parameters with their values, the workload's axes, the device, the
    configs that were screened, in order, with their times."""
    spec, found = None, []
    with open(path) as f:
        for line in f:
            row = json.loads(line)
            if row["wavesmith"] == "spec":
                spec = row
            elif (row["wavesmith"] == "trial" and not row["question"]["pair"]
                  and row["question"]["effort"] == 0):
                found.append(row)
    if not spec or not found:
        sys.exit(f"kt_tune: {path} has no screening trials")
    found.sort(key=lambda r: r["question"]["seq"])
    axes = dict(item.split("=") for item in found[0]["workload"].split(","))
    if any(r["workload"] != found[0]["workload"] for r in found):
        sys.exit("kt_tune: the trials are of several workloads")
    return spec["kernels"][0]["parameters"], axes, found[0]["identity"], found


def number(text):
    """Bools as device code has them."""
    return {"true": 1, "false": 0}[text] if text.isalpha() else int(text)


def restriction(text, known):
    """A constraint of ours with what is fixed put in as numbers."""
    for name, value in known.items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    while True:
        m = re.search(r"ceil_div\(([^(),]+), ([^(),]+)\)", text)
        if not m:
            return text
        text = (text[:m.start()] + f"(-(-({m[1]}) // ({m[2]})))"
                + text[m.end():])


def bfloat16_bits(np, x):
    u = x.astype(np.float32).view(np.uint32)
    return ((u + 0x7fff + (u >> 16 & 1)) >> 16).astype(np.uint16)


def inputs(np, axes):
    """The arguments and the answer: C, in double, from what is stored."""
    m, n, k, kind = int(axes["M"]), int(axes["N"]), int(axes["K"]), axes["T"]
    draw = np.random.default_rng(1)

    def stored(rows, scale):
        x = draw.standard_normal((rows, k), dtype=np.float32) * scale
        if kind != "bfloat16":
            x = x.astype(STORED[kind])
            return x, x.astype(np.float64)
        bits = bfloat16_bits(np, x)
        return bits, widen(np, bits, kind)

    a, a64 = stored(m, np.float32(1))
    w, w64 = stored(n, np.float32(0.05))
    c = np.zeros((m, n), dtype=STORED[kind])
    arguments = [a, w, c, np.zeros(4, np.float32), np.int32(m), np.int32(n),
                 np.int32(k)]
    return arguments, a64 @ w64.T


def widen(np, x, kind):
    if kind != "bfloat16":
        return x.astype(np.float64)
    return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def verifier(np, axes, answer):
    kind, k = axes["T"], int(axes["K"])
    rms = float(np.sqrt(np.mean(answer * answer)))
    slack = (8 * k ** 0.5 + k / 8) * 2.0 ** -24 * rms
    allowed = 2 * UNIT[kind] * np.abs(answer) + slack

    def verify(_, result, atol=None):
        got = widen(np, result[2].reshape(answer.shape), kind)
        return bool((np.abs(got - answer) <= allowed).all())
    return verify


class Given:
    """A strategy for Kernel Tuner: these configs, in this order."""

    def __init__(self, configs):
        self.configs = configs
        self.began = self.size = None

    def tune(self, searchspace, runner, tuning_options):
        self.size = searchspace.size
        self.began = time.perf_counter()
        return runner.run(self.configs, tuning_options)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    for name in ("trials", "space", "kernel", "header", "result"):
        p.add_argument(name)
    p.add_argument("--no-verify", action="store_true")
    p.add_argument("--iterations", type=int, default=7)
    p.add_argument("--lang", default="CUPY,NVCUDA",
                   help="its backends; the first that answers anything")
    args = p.parse_args()

    import numpy as np
    from kernel_tuner import tune_kernel
    imported = time.perf_counter()

    params, axes, device, trials = read_trials(args.trials)
    with open(args.space) as f:
        space = json.load(f)
    known = {**{k: v for k, v in axes.items() if k != "T"},
             **{"device_" + k: device[k] for k in
                ("units", "max_threads", "shared_bytes", "vector_bytes",
                 "is_cpu")}}
    tune_params = {p["name"]: [number(v) for v in p["values"]] for p in params}
    restrictions = [restriction(c["text"], known)
                    for c in space["constraints"]]
    names = list(tune_params)
    configs = []
    for row in trials:
        v = dict(item.split("=") for item in row["config"].split(","))
        configs.append([number(v[n]) for n in names])
    # The block is made from parameters: two more, which follow from those.
    tune_params["BX"] = sorted({bn // tn for bn in tune_params["BN"]
                                for tn in tune_params["TN"] if bn % tn == 0})
    tune_params["BY"] = sorted({bm // tm for bm in tune_params["BM"]
                                for tm in tune_params["TM"] if bm % tm == 0})
    restrictions += ["BX == BN // TN", "BY == BM // TM"]
    at = {n: i for i, n in enumerate(names)}
    configs = [tuple(c + [c[at["BN"]] // c[at["TN"]],
                          c[at["BM"]] // c[at["TM"]]]) for c in configs]

    with open(args.header) as f:
        header = f.read()
    with open(args.kernel) as f:
        source = f.read().replace('#include "ws_dialect.h"', header)
    source = f"#define T_IS_{axes['T'].upper()} 1\n" + source
    result = os.path.abspath(args.result)
    os.chdir(os.path.dirname(result))  # where it leaves files of failures
    arguments, answer = inputs(np, axes)
    drawn = time.perf_counter()
    options = {}
    if not args.no_verify:
        options = {"answer": [None, None, answer] + [None] * 4,
                   "verify": verifier(np, axes, answer)}
    for lang in args.lang.split(","):
        given, failed, results, env = Given(configs), None, [], {}
        made = time.perf_counter()
        try:
            # A function as source: the signature is in macros, which its
            # check of the arguments cannot read.
            results, env = tune_kernel(
                "gemm", lambda _: source, (int(axes["N"]), int(axes["M"])),
                arguments, tune_params, grid_div_x=["BN"], grid_div_y=["BM"],
                block_size_names=["BX", "BY"], restrictions=restrictions,
                lang=lang, iterations=args.iterations, strategy=given,
                quiet=True, **options)
        except Exception as e:  # what ends its tune is a result, too
            failed = f"{type(e).__name__}: {e}"[:500]
            print(f"kt_tune: {lang}: {failed}", file=sys.stderr)
        end = time.perf_counter()
        if results:
            break
    if given.size is not None and given.size != space["valid"]:
        failed = (f"{given.size} valid configs, ours has {space['valid']}; "
                  f"{failed or 'else fine'}")
    totals = {k: v for k, v in env.items() if k.startswith("total_")}
    with open(result, "w") as f:
        json.dump({
            "workload": trials[0]["workload"], "verified": not args.no_verify,
            "asked": len(configs), "answered": len(results), "failed": failed,
            "space": given.size, "import_s": imported - BEGAN,
            "inputs_s": drawn - imported, "lang": lang,
            "startup_s": (given.began or end) - made,
            "tune_s": end - (given.began or end), "call_s": end - made,
            "totals_ms": totals, "device": env.get("device_name"),
            "time_ms": [r.get("time") if isinstance(r.get("time"), float)
                        else None for r in results],
            "compile_ms": [r.get("compile_time") for r in results],
            "verify_ms": [r.get("verification_time") for r in results],
            "benchmark_ms": [r.get("benchmark_time") for r in results],
            "errors": [str(r["__error__"]) for r in results
                       if "__error__" in r],
        }, f, indent=1, default=str)
    if failed:
        sys.exit(f"kt_tune: {failed}")


if __name__ == "__main__":
    main()
