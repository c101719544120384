"""Wavesmith beside its peers: prints a page in Markdown.

    bench_peers.py --build DIR --venv DIR [--repeats N] [--only space|search]

Every figure is a median of fresh processes, ours and theirs in turn on the same
machine, so only ratios within one run mean anything. Counts of valid configs
must agree, or the run fails.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SPACES = ["convolution", "convolution_milo", "dedispersion_milo", "gemm_milo",
          "hotspot_milo", "pnpoly"]
SCALED = "hotspot_milo"
SCALES = [1, 2, 4, 8]
MIB = 1024 * 1024


def data_dir():
    return os.path.join(os.environ.get("WS_DATA", "../shared/data"),
                        "benchmark_hub")


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"bench-peers: exit {done.returncode}: {' '.join(command)}")
    return json.loads(done.stdout.splitlines()[-1])


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
Kernel Tuner builds its `Searchspace`. Reading the file, starting the process and importing are left out (the reading
stands in a column of its own). `count` is ours alone: the exact number without walking, which is all that sampling and
ranking need.

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

`{SCALED}` times a parameter that no constraint reads. Resident memory of the process: before the file is read, and how
much more at the peak.

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


def machine(args):
    with open("/proc/cpuinfo") as f:
        model = next((line.split(":")[1].strip() for line in f
                      if line.startswith("model name")), "?")
    version = subprocess.run(
        [os.path.join(args.venv, "bin/python"), "-m", "pip", "list",
         "--format=freeze", "--disable-pip-version-check"],
        stdout=subprocess.PIPE, text=True).stdout.split()
    wanted = ("kernel_tuner", "python-constraint2", "numpy", "scipy")
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
    parser.add_argument("--only", choices=["space", "search"])
    args = parser.parse_args()
    if not os.path.exists(os.path.join(data_dir(), "T1_pnpoly.json")):
        print(f"bench-peers: skipped: no files in {data_dir()}")
        return
    machine(args)
    if args.only != "search":
        space_table(args)
        memory_table(args)


main()
