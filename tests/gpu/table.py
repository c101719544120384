#!/usr/bin/env python3
"""Tunes beside each other, as Markdown.

    table.py OUT [SIDE=SUFFIX ...]      default: CUDA=-cuda OpenCL=-opencl

OUT holds for each operator and side OP+SUFFIX-tune.json (`wavesmith tune
--json`), -trials.jsonl (`wavesmith trials --export`) and .seconds (the wall
time of the command). Times are medians of the confirming pair with their 95 %
intervals, computed from the samples as the tool does (order statistics); the
ratio between the first two sides is of those medians, with an interval by
bootstrap over the samples of both.
"""
import glob
import json
import os
import random
import statistics
import sys

OPS = ["gemm", "rmsnorm", "gqa_paged_decode"]
RESAMPLES = 2000


def read_side(out, op, suffix):
    """The tune's answer, its trials by number, its wall time; or None."""
    base = os.path.join(out, op + suffix)
    try:
        with open(base + "-tune.json") as f:
            tune = json.load(f)
        tune["workloads"]
    except (OSError, ValueError, KeyError):
        return None
    trials, seconds = {}, None
    try:
        with open(base + "-trials.jsonl") as f:
            for line in f:
                row = json.loads(line)
                if row["wavesmith"] == "trial":
                    trials[row["id"]] = row
        with open(base + ".seconds") as f:
            seconds = float(f.read())
    except (OSError, ValueError):
        pass
    return {"tune": tune, "trials": trials, "seconds": seconds}


def samples(side, number):
    row = side["trials"].get(number)
    values = row["trial"].get("sample_ns") if row else None
    return [float(v) for v in values] if values else []


def interval(values):
    """The 95 % interval of the median by ranks; the range below six."""
    values = sorted(values)
    n = len(values)
    # the most k with 2 P(X < k) <= 5 % for X ~ binomial(n, 1/2)
    k, tail, term = 0, 0.0, 0.5 ** n
    if n > 500:
        k, tail = int(n / 2 - 0.98 * n ** 0.5), 1.0
    while k < n // 2 and 2 * (tail + term) <= 0.05:
        tail += term
        term *= (n - k) / (k + 1)
        k += 1
    k = max(k, 1)
    return values[k - 1], values[n - k]


def ratio(a, b):
    """median(a) / median(b) with its interval by bootstrap."""
    draw = random.Random(1)
    got = sorted(statistics.median(draw.choices(a, k=len(a)))
                 / statistics.median(draw.choices(b, k=len(b)))
                 for _ in range(RESAMPLES))
    return (statistics.median(a) / statistics.median(b),
            got[int(0.025 * RESAMPLES)], got[int(0.975 * RESAMPLES) - 1])


def time_text(ns):
    for unit, scale in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
        if ns < 1000 * scale or unit == "ms":
            return f"{ns / scale:.4g} {unit}"


def timed(side, number, otherwise):
    values = samples(side, number)
    if not values:
        return time_text(otherwise) if otherwise else "-"
    lo, hi = interval(values)
    return (f"{time_text(statistics.median(values))} "
            f"({time_text(lo)} to {time_text(hi)})")


def row_of(side, workload):
    if side:
        for row in side["tune"]["workloads"]:
            if row["workload"] == workload:
                return row
    return None


