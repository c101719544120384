#!/usr/bin/env bash
# Scores from traces of flashinfer-bench: by hand for a few lines of our own,
# then for the samples of the data folder (set WS_DATA).
. tests/tap.sh
data=${WS_DATA:-$PWD/../shared/data}/flashinfer-trace-samples/flashinfer-trace

# trace UUID STATUS MS [SOLUTION [DEFINITION [REFERENCE_MS]]]
trace() {
    local p=''
    [ "$2" = PASSED ] && p=", \"correctness\": {}, \"performance\": {\"latency_ms\": $3, \"reference_latency_ms\": ${6:-0}, \"speedup_factor\": 0}"
    echo "{\"definition\": \"${5:-g}\", \"workload\": {\"axes\": {\"M\": 1}, \"inputs\": {}, \"uuid\": \"$1\"}, \"solution\": \"${4:-s}\", \"evaluation\": {\"status\": \"$2\", \"environment\": {\"hardware\": \"x\"}, \"timestamp\": \"t\"$p}}"
}
cd "$tmp" && case $ws in /*) ;; *) ws=$OLDPWD/$ws ;; esac

{ trace a PASSED 2 base; trace b PASSED 4 base; trace c PASSED 1 base; trace d TIMEOUT 0 base; } >base.jsonl
{ trace c PASSED 2; trace a PASSED 9; trace a PASSED 1; trace b PASSED 2; trace d PASSED 1; } >right.jsonl
{ trace a PASSED 1; trace b COMPILE_ERROR 0; } >fails.jsonl

expect "all right" 0 "$ws" score right.jsonl --baseline base.jsonl
check "2, 2 and 0.5: the mean" out_has "150.0 (mean ratio x 100)"
check "the geometric mean" out_has "geometric mean of ratios    1.260"
check "fast_0" out_has "fast_0                      100.0%"
check "fast_1" out_has "fast_1                      66.7%"
check "fast_2: above, not at" out_has "fast_2                      0.0%"
check "what the baseline failed does not count" out_has "1 left out"
expect "failures" 0 "$ws" score fails.jsonl --baseline base.jsonl --fast 0,1.9
check "no score of K-Search's" out_has "none: 2 failed"
check "0 each in the mean" out_has "66.7 (failures count 0)"
check "1 each in the geometric mean" out_has "1.260 (failures count 1)"
check "those that passed" out_has "... of those that passed    2.000"
check "a p of one's own" out_has "fast_1.9                    33.3%"
check "why it failed" out_has "COMPILE_ERROR"
check "what was not run" out_has "not run"
expect "JSON" 0 "$ws" score fails.jsonl --baseline base.jsonl --json
check "no score is null" out_has '"ksearch_score": null'
check "it is JSON" python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
x = s["scores"][0]
assert len(s["workloads"]) == 3 and len(s["scores"]) == 1
assert abs(x["mean_x100_failures_0"] - 200 / 3) < 1e-9, x
assert abs(x["geomean_failures_1"] - 2 ** (1 / 3)) < 1e-9, x
assert [w["ratio"] for w in s["workloads"]] == [2, None, None]' out
expect "CSV" 0 "$ws" score fails.jsonl --baseline base.jsonl --csv
check "a line with a ratio" out_has '"g","a",PASSED,2,1,2'
check "one that failed" out_has '"g","b",COMPILE_ERROR,4,,'

trace a PASSED 1 other >>right.jsonl
expect "two solutions" 2 "$ws" score right.jsonl --baseline base.jsonl
check "both are named" err_has "'s', 'other'"
expect "one is chosen" 0 "$ws" score right.jsonl --baseline base.jsonl --solution other
check "it ran on one of three" out_has "3 workloads, 1 right"
expect "none of that name" 2 "$ws" score right.jsonl --baseline base.jsonl --solution nobody

expect "no times of a reference" 2 "$ws" score fails.jsonl
check "what to do" err_has "--baseline FILE"
{ trace a PASSED 1 s g 3; trace b TIMEOUT 0; } >reference.jsonl
expect "beside the reference" 0 "$ws" score reference.jsonl
check "its times" out_has "150.0 (failures count 0)"
{ trace a PASSED 2 base h; trace a PASSED 2 base; } >two.jsonl
{ trace a PASSED 1 s h; trace a PASSED 4; } >both.jsonl
expect "two Definitions" 0 "$ws" score both.jsonl --baseline two.jsonl
check "each" out_has "h: 1 workload, 1 right"
check "and all" out_has "over all: 2 workloads, 2 right"
check "the mean over all" out_has "125.0"
expect "nothing in common" 2 "$ws" score both.jsonl --baseline base.jsonl --solution nobody
echo '{"definition": "g"' >>both.jsonl
expect "a broken line" 2 "$ws" score both.jsonl --baseline two.jsonl
check "its number" err_has "both.jsonl:3:"
expect "no list of p" 2 "$ws" score fails.jsonl --baseline base.jsonl --fast 1,x

t=$data/traces/gpt-5.2_n/rmsnorm/rmsnorm_h4096.jsonl
if ! [ -f "$t" ]; then
    echo "ok samples # SKIP: no data"; echo "# SKIP no $data"; finish
fi
expect "a real file beside itself" 0 "$ws" score "$t" --baseline "$t"
check "is 100" out_has "100.0 (mean ratio x 100)"
expect "beside the reference's times that it has" 0 "$ws" score "$t" --json
check "as its own factors say" python3 -c 'import json, sys
own = [json.loads(x)["evaluation"]["performance"]["speedup_factor"] for x in open(sys.argv[2])]
x = json.load(open(sys.argv[1]))["scores"][0]
assert abs(x["ksearch_score"] - 100 * sum(own) / len(own)) < 1e-3 * x["ksearch_score"], x' out "$t"
finish
