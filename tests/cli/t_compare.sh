#!/usr/bin/env bash
# compare: strategies beside each other on recordings: the same again is the
# same, curves never fall, what is printed is what the files say.
. tests/tap.sh

m=tests/perf/h200/moe.yaml
d=tests/data/h200/moe.csv.gz
head -n 6 tests/data/h200/moe/workloads.jsonl >"$tmp/shapes.jsonl"
cmp=("$ws" compare $m --recordings $d --where pass=3 --workloads "$tmp/shapes.jsonl" --strategies worldmodel,random --seeds 2)
expect "compare --help" 0 "$ws" compare --help
check "shows usage" out_has "usage: wavesmith compare"
expect "two strategies" 0 "${cmp[@]}" --budget 48 --out "$tmp/a"
check "a table of the best recorded" out_has "% of the best recorded"
check "a column for each part" out_has "trials      6                     12                    24                    36                    48"
check "and what follows" out_has "random beside worldmodel:"
check "progress, a line a run" test "$(grep -c 'after 48 trials' "$tmp/err")" = 4
expect "the same again" 0 "${cmp[@]}" --budget 48 --out "$tmp/b" --json
check "has the same curves" cmp -s "$tmp/a/curves.csv" "$tmp/b/curves.csv"
check "and choices" cmp -s "$tmp/a/workloads.csv" "$tmp/b/workloads.csv"
if command -v python3 >/dev/null; then
    check "curves never fall, and JSON has their geometric mean" python3 - "$tmp/a/curves.csv" "$tmp/out" <<'PY'
import csv, json, math, sys
rows = list(csv.DictReader(open(sys.argv[1])))
doc = json.load(open(sys.argv[2]))
runs = {}
for r in rows:
    run = runs.setdefault((r["strategy"], r["seed"]), [])
    assert int(r["trials"]) == len(run)
    run.append(float(r["speedup"]))
assert len(runs) == 4 and all(len(v) == 49 for v in runs.values())
for v in runs.values():
    assert all(b >= a for a, b in zip(v, v[1:]))
for s in doc["strategies"]:
    ends = [v[48] for k, v in runs.items() if k[0] == s["strategy"]]
    at = s["at"][-1]
    assert at["trials"] == 48
    assert math.isclose(at["speedup"], math.prod(ends) ** .5, rel_tol=1e-4)
    assert math.isclose(at["least"], min(ends), rel_tol=1e-4)
    assert math.isclose(at["most"], max(ends), rel_tol=1e-4)
assert doc["oracle_speedup"] >= max(v[48] for v in runs.values()) * (1 - 1e-6)
PY
    check "a row for each workload of a run" python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == 24 and all(float(r["best_ns"]) >= float(r["best_recorded_ns"]) for r in rows)' "$tmp/a/workloads.csv"
fi
check "no store stays" eval '! ls -d "${TMPDIR:-/tmp}"/wavesmith-compare-* 2>/dev/null | grep -q .'
expect "a strategy that is none" 2 "$ws" compare $m --recordings $d --strategies hill,nobody
check "is named" err_has "strategy 'nobody' is not known"
expect "one twice" 2 "$ws" compare $m --recordings $d --strategies hill,random,hill
check "is refused" err_has "strategy 'hill' is there twice"
expect "no strategy" 2 "$ws" compare $m --recordings $d --strategies ,
expect "no seed" 2 "${cmp[@]}" --seeds 0
expect "a folder that cannot be" 2 "${cmp[@]}" --out /dev/null/x
check "says so" err_has "cannot make '/dev/null/x'"
expect "what tune refuses" 2 "$ws" compare $m --recordings $d --strategies random --seeds 1
check "is refused in its words" err_has "--where"
finish
