#!/usr/bin/env python3
"""What faults in the middle of a tune came to, as Markdown.

    robust.py TRIALS.jsonl [FAMILY]     of tests/gpu/robust, by --strategy grid

For every fault: its verdict and the tool's words, the effort spent on it, how
long it took until the next candidate was measured, and the median of the good
kernel before and after it. Builders work on the next few candidates at a time,
so what a compiler that does not end costs stands beside the first one that had
to wait, in a list of its own. Exit status 1 if a verdict is not one that the
device should give, or a good kernel did not pass.
"""
import json
import sys

CRASH = ("crash",)
EXPECTED = {
    "wrong": ("wrong",), "outside": ("wrong",), "nocompile": ("build",),
    "address": CRASH, "misaligned": CRASH, "trap": CRASH, "assertion": CRASH,
    "stack": CRASH, "bounds": ("launch",), "smem": ("build", "launch"),
    "dynamic": ("launch", "filtered"), "terabyte": ("filtered", "memory"),
    "slow": ("ok",), "hang": ("hang",), "bomb": ("hang",),
}
# PoCL: no such faults in OpenCL C, or none for a processor.
ELSEWHERE = {
    "address": CRASH + ("ok",), "misaligned": ("build",), "trap": ("build",),
    "assertion": ("build",), "stack": ("build",), "bomb": ("build",),
    "smem": ("build", "launch", "crash"),
    "dynamic": ("launch", "filtered", "ok"),
}
SECOND = 1e9


def read(path):
    rows = []
    with open(path) as f:
        for line in f:
            row = json.loads(line)
            if row["wavesmith"] == "trial" and not row["question"]["pair"]:
                rows.append(row)
    rows.sort(key=lambda r: r["question"]["seq"])
    return rows


def values(row):
    return dict(item.split("=", 1) for item in row["config"].split(","))


def median_text(row):
    ns = row and row.get("median_ns")
    return f"{ns / 1e3:.1f} us" if ns else "-"


def start_ns(row):
    """When it began; 0: nothing was done for it."""
    return int(row["trial"]["wall_ns"])


def next_begun(rows, at):
    for row in rows[at + 1:]:
        if start_ns(row):
            return row
    return None


def waits(rows):
    """Where the tune stood for more than 0.3 s between two candidates."""
    begun = [r for r in rows if start_ns(r)]
    for a, b in zip(begun, begun[1:]):
        wait = start_ns(b) - start_ns(a) - int(a["trial"]["spent_ns"])
        if wait > 0.3 * SECOND:
            yield wait / SECOND, a, b


def neighbour(rows, at, step):
    """The nearest good kernel of the same size."""
    size = values(rows[at])["THREADS"]
    at += step
    while 0 <= at < len(rows):
        v = values(rows[at])
        if v["THREADS"] == size and v["FAULT"].startswith("ok"):
            return rows[at]
        at += step
    return None


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows = read(sys.argv[1])
    if not rows:
        sys.exit(f"robust.py: no trials in {sys.argv[1]}")
    family = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    expected = dict(EXPECTED, **({} if family == "cuda" else ELSEWHERE))
    bad, seen = [], set()
    print("| fault | verdict | in words | spent | until the next one began "
          "| good kernel before | after |\n|---|---|---|---|---|---|---|")
    for i, row in enumerate(rows):
        fault, trial = values(row)["FAULT"], row["trial"]
        if fault.startswith("ok"):
            if row["verdict"] != "ok":
                bad.append(f"{row['config']}: {row['verdict']}: "
                           f"{trial.get('reason')}")
            continue
        seen.add(fault)
        if row["verdict"] not in expected[fault]:
            bad.append(f"{fault}: {row['verdict']}, not "
                       f"{' or '.join(expected[fault])}")
        gap, later = "-", next_begun(rows, i)
        if later and start_ns(row):
            gap = f"{(start_ns(later) - start_ns(row)) / SECOND:.2f} s"
        words = (trial.get("reason") or median_text(row)).split("\n")[0]
        print(f"| {fault} | {row['verdict']} | {words.replace('|', '/')[:160]} "
              f"| {int(trial['spent_ns']) / SECOND:.2f} s | {gap} "
              f"| {median_text(neighbour(rows, i, -1))} "
              f"| {median_text(neighbour(rows, i, 1))} |")
    for fault in expected:
        if fault not in seen:
            bad.append(f"{fault}: not asked")
    good = [r["median_ns"] for r in rows
            if values(r)["FAULT"].startswith("ok")
            and values(r)["THREADS"] == "128" and r.get("median_ns")]
    if good:
        print(f"\nThe good kernel ran {len(good)} times: "
              f"{min(good) / 1e3:.1f} to {max(good) / 1e3:.1f} us.")
    took = max(map(start_ns, rows)) - start_ns(rows[0])
    print(f"All {len(rows)} questions: {took / SECOND:.1f} s.")
    for wait, a, b in waits(rows):
        print(f"Waited {wait:.2f} s between {values(a)['FAULT']} and "
              f"{values(b)['FAULT']} ({values(b)['THREADS']} threads).")
    for line in bad:
        print("unexpected: " + line)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
