"""Wavesmith beside its peers: prints a page in Markdown.

    bench_peers.py --build DIR --venv DIR [--repeats N] [--only space|search|reach]

Every figure is a median of fresh processes, ours and theirs in turn on the same
machine, so only ratios within one run mean anything. Counts of valid configs
must agree, or the run fails.
"""
import argparse
import csv
import gzip
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile

import reach

HERE = os.path.dirname(os.path.abspath(__file__))
SPACES = ["convolution", "convolution_milo", "dedispersion_milo", "gemm_milo",
          "hotspot_milo", "pnpoly"]
SCALED = "hotspot_milo"
SCALES = [1, 2, 4, 8]
MIB = 1024 * 1024

RECORDED = ["convolution_milo__A100", "dedispersion_milo__A100"]
BUDGETS = [50, 100, 200]
SEEDS = 30
OURS = ["hill", "random", "grid"]
THEIRS = ["random_sample", "genetic_algorithm", "simulated_annealing",
          "greedy_ils", "mls", "diff_evo", "dual_annealing", "basinhopping",
          "pso"]
RESAMPLES = 2000


def data_dir():
    return os.path.join(os.environ.get("WS_DATA", "../shared/data"),
                        "benchmark_hub")


def run(command, whole=False):
    """The JSON that a command prints: all of it, or on its last line."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"bench-peers: exit {done.returncode}: {' '.join(command)}\n"
                 f"{done.stderr[-2000:]}")
    return json.loads(done.stdout if whole else done.stdout.splitlines()[-1])


def alternate(commands, repeats):
    """The medians of each command's fields, the commands taken in turn."""
    rows = [[] for _ in commands]
    for _ in range(repeats):
        for row, command in zip(rows, commands):
            row.append(run(command))
    return [{key: statistics.median(r[key] for r in row) for key in row[0]}
            for row in rows]


def time_text(seconds):
    return f"{seconds * 1e3:.3g} ms"


def sides(args, name, scale, repeats):
    path = os.path.join(data_dir(), f"T1_{name}.json")
    ours = os.path.join(args.build, "tests/perf/peers/peer_space")
    theirs = os.path.join(args.venv, "bin/python")
    got = alternate([[ours, path, str(scale)],
                     [theirs, os.path.join(HERE, "kt_space.py"), path,
                      str(scale)]], repeats)
    if got[0]["valid"] != got[1]["valid"]:
        sys.exit(f"bench-peers: {name}: {got[0]['valid']} valid configs, "
                 f"Kernel Tuner has {got[1]['valid']}")
    return got


def space_table(args):
    print("""
## Making a space

From the parameters and constraints in memory to every valid config: ours counts and then walks all configs in order,
Kernel Tuner builds its `Searchspace`. Processor time of the process (neither uses threads), which other load on the machine
hardly changes. Starting, importing and reading the file are left out; the reading stands in a column of its own. `count` is ours
alone: the exact number without walking, which is all that sampling and ranking need.

| space | valid configs | Kernel Tuner | ours | ratio | ours, count | ratio | reading: theirs | ours |
|---|---|---|---|---|---|---|---|---|""")
    for name in SPACES:
        ours, theirs = sides(args, name, 1, args.repeats)
        print(f"| {name} | {ours['valid']:.0f} "
              f"| {time_text(theirs['space_s'])} | {time_text(ours['space_s'])} "
              f"| {theirs['space_s'] / ours['space_s']:.0f} "
              f"| {time_text(ours['count_s'])} "
              f"| {theirs['space_s'] / ours['count_s']:.0f} "
              f"| {time_text(theirs['load_s'])} | {time_text(ours['load_s'])} |",
              flush=True)


def memory_table(args):
    print(f"""
## Memory and the size of a space

`{SCALED}` times a parameter that no constraint reads. Resident memory of the process: before the file is read, and how much
more at the peak.

| valid configs | Kernel Tuner: before | more at peak | ours: before | more at peak | Kernel Tuner | ours |
|---|---|---|---|---|---|---|""")
    for scale in SCALES:
        ours, theirs = sides(args, SCALED, scale, min(3, args.repeats))
        cells = []
        for side in (theirs, ours):
            more = side["peak_bytes"] - side["before_bytes"]
            cells += [f"{side['before_bytes'] / MIB:.1f} MiB",
                      f"{more / MIB:.1f} MiB"]
        print(f"| {ours['valid']:.0f} | {' | '.join(cells)} "
              f"| {time_text(theirs['space_s'])} "
              f"| {time_text(ours['space_s'])} |", flush=True)


