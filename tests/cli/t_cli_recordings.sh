#!/usr/bin/env bash
# tune --recordings: results on record instead of a device.
. tests/tap.sh

m=tests/perf/h200/moe.yaml
d=tests/data/h200/moe.csv.gz
tune=("$ws" tune $m --recordings $d --where pass=3 --strategy random --seed 3 --store "$tmp/r.db")
expect "a timing matrix" 0 "${tune[@]}" --budget 200
check "it says that nothing was measured" out_has "from recordings"
check "and never that something was" [ -z "$(grep -i ' measured on\|the store), on' "$tmp/out")" ]
check "the best recorded" out_has "over the best recorded"
check "what does not belong is counted" out_has "81 results do not belong"
expect "as JSON" 0 "${tune[@]}" --budget 200 --json
if command -v python3 >/dev/null; then
    check "its keys" python3 - "$tmp/out" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["recordings"]["results"] == 3240 and r["recordings"]["foreign"] == 81, r["recordings"]
assert r["recordings"]["missed"] == 0 and not r["recordings"]["unfinished"]
assert len(r["workloads"]) == 81
for w in r["workloads"]:
    assert w["oracle_ns"] > 0 and not w["confirmed"]
    assert abs(w["regret"] - (w["best_ns"] / w["oracle_ns"] - 1)) < 1e-9
assert r["reused"] == r["trials"], "the same command again asks nothing new"
PY
fi
expect "several results of one config" 2 "$ws" tune $m --recordings $d --store "$tmp/x.db"
check "both lines are named" grep -q "csv.gz:3323: .*" "$tmp/err"
check "the first one, too" err_has "line 21"
check "and the way out" err_has "--where"
expect "rows by a column that is not there" 2 "$ws" tune $m --recordings $d --where run=3 --store "$tmp/x.db"
expect "a time that is not there" 2 "$ws" tune $m --recordings $d --where pass=3 --time-column time_ms --store "$tmp/x.db"
expect "another time" 0 "$ws" tune $m --recordings $d --where pass=3 --time-column min_us --budget 5 --store "$tmp/x.db"
expect "rows of nothing" 2 "$ws" tune $m --where pass=3 --store "$tmp/x.db"
check "need recordings" err_has "--recordings FILE"
expect "no pack without a source" 2 "$ws" tune $m --recordings $d --where pass=3 --out "$tmp/x.wspack" --store "$tmp/x.db"
expect "no device runs it" 2 "$ws" tune $m --store "$tmp/x.db"
check "and why" err_has "no source to run"
expect "nor checks it" 2 "$ws" check $m
# How a kernel is made keeps its default, but for who searches that.
sed "s#^op: .*#op: $PWD/tests/data/h200/moe#; s#^  stages: {#&structural: true, #" $m >"$tmp/made.yaml"
for s in random worldmodel; do
    expect "a structural parameter, $s" 0 "$ws" tune "$tmp/made.yaml" --recordings $d --where pass=3 --strategy $s --budget 243 --store "$tmp/$s.db"
    "$ws" trials "$tmp/$s.db" --export "$tmp/$s.txt" >/dev/null 2>&1
    grep -o 'stages=[0-9]*' "$tmp/$s.txt" | sort -u >"$tmp/$s.stages"
done
check "keeps its default" test "$(wc -l <"$tmp/random.stages")" = 1
check "ideas are told where there are some" grep -q "^ideas  *expected  *found  *in all tried" "$tmp/out"
check "place by place" grep -q "^  tuning: as it is " "$tmp/out"
check "and is searched" test "$(wc -l <"$tmp/worldmodel.stages")" -gt 1
expect "its space is known" 0 "$ws" space $m --count

cat >"$tmp/t1.json" <<'EOT'
{"ConfigurationSpace": {"TuningParameters": [{"Name": "B", "Values": [1, 2, 4, 8], "Default": 3}]}}
EOT
cat >"$tmp/cache.json" <<'EOT'
{"device_name": "Some GPU", "tune_params_keys": ["B"], "cache": {
"1": {"B": 1, "time": 2.0, "times": [2.1, 1.9]},
"2": {"B": 2, "time": "CompilationFailedConfig"},
"4": {"B": 4, "time": 1.0, "times": [1.1, 0.9]},
EOT
expect "a T1 file, and a cache file that broke off" 0 "$ws" tune "$tmp/t1.json" --recordings "$tmp/cache.json" --store "$tmp/c.db"
check "whose device is named" out_has "Some GPU"
check "as unfinished" out_has "3 results of an unfinished file"
check "with what it lacks" out_has "1 configs were asked for"
check "and its best" out_has "B=4"
expect "a T1 file needs recordings" 2 "$ws" tune "$tmp/t1.json"
expect "the store of a tune as recordings" 0 "$ws" tune "$tmp/t1.json" --recordings "$tmp/c.db" --store "$tmp/d.db"
check "holds the same" out_has "B=4"
expect "the file imported into a store" 0 "$ws" trials "$tmp/i.db" --import "$tmp/cache.json" --spec "$tmp/t1.json"
expect "that store as recordings" 0 "$ws" tune "$tmp/t1.json" --recordings "$tmp/i.db" --store "$tmp/j.db"
check "holds all results" out_has "3 results"
check "and the best" out_has "B=4"
"$ws" trials "$tmp/i.db" --export "$tmp/i.jsonl" >/dev/null
sed -E 's/("candidate_hash":")[0-9a-f]{32}/\100000000000000000000000000000000/' "$tmp/i.jsonl" >"$tmp/old.jsonl"
check "(hashes were taken out)" [ "$(grep -c '"candidate_hash":"0*"' "$tmp/old.jsonl")" -eq 3 ]
expect "an import of before" 0 "$ws" trials "$tmp/old.db" --import "$tmp/old.jsonl"
expect "as recordings" 0 "$ws" tune "$tmp/t1.json" --recordings "$tmp/old.db" --store "$tmp/k.db"
check "it holds all results, too" out_has "3 results"
check "and its best" out_has "B=4"
expect "the file into it again" 0 "$ws" trials "$tmp/old.db" --import "$tmp/cache.json" --spec "$tmp/t1.json"
check "is there already" out_has "0 new trials"
expect "columns of a store" 2 "$ws" tune "$tmp/t1.json" --recordings "$tmp/c.db" --where B=1 --store "$tmp/d.db"
printf 'B,time_us\n1,2\n2,fast\n' >"$tmp/bad.csv"
expect "a bad time" 2 "$ws" tune "$tmp/t1.json" --recordings "$tmp/bad.csv" --store "$tmp/e.db"
check "file and line" err_has "bad.csv:3:"
check "none of these made a project" [ ! -e "$tmp/.wavesmith" -a ! -e $m/.wavesmith ]
finish