def choices(out, sides):
    names = [name for name, _ in sides]
    head = ["op", "workload"]
    for name in names:
        head += [f"{name}: default", "tuned", "speed-up (95 %)"]
    if len(names) > 1:
        head.append(f"tuned, {names[0]} / {names[1]}")
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for op in OPS:
        have = [read_side(out, op, suffix) for _, suffix in sides]
        known = []
        for side in have:
            for row in side["tune"]["workloads"] if side else []:
                if row["workload"] not in known:
                    known.append(row["workload"])
        for workload in known:
            rows = [row_of(side, workload) for side in have]
            name = next(r["name"] for r in rows if r)
            cells = [op, name if name == workload else f"{name} ({workload})"]
            for side, row in zip(have, rows):
                if not row or not row.get("config"):
                    cells += ["-", row.get("failure") or "-" if row else "-",
                              "-"]
                    continue
                cells.append(timed(side, row.get("default_trial"),
                                   row.get("default_ns")))
                cells.append(timed(side, row.get("trial"),
                                   row.get("best_ns")))
                cells.append(f"{row['speedup']:.2f} "
                             f"({row['speedup_lo']:.2f} to "
                             f"{row['speedup_hi']:.2f})"
                             if row.get("confirmed")
                             else "the default stays")
            if len(names) > 1:
                got = [samples(s, r.get("trial")) if r else []
                       for s, r in zip(have, rows)][:2]
                cells.append("%.2f (%.2f to %.2f)" % ratio(*got)
                             if all(got) else "-")
            print("| " + " | ".join(str(c) for c in cells) + " |")


def verdicts(trials):
    count = {}
    for row in trials.values():
        count[row["verdict"]] = count.get(row["verdict"], 0) + 1
    return ", ".join(f"{v} {n}" for v, n in sorted(count.items()))


def rates(out, sides):
    print("""
A trial is one answer of the tune: a candidate that was built, verified and timed, or failed on the way; defaults and
both halves of the confirming pairs count. The time is that of the whole command. Clocks are what the device said after
samples; *thrown away* are samples while it was slowed.

| op | side | trials | verdicts | time | trials a minute | building, median | spent on a trial, median | clock | thrown away |
|---|---|---|---|---|---|---|---|---|---|""")
    for op in OPS:
        for name, suffix in sides:
            side = read_side(out, op, suffix)
            if not side or not side["trials"] or not side["seconds"]:
                continue
            rows = [r["trial"] for r in side["trials"].values()]
            n, seconds = len(rows), side["seconds"]
            build = statistics.median(float(r["build_ns"]) for r in rows)
            spent = statistics.median(float(r["spent_ns"]) for r in rows)
            clocks = [r["mhz"] for r in rows if r.get("mhz")]
            clocks = f"{min(clocks)} to {max(clocks)} MHz" if clocks else "-"
            slowed = sum(r.get("slowed") or 0 for r in rows)
            print(f"| {op} | {name} | {n} | {verdicts(side['trials'])} "
                  f"| {seconds:.1f} s | {60 * n / seconds:.0f} "
                  f"| {time_text(build)} | {time_text(spent)} | {clocks} "
                  f"| {slowed} |")


def shares(out, sides):
    """What the tool says of its time (docs/measuring.md)."""
    rows = []
    for op in OPS:
        for name, suffix in sides:
            side = read_side(out, op, suffix)
            said = side["tune"].get("throughput") if side else None
            if said:
                steps = ", ".join(f"{step} {100 * share:.0f} %"
                                  for step, share in said["steps"].items()
                                  if share >= 0.01)
                rows.append(f"| {op} | {name} "
                            f"| {said['trials_a_minute']:.0f} "
                            f"| {100 * said['run_share']:.0f} % | {steps} |")
    if rows:
        print("\n| op | side | trials a minute, as the tool counts "
              "| time in launches | steps |\n|---|---|---|---|---|")
        print("\n".join(rows))


def configs(out, sides):
    print("\n| op | workload | side | what differs from the default |\n"
          "|---|---|---|---|")
    for op in OPS:
        for name, suffix in sides:
            side = read_side(out, op, suffix)
            for row in side["tune"]["workloads"] if side else []:
                print(f"| {op} | {row['name']} | {name} "
                      f"| {row.get('changes') or 'nothing'} |")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out = sys.argv[1]
    sides = [a.split("=", 1) for a in sys.argv[2:]] or \
        [["CUDA", "-cuda"], ["OpenCL", "-opencl"]]
    if not any(glob.glob(os.path.join(out, op + suffix + "-tune.json"))
               for op in OPS for _, suffix in sides):
        sys.exit(f"table.py: no tunes in {out}")
    choices(out, sides)
    rates(out, sides)
    shares(out, sides)
    configs(out, sides)


if __name__ == "__main__":
    main()