def optimum(times):
    with gzip.open(times, "rt") as f:
        return min(float(row["time_ms_median"]) for row in csv.DictReader(f)
                   if row["status"] == "ok")


def our_search(args, t1, times, strategy, seeds):
    """Best time in ms by budget and seed. A budget leaves out the default,
    which a tune evaluates first, so it is one less."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for budget in BUDGETS:
            found[str(budget)] = []
            for seed in range(seeds):
                store = os.path.join(folder, "store.db")
                row = run([os.path.join(args.build, "wavesmith"), "tune", t1,
                           "--recordings", times, "--strategy", strategy,
                           "--seed", str(seed), "--budget", str(budget - 1),
                           "--store", store, "--json"], whole=True)
                row = row["workloads"][0]
                found[str(budget)].append(
                    row["best_ns"] / 1e6 if row["config"] else None)
                os.unlink(store)
    return found


def interval(values):
    """The mean, and where it lies in 95 % of resamples."""
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(values, k=len(values)))
                   for _ in range(RESAMPLES))
    return (statistics.fmean(values), means[int(0.025 * RESAMPLES)],
            means[int(0.975 * RESAMPLES) - 1])


def search_row(name, found, best):
    cells = []
    for budget in BUDGETS:
        reached = [best / t if t else 0.0 for t in found[str(budget)]]
        mean, low, high = interval(reached)
        cells.append(f"{mean:.3f} [{low:.3f}, {high:.3f}], "
                     f"{statistics.median(reached):.3f}")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def search_tables(args):
    print(f"""
## Searching

On recorded times of every config (`{data_dir()}`): how near to the best config a strategy comes with as many different
configs as the budget says, {args.seeds} seeds each: the best time of all over the best time found (1 is the optimum, 0
is nothing that ran), as mean [95 % bootstrap interval], median. Both sides use their defaults; Kernel Tuner runs in its
simulation mode. Ours evaluates the default config of the T1 file first, which counts; `grid` has no seed.""")
    for name in RECORDED:
        times = os.path.join(data_dir(), f"{name}.csv.gz")
        t1 = os.path.join(data_dir(), f"T1_{name.split('__')[0]}.json")
        best = optimum(times)
        print(f"""
### {name}

| strategy | {' | '.join(f'{b} configs' for b in BUDGETS)} |
|---|{'---|' * len(BUDGETS)}""")
        for strategy in OURS:
            seeds = 1 if strategy == "grid" else args.seeds
            search_row(f"ours: {strategy}",
                       our_search(args, t1, times, strategy, seeds), best)
        for strategy in THEIRS:
            found = run([os.path.join(args.venv, "bin/python"),
                         os.path.join(HERE, "kt_search.py"), t1, times,
                         strategy, str(args.seeds)] +
                        [str(b) for b in BUDGETS])
            search_row(f"Kernel Tuner: {strategy}", found, best)


def machine(args):
    with open("/proc/cpuinfo") as f:
        model = next((line.split(":")[1].strip() for line in f
                      if line.startswith("model name")), "?")
    version = subprocess.run(
        [os.path.join(args.venv, "bin/python"), "-m", "pip", "list",
         "--format=freeze", "--disable-pip-version-check"],
        stdout=subprocess.PIPE, text=True).stdout.split()
    wanted = ("kernel_tuner", "python-constraint2", "numpy", "scipy",
              "scikit-learn")
    ours = subprocess.run([os.path.join(args.build, "wavesmith"), "--version"],
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    print(f"Machine: {os.cpu_count()} processors ({model}). "
          f"Python {platform.python_version()}, "
          f"{', '.join(v.replace('==', ' ') for v in version if v.split('==')[0].replace('-', '_') in [w.replace('-', '_') for w in wanted])}; "
          f"{ours}. Medians of {args.repeats} fresh processes, in turn.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--venv", required=True)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", choices=["space", "search", "reach"])
    parser.add_argument("--space", action="append", choices=reach.SPACES,
                        help="of the table of evaluations; several")
    parser.add_argument("--jobs", type=int, default=1,
                        help="runs at once, where nothing is timed")
    args = parser.parse_args()
    if not os.path.exists(os.path.join(data_dir(), "T1_pnpoly.json")):
        print(f"bench-peers: skipped: no files in {data_dir()}")
        return
    machine(args)
    if args.only in (None, "space"):
        space_table(args)
        memory_table(args)
    if args.only in (None, "search"):
        search_tables(args)
    if args.only in (None, "reach"):
        reach.tables(args, data_dir())


main()
