#!/usr/bin/env bash
# tests/gpu/judge_cost.sh BUILD OUT [DEVICE]: what the judge costs. The same tune
# of three gemm shapes with all gates and with few (a build, one verdict and
# timing only), one after the other, ROUNDS times (3); their ratio, and what
# each gate took by itself. A tune with few gates that is not counted comes
# first: what it compiles is in the cache for all that follow.
#
# Leaves tune-WHICH-ROUND.json, trials-WHICH-ROUND.json and cost.json. BUDGET:
# trials of a tune (100); SEED (1); LIMIT: of the ratio, in percent (30).
set -u
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
cd "$(dirname "$0")/../.." || exit 2
. tests/gpu/lib.sh
work=$(mktemp -d /tmp/ws-cost-XXXXXX)
trap 'rm -rf "$work"' EXIT
cat >"$work/shapes.yaml" <<'Y'
- {name: a, M: 512, N: 4096, K: 4096, T: bfloat16}
- {name: b, M: 4096, N: 4096, K: 4096, T: bfloat16}
- {name: c, M: 64, N: 8192, K: 4096, T: bfloat16}
Y

# once WHICH ROUND: a tune; its seconds into OUT/WHICH-ROUND.s
once() {
    local start db=$work/$1.db
    rm -f "$db"*
    start=$(date +%s%N)
    timeout 200 "$ws" tune gemm --workloads "$work/shapes.yaml" --budget "${BUDGET:-100}" --seed "${SEED:-1}" \
        --gates "$1" --device "$dev" --store "$db" --json >"$out/tune-$1-$2.json" 2>"$out/tune-$1-$2.log" ||
        { tail -n 3 "$out/tune-$1-$2.log"; return 1; }
    seconds_since "$start" >"$out/$1-$2.s"
    "$ws" trials "$db" --list --json >"$out/trials-$1-$2.json" || return 1
    echo "$1: $(cat "$out/$1-$2.s") s"
}
rounds() {
    local i
    for ((i = 1; i <= ${ROUNDS:-3}; i++)); do
        once few "$i" && once all "$i" || return 1
    done
}
# The ratio of the medians, and where the time went in the middle round.
report() {
    python3 - "$out" "${ROUNDS:-3}" "${LIMIT:-30}" <<'P'
import collections, json, statistics, sys

out, rounds, limit = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
seconds = {w: [float(open(f"{out}/{w}-{i}.s").read()) for i in range(1, rounds + 1)] for w in ("few", "all")}
ratio = statistics.median(a / f for a, f in zip(seconds["all"], seconds["few"]))
cost = {"seconds": seconds, "ratio": ratio, "gates": {}, "steps": {}}
for which, s in seconds.items():
    at = s.index(sorted(s)[(len(s) - 1) // 2]) + 1
    trials = json.load(open(f"{out}/trials-{which}-{at}.json"))
    trials = trials if isinstance(trials, list) else trials["trials"]
    ns, times = collections.Counter(), collections.Counter()
    for t in trials:
        kind = "confirm" if t.get("effort") == "confirm" or t.get("block") else "screen"
        for gate, g in t["gates"].items():
            ns[f"{kind} {gate}"] += g["ns"]
            times[f"{kind} {gate}"] += g["end"] != "absent"
    cost["gates"][which] = {k: {"s": round(v / 1e9, 3), "times": times[k]} for k, v in sorted(ns.items())}
    cost["steps"][which] = json.load(open(f"{out}/tune-{which}-{at}.json")).get("throughput")
print(f"few {seconds['few']} s, all {seconds['all']} s: {100 * (ratio - 1):.1f} % more")
names = sorted(set(cost["gates"]["few"]) | set(cost["gates"]["all"]))
print(f"{'gate':28} {'few':>8} {'all':>8}  times")
for n in names:
    f, a = (cost["gates"][w].get(n, {"s": 0, "times": 0}) for w in ("few", "all"))
    print(f"{n:28} {f['s']:8.2f} {a['s']:8.2f}  {f['times']} {a['times']}")
for w, s in cost["steps"].items():
    print(w, json.dumps(s))
json.dump(cost, open(f"{out}/cost.json", "w"), indent=1)
sys.exit(ratio > 1 + limit / 100)
P
}
step "caches filled" once few 0
step "tunes" rounds
step "the judge adds at most ${LIMIT:-30} %" report
summary
