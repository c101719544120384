#!/usr/bin/env bash
# model eval and model explain: what they print, in words and as JSON, and what
# they refuse.
. tests/tap.sh

s=tests/perf/h200/attn.yaml
d=tests/data/h200/attn.csv.gz
shape=B=4,S=2048,HQ=32,HKV=8
eval=("$ws" model eval --space $s --data $d)
explain=("$ws" model explain --space $s --data $d)

expect "eval" 0 "${eval[@]}" --seeds 2
check "figures of each seed" grep -q '^2 ' "$tmp/out"
check "and their means" grep -q '^mean ' "$tmp/out"
expect "losses" 0 "${eval[@]}" --seeds 1 --beyond 1.01
check "are listed" grep -q '^seed 1: 1\.[0-9]*x: B=' "$tmp/out"
expect "few cells" 0 "${eval[@]}" --seeds 1 --budget 5
check "warn" out_has "warning: fewer times than constants"
expect "no cells" 0 "${eval[@]}" --seeds 1 --budget 0
check "warn, too" out_has "warning: no times"
expect "eval as JSON" 0 "${eval[@]}" --seeds 1 --beyond 1.01 --json
if command -v python3 >/dev/null; then
    check "its keys" python3 - "$tmp/out" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert .9 < r["mean_oracle_over_chosen"] < 1 and len(r["seeds"]) == 1
assert r["cells"] <= .02 * r["fit_pairs"] + 1
assert r["beyond"] and all(c["chosen_ns"] > 1.01 * c["best_ns"] for c in r["beyond"])
PY
fi
printf '6\n7\n8\n9\n' >"$tmp/fit"
expect "shapes to fit on" 0 "${eval[@]}" --seeds 1 --fit-shapes "$tmp/fit" --budget 20
check "no others" out_has "4 shapes to fit on, 113 held out"
echo nowhere >>"$tmp/fit"
expect "a shape that is none" 2 "${eval[@]}" --seeds 1 --fit-shapes "$tmp/fit"
check "is named" err_has "'nowhere'"

expect "explain" 0 "${explain[@]}" --shape $shape
check "constants" grep -q '^latency .*ns a stage' "$tmp/out"
check "a prediction" out_has "predicted"
check "how sure" out_has "deviation"
check "from where" grep -q '^coordinates  grid' "$tmp/out"
expect "another config" 0 "${explain[@]}" --shape $shape --config bm=64,bn=128,warps=4,stages=2
check "is told from the chosen one" out_has "(chosen would be"
expect "a shape that nobody timed" 0 "${explain[@]}" --shape B=3,S=777,HQ=16,HKV=4
check "has no measured time" [ -z "$(grep measured "$tmp/out")" ]
expect "bilinear" 0 "${explain[@]}" --shape $shape --method bilinear
check "table A" out_has "table A"
check "table B" out_has "table B"
expect "explain as JSON" 0 "${explain[@]}" --shape $shape --json
if command -v python3 >/dev/null; then
    check "terms make the prediction" python3 - "$tmp/out" <<'PY'
import json, math, sys
r = json.load(open(sys.argv[1]))
p = r["prediction"]
term = {t["name"]: t["value"] for t in p["terms"] if t["group"] != "correction"}
factor = math.prod(t["value"] for t in p["terms"] if t["group"] == "correction")
assert abs(term["formula"] * factor / p["predicted_ns"] - 1) < 1e-3
assert abs((term["start"] + term["blocks, memory and lines"]) / term["formula"] - 1) < 1e-3
assert 0 < p["deviation"] < 1 and p["measured_ns"] is None or p["measured_ns"] > 0
assert all(c["deviation"] <= c["prior_deviation"] * 1.001 for c in r["constants"])
PY
fi

expect "no command" 2 "$ws" model fit --space $s --data $d
expect "no data" 2 "$ws" model eval --space $s
expect "a method that is none" 2 "${eval[@]}" --method best
check "the known ones" err_has "bilinear"
expect "a method without a model" 2 "${explain[@]}" --method single
expect "a budget that is none" 2 "${eval[@]}" --budget 200%
expect "a pass that is not there" 2 "${eval[@]}" --truth-pass 9
check "those that are" err_has "3 passes"

passes() { # N: the first pass of the matrix N times, each 3% slower than the one before
    gzip -dc $d | awk -F, -v OFS=, -v n="$1" 'NR == 1 {
            for (i = 1; i <= NF; i++) at[$i] = i
            print
        }
        NR > 1 && $at["pass"] == 1 {
            ns = $at["median_us"]
            for (p = 1; p <= n; p++) {
                $at["pass"] = p
                $at["median_us"] = ns * 1.03 ^ p
                print
            }
        }' >"$tmp/passes$1.csv"
}
listed() { seq -s , "$1" | tr -d '\n'; } # 1,2,...,N
passes 16
passes 17
many=("$ws" model eval --space $s --data "$tmp/passes16.csv" --truth-pass 16 --seeds 1)
expect "fifteen passes" 0 "${many[@]}" --fit-pass "$(listed 15)" --json
cp "$tmp/out" "$tmp/fifteen"
expect "sixteen passes, all listed" 0 "${many[@]}" --fit-pass "$(listed 16)" --json
if command -v python3 >/dev/null; then
    check "the last of them counts" python3 - "$tmp/fifteen" "$tmp/out" <<'PY'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert a["cells"] == b["cells"] > 0
assert abs(a["error_median"] - b["error_median"]) > 1e-4, (a["error_median"], b["error_median"])
PY
fi
expect "seventeen listed" 2 "${many[@]}" --fit-pass "$(listed 17)"
check "the one too many is named" err_has "'17'"
expect "a matrix of seventeen" 2 "$ws" model eval --space $s --data "$tmp/passes17.csv" --fit-pass 1 --truth-pass 2
check "is too much, and where" grep -q 'passes17\.csv:18: more than 16 passes' "$tmp/err"
expect "a sheet that is none" 2 "${eval[@]}" --sheet z80
expect "a config without a shape" 2 "${explain[@]}" --config bm=64
expect "a config that cannot be" 2 "${explain[@]}" --shape $shape --config bn=128,stages=4
expect "a shape without an axis" 2 "${explain[@]}" --shape B=4
expect "an option of the other" 2 "${explain[@]}" --beyond 1.1
finish
