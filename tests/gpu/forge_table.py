"""forge_table.py OUT NAME...: the table of tests/gpu/forge.sh.

Over all kernels attempted, those that failed counted as 1; success: the lower
end of the interval above 1.05, of those that were not near their floor (within
1.15) to begin with. Exits with 1 if a kernel that was accepted was wrong.
"""
import json
import math
import os
import sys


def load(out, name):
    try:
        with open(f"{out}/{name}.json", encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def row_of(out, name):
    p = load(out, name)
    good = p is not None and "speedup" in p and p.get("source")
    with open(f"{out}/{name}.verified", encoding="utf-8") as f:
        verified = f.read().strip()
    return {
        "name": name,
        "speedup": p["speedup"] if good else 1.0,
        "lo": p["lo"] if good else 1.0,
        "before": p.get("gap_before") if p else None,
        "after": p.get("gap_after") if p else None,
        "rounds": len(p.get("moves", [])) if p else 0,
        "trials": p.get("trials", 0) if p else 0,
        "seconds": p.get("seconds", 0.0) if p else 0.0,
        "kept": [m["move"] for m in p.get("moves", []) if m.get("part")] if p else [],
        "end": (p.get("end") or p.get("message") or "cut") if p else "no result",
        "verified": verified if good else "-",
    }


def number(v):
    return "-" if v is None else f"{v:.3g}"


def main():
    out, names = sys.argv[1], sys.argv[2:]
    rows = [row_of(out, n) for n in names if os.path.exists(f"{out}/{n}.verified")]
    if not rows:
        sys.exit("no kernel was attempted")
    lines = ["| kernel | speed-up (lower end) | time over the floor | moves, trials | s | kept | again |", "|---|---|---|---|---|---|---|"]
    with open(f"{out}/table.tsv", "w", encoding="utf-8") as f:
        f.write("kernel\tspeedup\tlo\tbefore\tafter\tmoves\ttrials\tseconds\tkept\tverified\tend\n")
        for r in rows:
            f.write("\t".join(str(v) for v in (r["name"], r["speedup"], r["lo"], r["before"], r["after"], r["rounds"], r["trials"],
                                               r["seconds"], ",".join(r["kept"]), r["verified"], r["end"])) + "\n")
            lines.append(f"| {r['name']} | {r['speedup']:.3g} ({r['lo']:.3g}) | {number(r['before'])} to {number(r['after'])} | "
                         f"{r['rounds']}, {r['trials']} | {r['seconds']:.0f} | {', '.join(r['kept']) or '-'} | {r['verified']} |")
    geomean = math.exp(sum(math.log(r["speedup"]) for r in rows) / len(rows))
    far = [r for r in rows if r["before"] is None or r["before"] > 1.15]
    won = [r for r in far if r["lo"] > 1.05]
    wrong = [r["name"] for r in rows if r["verified"] == "WRONG"]
    lines.append("")
    lines.append(f"{len(rows)} attempted: geometric mean {geomean:.3f}x over all of them; above 1.05x at the lower end: "
                 f"{len(won)} of {len(far)} that were not near their floor; wrong when judged again: {len(wrong)}.")
    text = "\n".join(lines)
    with open(f"{out}/table.md", "w", encoding="utf-8") as f:
        f.write(text + "\n")
    print(text)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
