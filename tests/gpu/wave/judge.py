"""judge.py TOOL PACK TRIALS.jsonl TUNE.json: what a pack's model chose for shapes
that it never saw, beside the default, the best single config and the best of all,
whose times are in TRIALS (every config on every shape). Exit 1: the pack refused a
shape, or no shape was judged."""
import json
import math
import statistics
import subprocess
import sys


def read(path):
    """{shape: {config: ns}} of single trials that are right, and the default,
    which is tried first."""
    times, default = {}, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            t = json.loads(line)
            if t.get("wavesmith") != "trial" or t["question"]["pair"]:
                continue
            default = default or t["config"]
            if t["verdict"] == "ok":
                times.setdefault(t["workload"], {}).setdefault(t["config"], t["median_ns"])
    return times, default


def pick(tool, pack, shape):
    done = subprocess.run([tool, "pick", pack, *shape.split(","), "--json"], capture_output=True, text=True)
    p = json.loads(done.stdout)
    if done.returncode:
        return None, p["error"]["message"]
    return ",".join(f"{k}={v}" for k, v in p["parameters"].items()), p["how"]


def geomean(v):
    return math.exp(sum(map(math.log, v)) / len(v))


def main():
    tool, pack, trials, tune = sys.argv[1:5]
    times, default = read(trials)
    if not times:
        sys.exit("no shape was judged: no trial is right")
    told = json.load(open(tune, encoding="utf-8"))
    every = set.intersection(*(set(t) for t in times.values()))
    single = min(every, key=lambda c: geomean([t[c] for t in times.values()]))
    rows = []
    for shape, t in times.items():
        rows.append((shape, t, *pick(tool, pack, shape)))
    print("| shape | how | chosen us | best us | best/chosen | default/chosen | single/chosen |")
    print("|---|---|---|---|---|---|---|")
    quality, over_default, over_single, refused = [], [], [], 0
    for shape, t, config, how in rows:
        best = min(t.values())
        mine = t.get(config)
        refused += config is None
        if mine is None:
            print(f"| {shape} | {how} | {config or 'no answer'} |")
            continue
        quality.append(best / mine)
        over_single.append(t[single] / mine)
        d = t.get(default)
        if d:
            over_default.append(d / mine)
        print(
            f"| {shape} | {how} | {mine / 1e3:.2f} | {best / 1e3:.2f} | {best / mine:.3f} | "
            f"{d / mine if d else 0:.3f} | {t[single] / mine:.3f} |"
        )
    if not quality:
        sys.exit(f"no shape was judged: {refused} refused, the choices of the others were not timed")
    print(f"shapes {len(quality)} of {len(times)}; configs timed on each {min(map(len, times.values()))} or more")
    print(f"mean best/chosen {statistics.mean(quality):.4f}, worst {min(quality):.3f}")
    print(f"default/chosen: geomean {geomean(over_default):.3f}, least {min(over_default):.3f}")
    print(f"best single config ({single}): geomean single/chosen {geomean(over_single):.3f}")
    print(
        f"tune: {told['trials']} questions answered, {told['throughput']['seconds']:.0f} s; "
        f"every config: {sum(map(len, times.values()))} cells"
    )
    if refused:
        sys.exit(f"shapes refused: {refused}")


if __name__ == "__main__":
    main()
