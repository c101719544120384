#!/usr/bin/env python3
"""Wavesmith beside Kernel Tuner, as Markdown: peers.py OUT, after peers.sh."""
import glob
import json
import os
import statistics
import sys


def ours(base):
    """What a tune of ours took, from its trials."""
    rows = []
    with open(base + ".jsonl") as f:
        for line in f:
            row = json.loads(line)
            if row["wavesmith"] == "trial":
                rows.append(row)
    single = [r for r in rows if not r["question"]["pair"]]
    screened = [r for r in single if r["question"]["effort"] == 0]
    end = max(int(r["trial"]["wall_ns"]) + int(r["trial"]["spent_ns"])
              for r in screened)
    # From the end of the default's trial on: what is built first is in it.
    begin = max([int(r["trial"]["wall_ns"]) + int(r["trial"]["spent_ns"])
                 for r in single if r["question"]["effort"] != 0] or
                [min(int(r["trial"]["wall_ns"]) for r in screened)])
    return {"rows": screened, "all": len(rows), "search_s": (end - begin) / 1e9,
            "whole_s": seconds(base + ".seconds"), "shares": shares(base)}


def seconds(path):
    with open(path) as f:
        return float(f.read())


def theirs(base):
    try:
        with open(base + ".json") as f:
            got = json.load(f)
        got["whole_s"] = seconds(base + ".seconds")
        return got
    except (OSError, ValueError):
        return None


def rate(n, s):
    return f"{60 * n / s:.0f}" if s > 0 else "-"


def median_ms(values):
    values = [v for v in values if v]
    return f"{statistics.median(values):.3g} ms" if values else "-"


def shares(base):
    """Of our whole tune, as it says itself (docs/measuring.md)."""
    try:
        with open(base + ".json") as f:
            said = json.load(f).get("throughput") or {}
    except (OSError, ValueError):
        return "-"
    return ", ".join(f"{step} {100 * share:.0f} %"
                     for step, share in said.get("steps", {}).items()
                     if share >= 0.01) or "-"


def verdicts(rows):
    count = {}
    for row in rows:
        count[row["verdict"]] = count.get(row["verdict"], 0) + 1
    return ", ".join(f"{v} {n}" for v, n in sorted(count.items()))


def their_results(got):
    ok = sum(t is not None for t in got["time_ms"])
    text = f"ok {ok}"
    if got["answered"] - ok:
        text += f", failed {got['answered'] - ok}"
    if got["failed"]:
        text += f"; ended early: {got['failed'][:80]}"
    return text


def line(cells):
    print("| " + " | ".join(str(c) for c in cells) + " |")


def rates(pairs):
    print("""## Trials a minute

The same source, space, device and configs in the same order; nothing compiled before. *Whole command*: from the start of
the process to its end. For ours that has the default's trial and the confirming pairs, for Kernel Tuner Python's start, its
imports and making the inputs. *Search*: ours from the default's trial to the end of screening; Kernel Tuner's strategy
from its first config to its last (its space is made before, `start-up`; ours is a part of the start). Only the configs that
were screened count as trials in every row.

What a trial is: ours draws inputs of its own, has a reference in double for them on the host, runs the candidate twice on
poisoned buffers with guards, compares every element, times it with cold caches until the interval of the median is within
5 %, 5 samples at least, for 0.15 s at most, and looks again afterwards. Kernel Tuner compiles, in the same thread, runs
the kernel once and compares with one answer for all (*verified*) or not at all, and takes 7 times with warm caches.

| workload | configs | tool | results | whole command | trials a minute | start-up | search | trials a minute |
|---|---|---|---|---|---|---|---|---|""")
    for w, o, v, u in pairs:
        n = len(o["rows"])
        line([w, n, "ours", verdicts(o["rows"]), f"{o['whole_s']:.1f} s",
              rate(n, o["whole_s"]), "-", f"{o['search_s']:.1f} s",
              rate(n, o["search_s"])])
        for name, got in (("Kernel Tuner, verified", v),
                          ("Kernel Tuner, not verified", u)):
            if got:
                n = got["answered"]
                line([w, n, name, their_results(got),
                      f"{got['whole_s']:.1f} s", rate(n, got["whole_s"]),
                      f"{got['startup_s']:.1f} s", f"{got['tune_s']:.1f} s",
                      rate(n, got["tune_s"])])
    print("\n| workload | ours / Kernel Tuner verified: whole command | search "
          "| not verified: whole command | search |\n|---|---|---|---|---|")
    for w, o, v, u in pairs:
        cells = [w]
        for got in (v, u):
            if not got or not got["answered"]:
                cells += ["-", "-"]
                continue
            for key, their in (("whole_s", got["whole_s"]),
                               ("search_s", got["tune_s"])):
                a = len(o["rows"]) / o[key]
                b = got["answered"] / their
                cells.append(f"{a / b:.2f}")
        line(cells)


def steps(pairs):
    print("\n## Where a trial's time goes (medians)\n\n"
          "Ours builds ahead in other processes; `spent` is verifying, timing "
          "and looking again.\n\n| workload | ours: build | ours: spent "
          "| ours: the whole tune | Kernel Tuner: compile | verify "
          "| benchmark |\n|---|---|---|---|---|---|---|")
    for w, o, v, _ in pairs:
        line([w, median_ms([r["trial"]["build_ns"] / 1e6 for r in o["rows"]]),
              median_ms([r["trial"]["spent_ns"] / 1e6 for r in o["rows"]]),
              o["shares"]]
             + ([median_ms(v[k]) for k in
                 ("compile_ms", "verify_ms", "benchmark_ms")]
                if v else ["-"] * 3))


def times(pairs):
    print("\n## The same kernels\n\nOurs with cold caches (medians), Kernel "
          "Tuner's with warm ones (means of 7).\n\n| workload | configs with "
          "both times | theirs / ours, median | least | most | best: ours "
          "| theirs |\n|---|---|---|---|---|---|---|")
    for w, o, v, u in pairs:
        got = v or u
        both = [(r["median_ns"] / 1e6, t)
                for r, t in zip(o["rows"], got["time_ms"] if got else [])
                if r.get("median_ns") and t]
        if not both:
            line([w] + ["-"] * 6)
            continue
        q = [t / m for m, t in both]
        line([w, len(both), f"{statistics.median(q):.3f}", f"{min(q):.2f}",
              f"{max(q):.2f}", f"{min(m for m, _ in both) * 1e3:.1f} us",
              f"{min(t for _, t in both) * 1e3:.1f} us"])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pairs = []
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "ours-*.jsonl"))):
        tag = os.path.basename(path)[len("ours-"):-len(".jsonl")]
        there = os.path.join(sys.argv[1], "")
        try:
            o = ours(f"{there}ours-{tag}")
        except (OSError, ValueError) as e:
            print(f"peers.py: {path}: {e}", file=sys.stderr)
            continue
        pairs.append((o["rows"][0]["workload"], o,
                      theirs(f"{there}kt-verified-{tag}"),
                      theirs(f"{there}kt-plain-{tag}")))
    if not pairs:
        sys.exit("peers.py: nothing to compare")
    rates(pairs)
    steps(pairs)
    times(pairs)


if __name__ == "__main__":
    main()
