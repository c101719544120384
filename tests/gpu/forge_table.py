"""forge_table.py OUT NAME...: the table of tests/gpu/forge.sh.

Over all kernels attempted, those that failed or were wrong counted as 1;
success: the lower end of the interval above 1.05, of those that were not near
their floor (within 1.15) to begin with. The share of the floor is its time over the kernel's; where
nobody knows it, the kernel is left out of that mean, and the text says of how
many it is. Where the time of trials went is said, too, from NAME.trials.jsonl;
gates overlap with each other. Exits with 1 if a kernel that was accepted was
wrong.
"""
import json
import math
import os
import sys

COLUMNS = ("name", "speedup", "lo", "before", "after", "rounds", "trials", "seconds", "device_seconds", "tokens", "kept", "verified", "end")


def load(out, name):
    try:
        with open(f"{out}/{name}.json", encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def row_of(out, name):
    p = load(out, name) or {}
    with open(f"{out}/{name}.verified", encoding="utf-8") as f:
        verified = f.read().strip()
    accepted = "speedup" in p and p.get("source")
    good = accepted and verified != "WRONG"
    error = p.get("error") or {}
    return {
        "name": name,
        "speedup": p["speedup"] if good else 1.0,
        "lo": p["lo"] if good else 1.0,
        "before": p.get("gap_before"),
        "after": p.get("gap_after") if good else p.get("gap_before"),
        "rounds": len(p.get("moves", [])),
        "trials": p.get("trials", 0),
        "seconds": p.get("seconds", 0.0),
        "device_seconds": p.get("device_seconds", 0.0),
        "tokens": p.get("tokens", 0),
        "kept": [m["move"] for m in p.get("moves", []) if m.get("part")] if accepted else [],
        "end": p.get("why") or p.get("end") or error.get("message") or ("cut" if p else "no result"),
        "verified": verified if accepted else "-",
    }


def gates(out, names):
    """Trials on record, and their seconds by what they were for."""
    keys = ("build", "result", "timed", "state", "values", "shapes", "sanitizer", "again", "spent")
    total, n = dict.fromkeys(keys, 0.0), 0
    for name in names:
        try:
            with open(f"{out}/{name}.trials.jsonl", encoding="utf-8") as f:
                trials = [r["trial"] for r in map(json.loads, f) if r.get("wavesmith") == "trial"]
        except OSError:
            continue
        n += len(trials)
        for t in trials:
            for k in keys:
                total[k] += t.get(f"{k}_ns", 0) * 1e-9
    return n, total


def number(v):
    return "-" if v is None else f"{v:.3g}"


def mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def summary(rows):
    far = [r for r in rows if r["before"] is None or r["before"] > 1.15]
    won = [r for r in far if r["lo"] > 1.05]
    wrong = [r["name"] for r in rows if r["verified"] == "WRONG"]
    known = [r for r in rows if r["before"] and r["after"]]
    text = [f"{len(rows)} attempted: geometric mean {mean([r['speedup'] for r in rows]):.3f}x over all of them; above 1.05x at "
            f"the lower end: {len(won)} of {len(far)} that were not near their floor"
            f"{f' ({100 * len(won) / len(far):.0f} %)' if far else ''}; wrong when judged again: {len(wrong)}."]
    if known:
        text.append(f"Share of the floor, geometric mean of {len(known)}: {100 / mean([r['before'] for r in known]):.1f} % before, "
                    f"{100 / mean([r['after'] for r in known]):.1f} % after.")
    text.append(f"{sum(r['rounds'] for r in rows)} rounds, {sum(r['trials'] for r in rows)} trials, "
                f"{sum(r['seconds'] for r in rows):.0f} s, of which the device was held for "
                f"{sum(r['device_seconds'] for r in rows):.0f} s (at most {max(r['device_seconds'] for r in rows):.0f} s a kernel), and "
                f"{sum(r['tokens'] for r in rows)} tokens of a model in all; "
                f"a kernel {sum(r['rounds'] for r in rows) / len(rows):.1f} rounds and "
                f"{sum(r['seconds'] for r in rows) / len(rows):.0f} s.")
    return text, wrong


def main():
    out, names = sys.argv[1], sys.argv[2:]
    rows = [row_of(out, n) for n in names if os.path.exists(f"{out}/{n}.verified")]
    if not rows:
        sys.exit("no kernel was attempted")
    lines = ["| kernel | speed-up (lower end) | time over the floor | rounds, trials | s, on the device | tokens | kept | again |",
             "|---|---|---|---|---|---|---|---|"]
    with open(f"{out}/table.tsv", "w", encoding="utf-8") as f:
        f.write("\t".join(("kernel",) + COLUMNS[1:]) + "\n")
        for r in rows:
            f.write("\t".join(",".join(r[c]) if c == "kept" else str(r[c]) for c in COLUMNS) + "\n")
            lines.append(f"| {r['name']} | {r['speedup']:.3g} ({r['lo']:.3g}) | {number(r['before'])} to {number(r['after'])} | "
                         f"{r['rounds']}, {r['trials']} | {r['seconds']:.0f}, {r['device_seconds']:.0f} | {r['tokens']} | {', '.join(r['kept']) or '-'} | "
                         f"{r['verified']} |")
    text, wrong = summary(rows)
    n, total = gates(out, names)
    if n:
        text.append(f"Of {total.pop('spent'):.0f} s of {n} trials: " + ", ".join(
            f"{k} {v:.0f} s" for k, v in sorted(total.items(), key=lambda x: -x[1])) + ".")
    text += [f"{r['name']}: {r['end'][:200]}." for r in rows if not r["rounds"]]
    with open(f"{out}/table.md", "w", encoding="utf-8") as f:
        f.write("\n".join(lines + [""] + text) + "\n")
    print("\n".join(lines + [""] + text))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
