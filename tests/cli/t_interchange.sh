#!/usr/bin/env bash
# Traces of flashinfer-bench out of a store: each verdict's status, workloads
# as they were given, before the data models of the package (deps-flashinfer),
# and scored.
. tests/tap.sh
main=$PWD
python=$main/build/venv-flashinfer/bin/python
data=${WS_DATA:-$main/../shared/data}/flashinfer-trace-samples
cd "$tmp" && case $ws in /*) ;; *) ws=$OLDPWD/$ws ;; esac
export WAVESMITH_SHARE=${WAVESMITH_SHARE:-$main}
export WAVESMITH_CACHE=$tmp/cache

# valid NAME KIND FILE: the package's models take it.
valid() {
    if [ -x "$python" ]; then
        expect "$1" 0 "$python" "$main/tests/cli/flashinfer_validate.py" "$2" "$3"
    else
        echo "ok $1 # SKIP: no flashinfer-bench (make deps-flashinfer)"
        echo "# SKIP no flashinfer-bench (make deps-flashinfer)"
    fi
}
# field FILE EXPRESSION: of x, the list of a file's objects.
field() { python3 -c 'import json, sys
x = [json.loads(line) for line in open(sys.argv[1])]
assert eval(sys.argv[2]), x' "$@"; }

cat >d.json <<'JSON'
{"name": "gemm_n64_k96", "op_type": "gemm",
 "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 64}, "K": {"type": "const", "value": 96}},
 "inputs": {"A": {"shape": ["M", "K"], "dtype": "float32"}, "B": {"shape": ["N", "K"], "dtype": "float32"}},
 "outputs": {"C": {"shape": ["M", "N"], "dtype": "float32"}},
 "reference": "import torch\n\ndef run(A, B):\n    return torch.matmul(A, B.T)\n"}
JSON
line() { echo "{\"solution\": null, \"workload\": {\"inputs\": {\"A\": {\"type\": \"random\"}, \"B\": {\"type\": \"random\"}}, \"uuid\": \"$1\", \"axes\": {\"M\": $2}, \"theirs\": [1, 2]}, \"definition\": \"gemm_n64_k96\"}"; }
{ line u-1 3; line u-2 40; } >w.jsonl
# HOW: 0 right, 1 a missing term, 2 does not compile, 3 no end.
cat >own.yaml <<'YAML'
kernel: own
dialect: opencl
source: own.cl
parameters: {HOW: [0, 1, 2, 3], W: [1, 4]}
constraints: [HOW == 0 or W == 1, HOW != 3 or M == 3]
launches: [{entry: own, grid: ["ceil_div(M, W)"], block: [N], args: [A, B, C, {int32: M}]}]
YAML
cat >own.cl <<'CL'
kernel void own(global const float *a, global const float *b, global float *c, int m)
{
    int n = get_local_id(0);
#if HOW == 2
    no such thing
#endif
    for (int r = get_group_id(0) * W; r < (get_group_id(0) + 1) * W && r < m; r++) {
        volatile float s = 0;
        for (int k = HOW == 1; k < K; k++)
            s += a[r * K + k] * b[n * K + k];
        while (HOW == 3 && n == 0)
            s += 1;
        c[r * N + n] = s;
    }
}
CL

if ! have_opencl; then
    echo "ok traces # SKIP: no OpenCL device"; echo "# SKIP no OpenCL device"; finish
fi
expect "a tune" 0 "$ws" tune d.json --kernel own.yaml --workloads w.jsonl --strategy grid --budget 100 --run-limit 2s --gates few
spec=(--spec d.json --kernel ./own.yaml --workloads w.jsonl)
expect "traces" 0 "$ws" trials .wavesmith/store.db "${spec[@]}" --export best.jsonl --format trace
check "one a workload" out_has "2 traces"
valid "its models take them" trace best.jsonl
check "passed, and its time" field best.jsonl 'len(x) == 2 and all(t["evaluation"]["status"] == "PASSED" and t["evaluation"]["performance"]["latency_ms"] > 0 for t in x)'
check "the workload as it was" field best.jsonl 'x[1]["workload"] == {"axes": {"M": 40}, "inputs": {"A": {"type": "random"}, "B": {"type": "random"}}, "uuid": "u-2", "theirs": [1, 2]}'
check "the errors that were measured" field best.jsonl 'all(0 <= t["evaluation"]["correctness"]["max_absolute_error"] < 1e-3 for t in x)'
check "where" field best.jsonl 'all(t["evaluation"]["environment"]["hardware"] and t["evaluation"]["environment"]["libs"]["compiler"] for t in x)'
check "whose" field best.jsonl 'all(t["definition"] == "gemm_n64_k96" and t["solution"] == "wavesmith_own" for t in x)'
# status HOW STATUS TEXT: the traces of a config.
status() {
    expect "traces: $2" 0 "$ws" trials .wavesmith/store.db "${spec[@]}" --export "$2.jsonl" --format trace --config "HOW=$1,W=1" --solution "$2"
    valid "its models take $2" trace "$2.jsonl"
    check "the status $2" field "$2.jsonl" "len(x) > 0 and all(t['evaluation']['status'] == '$2' and t['solution'] == '$2' for t in x)"
    check "the log says why: $2" field "$2.jsonl" "all('$3' in t['evaluation']['log'] for t in x)"
}
status 1 INCORRECT_NUMERICAL "wrong result"
check "how wrong" field INCORRECT_NUMERICAL.jsonl 'all(t["evaluation"]["correctness"]["max_absolute_error"] > 1e-2 for t in x)'
status 2 COMPILE_ERROR "compile"
status 3 TIMEOUT "did not end in time"
expect "a config that nobody tried is none of them" 2 "$ws" trials .wavesmith/store.db "${spec[@]}" --export x.jsonl --format trace --config HOW=9
check "values are listed" err_has "HOW"
expect "no specification" 2 "$ws" trials .wavesmith/store.db --export x.jsonl --format trace
check "which is needed" err_has "--spec SPEC"
expect "--config is for traces" 2 "$ws" trials .wavesmith/store.db "${spec[@]}" --export x.csv --config HOW=0

expect "scored: itself" 0 "$ws" score best.jsonl --baseline best.jsonl
check "parity" out_has "100.0 (mean ratio x 100)"
expect "scored: a wrong one" 0 "$ws" score INCORRECT_NUMERICAL.jsonl --baseline best.jsonl
check "no score" out_has "none: 2 failed"

# A solution: of a kernel in the portable dialect, with the choice by shape.
expect "a kernel in OpenCL C is no solution" 3 "$ws" trials .wavesmith/store.db "${spec[@]}" --export s.json --format solution
check "why" err_has "dialect cuda or portable"
portable=(--kernel "$main/ops/gemm/kernels/gemm_tiled.yaml" --workloads w.jsonl)
# parsed FOLDER: clang takes its sources as CUDA C, the host's side of them.
parsed() {
    if ! command -v clang >/dev/null; then
        echo "ok $1 # SKIP: no clang"; echo "# SKIP no clang"; return
    fi
    for f in "$2"/*.cu; do
        expect "$1: $(basename "$f")" 0 clang -x cuda --cuda-host-only -nocudainc -nocudalib -fsyntax-only -std=c++17 -Wno-unknown-cuda-version -I"$main/tests/data/solution" -I"$2" "$f"
    done
}
expect "a tune of it" 0 "$ws" tune d.json "${portable[@]}" --strategy random --budget 6 --store p.db --gates few
expect "a solution" 0 "$ws" trials p.db --spec d.json "${portable[@]}" --export s.json --format solution --solution mine
check "a choice for each workload" out_has "2 choices"
valid "its model takes it" solution s.json
check "name, entry, binding" python3 -c 'import json, os
s = json.load(open("s.json"))
assert s["name"] == "mine" and s["definition"] == "gemm_n64_k96" and s["author"] == "wavesmith"
assert s["spec"]["entry_point"] == "main.cu::run" and s["spec"]["binding"] == "tvm-ffi" and s["spec"]["destination_passing_style"] is True
os.mkdir("s")
for f in s["sources"]:
    open("s/" + f["path"], "w").write(f["content"])'
parsed "clang takes it" s

# Of our own format: axes and inputs are made for it.
echo '[{M: 2, N: 8, K: 8}, {M: 3, N: 8, K: 8}]' >shapes.yaml
own=$main/examples/own-kernel/my_gemm.yaml
expect "a tune of a shipped operator" 0 "$ws" tune "$own" --workloads shapes.yaml --strategy random --budget 2 --store own.db --gates few
expect "its traces" 0 "$ws" trials own.db --spec "$own" --workloads shapes.yaml --export own.jsonl --format trace
valid "its models take them, too" trace own.jsonl
check "the axes that vary" field own.jsonl 'x[1]["workload"]["axes"] == {"M": 3, "N": 8, "K": 8}'
check "a name for each workload" field own.jsonl 'len(set(t["workload"]["uuid"] for t in x)) == 2'

if [ -x "$python" ] && [ -d "$data" ]; then
    expect "real traces and workloads" 0 "$python" "$main/tests/cli/flashinfer_validate.py" trace "$data"/flashinfer-trace/*/*/*.jsonl
else
    echo "ok real traces # SKIP: no flashinfer-bench or no data"; echo "# SKIP no flashinfer-bench or no $data"
fi
finish
