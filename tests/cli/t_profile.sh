#!/usr/bin/env bash
# profile: without counters on the CPU device, with a file of ncu, and what it
# refuses.
. tests/tap.sh

expect "profile --help" 0 "$ws" profile --help
check "shows usage" out_has "usage: wavesmith profile"
expect "a set that is none" 2 "$ws" profile rmsnorm --set some
check "says which there are" err_has "'one' (pass) or 'full'"
expect "a mode of ncu that is none" 2 "$ws" profile rmsnorm --ncu-cache hot
have_opencl || { echo "# SKIP the rest: no OpenCL device"; finish; }

run=("$ws" profile rmsnorm --workload batch_size=64,hidden_size=4096,T=float32)
expect "no counters" 0 "${run[@]}"
check "a verdict" out_has "verdict: ok"
check "says that there are none" out_has "counters: none"
check "no sheet, no ceiling" out_has "no ceiling known"
check "lists what it could not look at" grep -q '^  dram  *dram_busy$' "$tmp/out"
expect "as JSON" 0 "${run[@]}" --json
if command -v python3 >/dev/null; then
    check "its content" python3 - "$tmp/out" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["verdict"] == "ok" and r["counters_from"] == "none"
assert r["gap"] is None and r["floor"]["ns"] is None
assert r["floor"]["bytes"] == 4 * (2 * 64 * 4096 + 4096)
assert r["floor"]["bytes_from"] == "unknown" and r["passes"] is None
s = r["scaled"]
assert s["axis"] in ("batch_size", "hidden_size") and s["ns"] > 0
assert 0 <= s["fixed_ns"] <= r["time_ns"]
assert "dram_busy" not in r["facts"] and r["facts"]["waves"] > 0
assert {"rule": "dram", "missing": "dram_busy"} in r["not_looked_at"]
assert all(f["bound"] and f["evidence"] for f in r["findings"])
assert len(r["candidate"]) == 32 and len(r["binary"]) == 32
PY
fi

expect "counters of ncu" 0 "${run[@]}" --json --ncu tests/data/profile/ncu.csv --ncu-cache all
if command -v python3 >/dev/null; then
    check "are taken, and times are not" python3 - "$tmp/out" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["counters_from"] == "ncu" and "cache control all" in r["counters_note"]
assert r["scaled"] is None and len(r["launches"]) == 2
c = r["launches"][0]["counters"]
assert c["dram_write"] == 16777216 and c["tensor_pct"] is None
assert r["launches"][1]["counters"]["dram_write"] is None
assert "waste" not in r["facts"] # one launch lacks it
assert r["time_ns"] not in (12500, 3000, 15500)
PY
fi
head -n 5 tests/data/profile/ncu.csv >"$tmp/cut.csv"
expect "a file that is cut" 2 "${run[@]}" --ncu "$tmp/cut.csv"
check "names file and line" err_has "cut.csv:5"
expect "a file that is not there" 2 "${run[@]}" --ncu "$tmp/none.csv"

# The best that a store knows is taken, if nobody names a config.
mkdir -p "$tmp/best" && cp -r ops/rmsnorm "$tmp/best/"
echo '- {batch_size: 8, hidden_size: 1024, T: float32}' >"$tmp/best/one.yaml"
best=("$tmp/best/rmsnorm" --workloads "$tmp/best/one.yaml")
expect "default" 0 "$ws" profile "${best[@]}" --json
check "is called so" out_has '"config_from": "default"'
expect "a short tune" 0 "$ws" tune "${best[@]}" --budget 3 --strategy random
expect "after it" 0 "$ws" profile "${best[@]}" --json
check "its best" out_has '"config_from": "best"'
expect "a config" 0 "$ws" profile "${best[@]}" --json --config THREADS=32
check "is called given" out_has '"config_from": "given"'
finish
