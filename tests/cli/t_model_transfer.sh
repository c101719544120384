#!/usr/bin/env bash
# model transfer, data sheets of the user, and the margin of model eval.
. tests/tap.sh

m=tests/perf/h200
d=tests/data/h200
xfer=("$ws" model transfer --space $m/attn.yaml --data $d/attn.csv.gz --to-data $d/attn.csv.gz)
expect "to the same device" 0 "${xfer[@]}" --sheet h200 --to-sheet h200 --budget 40 --cells 12 --seeds 2
check "what was fitted" out_has "fitted to 40 times of the first device"
check "both priors" grep -q '^neutral ' "$tmp/out"
expect "as JSON" 0 "${xfer[@]}" --budget 40 --cells 12 --seeds 2 --json
if command -v python3 >/dev/null; then
    check "its keys" python3 - "$tmp/out" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["source_cells"] == 40 and 0 < r["source_rms"] < 1
for side in r["transfer"], r["neutral"]:
    assert len(side["seeds"]) == 2 and side["cells"] == 12
    assert 0 < side["error_median"] <= side["error_p95"]
    assert 0 < side["mean_oracle_over_chosen"] <= 1 and side["choices"] > 0
    assert .2 < side["bias"] < 5
mean = sum(s["bias"] for s in r["transfer"]["seeds"]) / 2
assert abs(mean - r["transfer"]["bias"]) < 1e-9
PY
fi
expect "no cells, no seeds" 0 "${xfer[@]}" --budget 5
check "one is enough" out_has "1 seed"

printf 'name: mine\nunits: 132\nmhz: 1980\ndram_gbs: 4800\ncache_bytes: 60000000\nmatrix_tflops: 989\nvector_tflops: 67\n' >"$tmp/mine.yaml"
eval0=("$ws" model eval --space $m/moe.yaml --data $d/moe.csv.gz --budget 0 --seeds 2)
expect "a sheet of one's own" 0 "${eval0[@]}" --sheet "$tmp/mine.yaml"
sed 's/ *[0-9.]* s$//' "$tmp/out" >"$tmp/mine.out"
expect "and the shipped one" 0 "${eval0[@]}" --sheet h200
check "of the same device say the same" [ "$(sed 's/ *[0-9.]* s$//' "$tmp/out")" = "$(cat "$tmp/mine.out")" ]

bad() { # NAME SED-SCRIPT WORDS
    sed "$2" "$tmp/mine.yaml" >"$tmp/bad.yaml"
    expect "$1" 2 "${eval0[@]}" --sheet "$tmp/bad.yaml"
    check "$1: where and why" err_has "$3"
}
bad "a key that is none" 's/mhz/ghz/' "bad.yaml:3:1: "
bad "a missing figure" '/units/d' "the sheet has no 'units'"
bad "a figure in another unit" 's/^mhz.*/mhz: 1980000000/' "bad.yaml:3:6: 'mhz' of a device is not 1980000000"
bad "no number" 's/^units.*/units: many/' "bad.yaml:2:8: 'many' is not a number"
bad "no map" '1!d; s/.*/- 1/' "bad.yaml:1:1: this is a list"
expect "a file that is not there" 2 "${eval0[@]}" --sheet "$tmp/none.yaml"
expect "a sheet that does not exist" 2 "${xfer[@]}" --to-sheet b300
check "it is named" err_has "no data sheet of 'b300'"
check "and so are those that do" err_has "h200, "
expect "a matrix is missing" 2 "$ws" model transfer --space $m/attn.yaml --data $d/attn.csv.gz

expect "a margin" 0 "${eval0[@]}" --margin 2 --json
if command -v python3 >/dev/null; then
    check "no choice is below the default by more" python3 - "$tmp/out" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["below_margin"] == 0, r["below_margin"]
assert r["below_default_worst"] < .03, r["below_default_worst"]
PY
fi
expect "a margin below 0" 2 "${eval0[@]}" --margin -1
expect "one that is no number" 2 "${eval0[@]}" --margin wide
finish
