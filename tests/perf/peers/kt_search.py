"""Kernel Tuner's side of the comparison of strategies.

    kt_search.py T1.json TIMES.csv.gz STRATEGY SEEDS BUDGET...

Runs a strategy in simulation mode on recorded times, with its own defaults,
for seeds 0 to SEEDS - 1, and prints one JSON line: for each budget (different
configs evaluated) the best time that each seed found, in milliseconds, or null.
"""
import contextlib
import csv
import gzip
import io
import json
import os
import random
import sys
import tempfile

import numpy

with contextlib.redirect_stdout(io.StringIO()):
    import kernel_tuner

from kt_space import read

KERNEL = "kernel"
SIZE = [1, 1, 1]


def write_cache(params, times, path):
    """The recorded times in the form of a cache of Kernel Tuner."""
    rows = {}
    with gzip.open(times, "rt") as f:
        for row in csv.DictReader(f):
            values = {name: int(row[name]) for name in params}
            ok = row["status"] == "ok"
            time = float(row["time_ms_median"]) if ok else row["status"]
            entry = dict(values, time=time, compile_time=0,
                         verification_time=0, benchmark_time=0,
                         strategy_time=0, framework_time=0,
                         timestamp="2026-01-01 00:00:00+00:00")
            if ok:
                entry["times"] = [time]
            else:
                entry["__error__"] = row["status"]
            rows[",".join(str(v) for v in values.values())] = entry
    with open(path, "w") as f:
        json.dump({"device_name": "recorded", "kernel_name": KERNEL,
                   "problem_size": SIZE, "tune_params_keys": list(params),
                   "tune_params": params, "objective": "time",
                   "cache": rows}, f)


def best_of(results):
    times = [r["time"] for r in results if isinstance(r["time"], float)]
    return min(times) if times else None


def tune(params, restrictions, cache, strategy, budget, seed):
    random.seed(seed)
    numpy.random.seed(seed)
    with contextlib.redirect_stdout(io.StringIO()), \
            contextlib.redirect_stderr(io.StringIO()):
        results, _ = kernel_tuner.tune_kernel(
            KERNEL, "void kernel() {}", SIZE, [], params, lang="C",
            restrictions=restrictions, cache=cache, simulation_mode=True,
            strategy=strategy, strategy_options={"max_fevals": budget},
            quiet=True)
    return best_of(results)


def main():
    t1, times, strategy = sys.argv[1:4]
    seeds, budgets = int(sys.argv[4]), [int(b) for b in sys.argv[5:]]
    params, restrictions = read(t1, 1)
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(folder, "cache.json")
        write_cache(params, times, cache)
        found = {b: [tune(params, restrictions, cache, strategy, b, seed)
                     for seed in range(seeds)] for b in budgets}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
