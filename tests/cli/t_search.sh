#!/usr/bin/env bash
# search: from an operator to the best kernel of each regime, on recordings of
# an H200 and on a device: what is written is what was found, tune and check
# take it; a run that is killed goes on to the same tree.
. tests/tap.sh

m=tests/perf/h200/gemm.yaml
search=("$ws" search $m --recordings tests/data/h200/gemm.csv.gz --where pass=1)
head -n 6 tests/data/h200/gemm/workloads.jsonl >"$tmp/few.jsonl"
few=("${search[@]}" --workloads "$tmp/few.jsonl")

expect "search --help" 0 "$ws" search --help
check "shows usage" out_has "usage: wavesmith search"
expect "a search" 0 "${few[@]}" --budget 90 --store "$tmp/a.db" --out "$tmp/found"
check "tells the best of each regime" out_has "best of each regime"
check "one is decode" out_has "  decode: "
check "and its ideas" out_has "rows of a tile: 16"
check "and where files are" out_has "files: $tmp/found"
check "shows what it tries" err_has "  trying "
check "and what is open" err_has "  open "
check "the tree is written" grep -q "worked on\|closed" "$tmp/found/tree.txt"
check "every trial is there" test "$(grep -c ',screen,' "$tmp/found/attempts.csv")" = 90
cp -r "$tmp/found" "$tmp/first"
expect "finished, and run again" 0 "${few[@]}" --budget 90 --store "$tmp/a.db" --out "$tmp/found"
check "has the same files" diff -r "$tmp/first" "$tmp/found"
expect "with more to spend it goes on" 0 "${few[@]}" --budget 150 --store "$tmp/a.db" --out "$tmp/longer"
expect "as if it had had it from the beginning" 0 "${few[@]}" --budget 150 --store "$tmp/b.db" --out "$tmp/whole"
check "to the same tree" cmp "$tmp/longer/tree.json" "$tmp/whole/tree.json"
check "and best" cmp "$tmp/longer/best.csv" "$tmp/whole/best.csv"
if command -v python3 >/dev/null; then
    expect "as JSON" 0 "${few[@]}" --budget 150 --store "$tmp/a.db" --json
    check "the best of a regime is what was measured" python3 - "$tmp/out" "$tmp/longer/attempts.csv" <<'PY'
import csv, json, math, sys
doc = json.load(open(sys.argv[1]))
rows = list(csv.DictReader(open(sys.argv[2])))
shapes = {}
for w in doc["workloads"]:
    shapes.setdefault(w["regime"], []).append(w)
assert {r["regime"] for r in doc["regimes"]} == set(shapes) and len(shapes) > 2
for r in doc["regimes"]:
    gain, known = 0, 0
    for w in shapes[r["regime"]]:
        t = [float(x["time_ns"]) for x in rows if x["workload"] == w["workload"]
             and x["config"] == r["config"] and x["verdict"] == "ok"]
        known += bool(t)
        gain += math.log(w["default_ns"] / min(t)) if t else 0
    assert r["workloads"] == len(shapes[r["regime"]]) and r["measured"] == known > 0
    assert math.isclose(r["speedup"], math.exp(gain / r["workloads"]), rel_tol=1e-5)
tree = doc["tree"]
assert tree["wavesmith"] == "tree" and tree["question"] == 150
assert sum(n["tries"] for n in tree["nodes"]) == 150
PY
fi
expect "random searches it, too" 0 "${few[@]}" --strategy random --budget 30 --store "$tmp/r.db"
check "without a tree" eval '! grep -q "^ideas" "$tmp/out"'

# Killed at any moment; a machine that is done before that proves nothing.
all=("${search[@]}" --workloads tests/data/h200/gemm/workloads.jsonl --budget 3000)
expect "without interruption" 0 "${all[@]}" --store "$tmp/u.db" --out "$tmp/u"
killed=no
for try in 1 2 3 4 5; do
    rm -f "$tmp"/k.db*
    "${all[@]}" --store "$tmp/k.db" --out "$tmp/k" >/dev/null 2>"$tmp/k.err" &
    pid=$!
    until grep -q '^\[search\]' "$tmp/k.err" || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ $? -eq 137 ] && { killed=yes; break; }
done
echo "# killed: $killed (try $try)"
expect "killed, and run again" 0 "${all[@]}" --store "$tmp/k.db" --out "$tmp/k"
check "has the tree of one that was not" cmp "$tmp/k/tree.json" "$tmp/u/tree.json"
check "and its best" cmp <(sed "s|$tmp/k|X|" "$tmp/k/best.csv") <(sed "s|$tmp/u|X|" "$tmp/u/best.csv")

expect "a larger budget" 0 "${few[@]}" --budget 180 --store "$tmp/more.db" --out "$tmp/more"
check "no regime's best is slower than its default" python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
sys.exit(not rows or any(float(r["speedup"]) < 1 for r in rows))' "$tmp/more/best.csv"
expect "a file in the folder's place" 2 "${few[@]}" --budget 9 --store "$tmp/x.db" --out "$tmp/few.jsonl"
check "is named" err_has "it is a file"
expect "a folder that cannot be" 3 "${few[@]}" --budget 9 --store "$tmp/x.db" --out /dev/null/x
echo precious >"$tmp/mine" && mkdir -p "$tmp/linked" && ln -s "$tmp/mine" "$tmp/linked/tree.txt"
expect "a link among the results" 2 "${few[@]}" --budget 9 --store "$tmp/x.db" --out "$tmp/linked"
check "is not written through" test "$(cat "$tmp/mine")" = precious
check "is named, too" err_has "tree.txt' is a symbolic link"
check "and what was found is told" out_has "best of each regime"
expect "no strategy of this name" 2 "${few[@]}" --strategy nobody --store "$tmp/x.db"
check "is told" err_has "unknown strategy 'nobody'"
expect "no specification" 2 "$ws" search

if have_opencl; then
    printf '%s\n' '{"name": "a", "M": 1, "N": 64, "K": 256}' '{"name": "b", "M": 32, "N": 64, "K": 128}' >"$tmp/small.jsonl"
    export WAVESMITH_CACHE=$tmp/cache
    expect "on a device" 0 "$ws" search gemm --workloads "$tmp/small.jsonl" --budget 8 --store "$tmp/d.db" --out "$tmp/d"
    check "a kernel file of one regime" test -s "$tmp/d/decode/gemm_tiled.yaml"
    check "and of the other" test -s "$tmp/d/few-rows/gemm_tiled.yaml"
    expect "check takes it" 0 "$ws" check "$tmp/d/decode/gemm_tiled.yaml" --workload a --workloads "$tmp/small.jsonl"
    mkdir -p "$tmp/away" "$tmp/e" && ln -s "$tmp/away" "$tmp/e/decode"
    expect "a link to a folder among the results" 2 "$ws" search gemm --workloads "$tmp/small.jsonl" --budget 8 --store "$tmp/d.db" --out "$tmp/e"
    check "nothing is written there" test -z "$(ls "$tmp/away")"
    expect "and tune" 0 "$ws" tune "$tmp/d/few-rows/gemm_tiled.yaml" --workloads "$tmp/small.jsonl" --budget 2 --store "$tmp/t.db"
else
    echo "# SKIP on a device: no OpenCL"
fi
finish
