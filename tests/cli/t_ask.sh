#!/usr/bin/env bash
# ask, tell: a search whose trials another process makes, here a few lines of
# Python: it comes to its end, the same however it is cut into pieces, and what
# is no answer is refused before anything is kept.
. tests/tap.sh
command -v python3 >/dev/null || skip_all "no python3"

m=tests/perf/h200/gemm.yaml
head -n 4 tests/data/h200/gemm/workloads.jsonl >"$tmp/few.jsonl"
cat >"$tmp/measure.py" <<'PY'
import json, sys, zlib
def one(q, config):
    p = dict(x.split("=") for x in config.split(","))
    if p["bm"] == "256":
        return {"verdict": "build", "reason": "too many registers"}
    ns = 1000 * int(p["bm"]) / 16 + zlib.crc32((q["workload"] + config).encode()) % 100
    return {"verdict": "ok", "samples_ns": [ns + i % 3 for i in range(7)]}
for line in sys.stdin:
    q = json.loads(line)
    a = {"a": one(q, q["config"]), "b": one(q, q["config_b"])} if "config_b" in q else one(q, q["config"])
    print(json.dumps({"question": q["question"], **a}))
PY
opts() { echo --workloads "$tmp/few.jsonl" --device lab --budget 32 --store "$1"; }
step() { # STORE LINES: of each batch only so many are told
    "$ws" ask $m $(opts "$1") >"$tmp/q" 2>/dev/null || return 1
    head -n "$2" "$tmp/q" | python3 "$tmp/measure.py" >"$tmp/a"
    "$ws" tell $m "$tmp/a" $(opts "$1") --out "$tmp/found" >"$tmp/told" 2>"$tmp/told.err"
}
loop() { local n=0; while [ $n -lt 300 ] && step "$1" "$2"; do n=$((n + 1)); done; echo "# $n rounds"; }

expect "ask --help" 0 "$ws" ask --help
expect "tell --help" 0 "$ws" tell --help
expect "the first questions" 0 "$ws" ask $m $(opts "$tmp/a.db")
check "are the defaults" test "$(grep -c '"effort": "normal"' "$tmp/out")" = 4
check "of every shape" out_has '"question": 4, "workload": "M=3735,N=2464,K=4640"'
cp "$tmp/out" "$tmp/first"
expect "asked again" 0 "$ws" ask $m $(opts "$tmp/a.db")
check "they are the same" cmp "$tmp/out" "$tmp/first"
loop "$tmp/a.db" 1000
expect "nothing is left" 1 "$ws" ask $m $(opts "$tmp/a.db")
check "it says so" err_has "nothing is left to ask"
: >"$tmp/empty"
expect "what was found" 0 "$ws" tell $m "$tmp/empty" $(opts "$tmp/a.db") --out "$tmp/whole"
check "small tiles win" out_has "bm=16"
check "by regimes" out_has "best of each regime"
check "as trials of that device" out_has "on lab"
check "failures are told" grep -q 'build,.*too many registers' "$tmp/whole/attempts.csv"
check "32 were screened" test "$(grep -c ',screen,' "$tmp/whole/attempts.csv")" = 32
"$ws" tree "$tmp/a.db" show >"$tmp/tree"
check "there is a tree" grep -q "rows of a tile: 16" "$tmp/tree"

# Told piece by piece.
loop "$tmp/b.db" 3
"$ws" tree "$tmp/b.db" show >"$tmp/tree2"
check "the same tree, three answers at a time" cmp "$tmp/tree" "$tmp/tree2"
expect "the store is whole" 0 "$ws" trials "$tmp/b.db" --verify

bad() { # NAME LINE MESSAGE
    printf '%s\n' "$2" >"$tmp/bad"
    expect "$1" 2 "$ws" tell $m "$tmp/bad" $(opts "$tmp/c.db")
    check "$1 is told" err_has "$3"
}
bad "no JSON" 'question 1: 5 us' "line 1: it is no JSON object"
bad "no number" '{"verdict": "ok", "samples_ns": [1]}' "line 1: it has no number of a question"
bad "no verdict" '{"question": 1, "samples_ns": [5]}' "it has no verdict"
bad "an unknown one" '{"question": 1, "verdict": "fine", "samples_ns": [5]}' "'fine' is no verdict"
bad "a time beyond reason" '{"question": 1, "verdict": "ok", "samples_ns": [9e18]}' "line 1: a sample is no time"
bad "no samples" '{"question": 1, "verdict": "ok"}' "answer 1 has no samples"
bad "samples in words" '{"question": 1, "verdict": "ok", "samples_ns": ["5"]}' "samples that are no numbers"
bad "a time below zero" '{"question": 1, "verdict": "ok", "samples_ns": [-5]}' "line 1: a sample is no time"
bad "twice" '{"question": 1, "verdict": "ok", "samples_ns": [5]}
{"question": 1, "verdict": "ok", "samples_ns": [6]}' "line 2: the question is answered twice"
expect "nothing of it was kept" 0 "$ws" ask $m $(opts "$tmp/c.db")
check "the first question is open" out_has '"question": 1,'
printf '%s\n' '{"question": 7, "verdict": "ok", "samples_ns": [5]}' >"$tmp/early"
expect "an answer before its question" 1 "$ws" tell $m "$tmp/early" $(opts "$tmp/c.db")
check "is not taken" err_has "0 of 1 answers were taken"
check "and named" err_has "line 1: question 7 is not open now"
"$ws" ask $m $(opts "$tmp/c.db") 2>/dev/null | head -n 1 | sed 's/}$/, "verdict": "ok", "samples_ns": [5]}/' >"$tmp/repeats"
sed 's/"config": "/&x/' "$tmp/repeats" >"$tmp/other"
expect "an answer to another run's question" 1 "$ws" tell $m "$tmp/other" $(opts "$tmp/c.db")
check "is told from what it repeats" err_has "line 1: its 'config' is not that of question 1"
expect "an answer that repeats its question" 0 "$ws" tell $m "$tmp/repeats" $(opts "$tmp/c.db")
check "is taken" err_has "1 of 1 answers were taken"
expect "a folder" 2 "$ws" tell $m "$tmp" $(opts "$tmp/c.db")
expect "no file" 2 "$ws" tell $m "$tmp/none" $(opts "$tmp/c.db")
expect "no device" 2 "$ws" ask $m --workloads "$tmp/few.jsonl" --store "$tmp/c.db"
check "is told" err_has "the device that measures has no name"
expect "a time as budget" 2 "$ws" ask $m $(opts "$tmp/c.db") --budget 9s
finish
