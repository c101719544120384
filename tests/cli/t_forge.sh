#!/usr/bin/env bash
# forge: what would be tried; a whole run on the OpenCL CPU device that makes a
# naive product faster, killed in the middle and continued; what comes out is a
# kernel like any other; a model's proposals, among them wrong ones; what it
# refuses.
. tests/tap.sh
export WAVESMITH_DATA=$tmp/data WAVESMITH_CACHE=$tmp/cache
json() { # the document in $tmp/out, as p, fulfils a condition
    python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2], {"p": p, "moves": p["moves"]}) else 1)' "$tmp/out" "$1"
}
expect "forge --help" 0 "$ws" forge --help
check "shows usage" out_has "usage: wavesmith forge"
expect "no specification" 2 "$ws" forge
command -v python3 >/dev/null || { echo "# SKIP the rest: no python3"; finish; }

# --- what would be tried ---------------------------------------------------
cp -r practice/gemm_naive practice/row_sum "$tmp"
rm -rf "$tmp"/*/.wavesmith
spec=$tmp/gemm_naive
"$ws" forge "$spec" --kernel gemm_naive_opencl --explain >"$tmp/out" 2>"$tmp/err"
if grep -q libclang "$tmp/err"; then
    expect "without libclang" 3 "$ws" forge "$spec" --kernel gemm_naive_opencl --explain
    check "says what to install" err_has "libclang1-19"
    echo "# SKIP the rest: no libclang 19"
    finish
fi
expect "explain" 0 "$ws" forge "$spec" --kernel gemm_naive_opencl --explain
check "names what it would do, and where" out_has "register_tile      line "
check "and runs nothing" test ! -e "$spec/.wavesmith"
expect "explain as JSON" 0 "$ws" forge "$spec" --kernel gemm_naive_cuda --explain --json
check "has the moves" json 'any(m["move"] == "swap_axes" and m["refused"] is None for m in moves)'
check "says what rounds otherwise, and what must be passed" json 'all((m["rounds"], m["gates"]) == {"accumulators": (True, "values, shapes"), "register_tile": (False, "values, shapes, sanitizer")}.get(m["move"], (m["rounds"], m["gates"])) for m in moves)'
expect "the same in words" 0 "$ws" forge "$spec" --kernel gemm_naive_opencl --explain
check "has both" eval 'out_has "; rounds otherwise; must pass values, shapes" && out_has "and columns; must pass values, shapes, sanitizer"'
expect "a shipped kernel in CUDA C" 0 "$ws" forge gqa_paged_decode --explain
check "whose headers of ours are found" out_has "launch bounds of 'decode'"
expect "a kernel of macros" 2 "$ws" forge gemm --kernel gemm_tiled --explain
check "is refused" err_has "only CUDA C, OpenCL C and Triton"
expect "a kernel that is none" 2 "$ws" forge "$spec" --kernel nobody --explain
printf '__kernel void row_sum(__global const float *x, __global float *y, int m, int n)\n{\n    y[0] = nothing;\n}\n' >"$tmp/row_sum/kernels/row_sum.cl"
expect "a source that clang does not understand" 2 "$ws" forge "$tmp/row_sum" --kernel row_sum_opencl --explain
check "names the place" err_has "row_sum.cl:3"
sed 's/^__global__/template <int ROWS>\n__global__/' practice/row_sum/kernels/row_sum.cu >"$tmp/row_sum/kernels/row_sum.cu"
sed -i 's/entry: row_sum$/entry: "row_sum<4>"/' "$tmp/row_sum/kernels/row_sum_cuda.yaml"
expect "a template that the launch gives arguments" 0 "$ws" forge "$tmp/row_sum" --kernel row_sum_cuda --explain
check "says why nothing is done to it" out_has "not done: a template whose arguments the launch names"
have_opencl || { echo "# SKIP the rest: no OpenCL device"; finish; }
if [ -n "${SAN:-}" ]; then # the loop has unit tests; here its wiring is watched
    "$ws" forge "$spec" --kernel gemm_naive_opencl --budget 4 --store "$tmp/s.db" >"$tmp/out" 2>"$tmp/err"
    check "a short run ends, whatever it finds" [ $? -le 1 ]
    finish
fi

expect "a result over the source" 2 "$ws" forge "$spec" --kernel gemm_naive_opencl --budget 4 --out "$spec/kernels"
check "is refused before anything is run" err_has "would be written over"
check "and the source stays" cmp -s practice/gemm_naive/kernels/gemm_naive.cl "$spec/kernels/gemm_naive.cl"

# --- a whole run, killed in the middle -------------------------------------
printf -- '- {name: even, M: 96, N: 128, K: 160}\n- {M: 101, N: 93, K: 145}\n' >"$tmp/shapes.yaml"
forge=("$ws" forge "$spec" --kernel gemm_naive_opencl --workloads "$tmp/shapes.yaml" --seed 3 --store "$tmp/s.db")
trials() { sqlite3 "$tmp/s.db" 'select count(*) from trial' 2>/dev/null || echo 0; }
"${forge[@]}" --budget 14 >"$tmp/killed" 2>&1 &
pid=$!
for ((i = 0; i < 600; i++)); do
    [ "$(trials)" -ge 6 ] && break
    sleep 0.1
done
kill -9 $pid; wait $pid 2>/dev/null
before=$(trials)
check "killed in the middle" test "$before" -ge 6
expect "and continued" 0 "${forge[@]}" --budget 14 --out "$tmp/new" --json
check "faster beyond doubt" json 'p["lo"] > 1.2 and p["verdict"] == "ok"'
check "by its name, and by its axes" json '[w["name"] for w in p["workloads"]] == ["even", "M=101,N=93,K=145,T=float32"] and p["workloads"][0]["workload"] == "M=96,N=128,K=160,T=float32"'
check "the progress says on which kernel" grep -q 'round 1: .*, on the original; expected' "$tmp/err"
check "and so do the moves" json 'moves[0]["on"] == "" and all(m["on"] == ", ".join(k["move"] for k in moves[:i] if k["end"] == "kept") for i, m in enumerate(moves) if m["part"])'
check "on every workload" json 'all(w["lo"] > 1 for w in p["workloads"])'
check "by moves that it names" json 'any(m["part"] and m["end"] == "kept" and m["trial"] for m in moves)'
check "what was answered is not asked again" json "p['trials'] >= 8"
cp "$tmp/out" "$tmp/first"
expect "ceilings that nobody knew when it began" 0 "$ws" roof --quick
expect "nothing but the original" 1 "$ws" forge "$spec" --kernel gemm_naive_opencl --workloads "$tmp/shapes.yaml" --store "$tmp/g.db" --budget 1 --json
cp "$tmp/out" "$tmp/gap"
check "its time over the floor is that of all workloads" python3 -c 'import json, math, sqlite3, sys
p = json.load(open(sys.argv[1]))
text, = sqlite3.connect(sys.argv[2]).execute("select value from value where key = \"forge facts 1\"").fetchone()
floor = [float(l.split()[-1]) for l in text.splitlines() if l.startswith("floor of workload")]
gaps = [w["original_ns"] / f for w, f in zip(p["workloads"], floor)]
sys.exit(not (len(gaps) == 2 and gaps[0] != gaps[1] and
              abs(math.sqrt(gaps[0] * gaps[1]) / p["gap_before"] - 1) < 1e-6))' "$tmp/gap" "$tmp/g.db"
check "the progress has it, too" grep -q ' times the floor\] ' "$tmp/err"
expect "once more: all is on record" 0 "${forge[@]}" --budget 14 --json
check "and ends alike" python3 -c 'import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
key = lambda p: ([(m["move"], m["what"], m["end"], m["ratio"]) for m in p["moves"]], p["speedup"], p["source"])
sys.exit(key(a) != key(b))' "$tmp/first" "$tmp/out"
check "what was learnt is kept, once" test "$(grep -c '^register_tile ' "$tmp/data/moves.txt")" = 1

# --- what comes out --------------------------------------------------------
name=$(basename "$tmp/new/"*_forged.yaml .yaml)
check "source, kernel file, patch, moves" test -s "$tmp/new/gemm_naive.cl" -a -s "$tmp/new/$name.yaml" -a -s "$tmp/new/change.patch" -a -s "$tmp/new/moves.txt"
check "it names the op from where it lies" grep -qF '"../gemm_naive/op.yaml"' "$tmp/new/$name.yaml"
check "its defaults are the config that was measured" python3 -c 'import json, re, sys
config = json.load(open(sys.argv[1]))["config"]
text = open(sys.argv[2]).read()
sys.exit(not all(re.search(r"^  %s: .*\"default\": %s\}" % tuple(kv.split("=")), text, re.M) for kv in config.split(",")))' "$tmp/first" "$tmp/new/$name.yaml"
expect "the kernel file is one" 0 "$ws" check "$tmp/new/$name.yaml" --workload M=33,N=70,K=21
mkdir "$tmp/patched" && cp "$spec/kernels/gemm_naive.cl" "$tmp/patched"
if command -v patch >/dev/null; then
    (cd "$tmp/patched" && patch -s -p1 <"$tmp/new/change.patch")
else
    (cd "$tmp/patched" && git apply "$tmp/new/change.patch")
fi
check "the patch makes the source" cmp -s "$tmp/patched/gemm_naive.cl" "$tmp/new/gemm_naive.cl"
check "comments stay" grep -qF "$(grep -m1 '^//' "$spec/kernels/gemm_naive.cl")" "$tmp/new/gemm_naive.cl"

# --- a model ---------------------------------------------------------------
# A sum that is made eight times; the model answers nonsense, then something
# wrong, then something that does not compile, then what is right and fast.
cp practice/row_sum/kernels/row_sum.cl "$tmp/row_sum/kernels/row_sum.cl"
python3 - "$tmp/row_sum/kernels/row_sum.cl" <<'P'
import sys
s = open(sys.argv[1]).read()
a = s.index("    y[row] = 0.0f;")
s = s[:a] + """    for (int again = 0; again < 8; again++) {
        y[row] = 0.0f;
        for (int col = 0; col < n; col++)
            y[row] += x[row * n + col] * (again < 8);
    }
}
"""
open(sys.argv[1], "w").write(s)
P
cat >"$tmp/agent" <<A
#!/bin/sh
cat >>"$tmp/prompts"
n=\$(cat "$tmp/n" 2>/dev/null || echo 0); n=\$((n + 1)); echo \$n >"$tmp/n"
edit() { printf '<<<<<<< SEARCH\n%s\n=======\n%s\n>>>>>>> REPLACE\n' "\$1" "\$2"; }
case \$n in
1) echo "I would rather not." ;;
2) edit '    for (int again = 0; again < 8; again++) {' '    for (int again = 0; again < 0; again++) {' ;;
3) edit '        y[row] = 0.0f;' '        y[row] = zero;' ;;
4) edit '    for (int again = 0; again < 8; again++) {' '    for (int again = 7; again < 8; again++) {' ;;
*) echo "Nothing comes to mind." ;;
esac
A
chmod +x "$tmp/agent"
printf -- '- {M: 256, N: 512}\n- {M: 101, N: 77}\n' >"$tmp/rows.yaml"
model=("$ws" forge "$tmp/row_sum" --kernel row_sum_opencl --workloads "$tmp/rows.yaml" --seed 2 --budget 16
    --store "$tmp/m.db" --proposer command --model-command "$tmp/agent" --transcript "$tmp/transcript")
expect "a model proposes" 0 "${model[@]}" --json
check "what is right and fast is kept" json 'any(m["move"] == "model" and m["end"] == "kept" and m["lo"] > 1.5 for m in moves)'
check "what is wrong is not" json 'any(m["move"] == "model" and m["end"] == "failed" for m in moves)'
check "tokens are counted" json 'p["tokens"] > 100'
check "it is told what went wrong" grep -q "elements of 'Y' wrong" "$tmp/prompts"
check "and what holds the kernel back" grep -q '^Profile: ' "$tmp/prompts"
asked=$(cat "$tmp/n")
expect "once more" 0 "${model[@]}" --json
check "asks nobody" test "$(cat "$tmp/n")" = "$asked"
cp "$tmp/out" "$tmp/first"
"$ws" forge "$tmp/row_sum" --kernel row_sum_opencl --workloads "$tmp/rows.yaml" --seed 2 --budget 5 \
    --store "$tmp/r.db" --proposer replay --endpoint "$tmp/transcript" --json >"$tmp/out" 2>"$tmp/err"
check "what a transcript does not have ends the asking, not the run" err_has "the model is asked no more"
check "which goes on with the transformations" json 'len(moves) > 0'

# --- an op of the share folder is named by its name, wherever it lies -------
mkdir "$tmp/rms"
cat >"$tmp/rms/rms.yaml" <<'Y'
kernel: rms
op: rmsnorm
dialect: opencl
source: rms.cl
constraints: [{require: T == float32}]
launches:
  - {entry: rms, grid: ["ceil_div(batch_size, 32)"], block: [32], args: [hidden_states, weight, output, {int32: batch_size}, {int32: hidden_size}, {float32: EPS}]}
Y
cat >"$tmp/rms/rms.cl" <<'C'
__kernel void rms(__global const float *x, __global const float *w, __global float *y, int m, int n, float eps)
{
    int row = get_global_id(0);

    if (row >= m)
        return;
    for (int again = 0; again < 8; again++) {
        float sum = eps * n * (again < 8);

        for (int i = 0; i < n; i++)
            sum += x[(size_t)row * n + i] * x[(size_t)row * n + i] * (again < 8);
        for (int i = 0; i < n; i++)
            y[(size_t)row * n + i] = x[(size_t)row * n + i] / sqrt(sum / n) * w[i];
    }
}
C
cat >"$tmp/once" <<'A'
#!/bin/sh
cat >/dev/null
printf '<<<<<<< SEARCH\n%s\n=======\n%s\n>>>>>>> REPLACE\n' '    for (int again = 0; again < 8; again++) {' '    for (int again = 7; again < 8; again++) {'
A
chmod +x "$tmp/once"
printf -- '- {batch_size: 96, hidden_size: 300, T: float32}\n' >"$tmp/rms.shapes.yaml"
expect "a kernel of a shipped op" 0 "$ws" forge "$tmp/rms/rms.yaml" --workloads "$tmp/rms.shapes.yaml" --budget 9 --no-profile --store "$tmp/rms.db" \
    --proposer command --model-command "$tmp/once" --out "$tmp/rms/new"
check "names it by its name" grep -qxE 'op: "?rmsnorm"?' "$tmp/rms/new/rms_forged.yaml"
expect "a program for no proposer" 2 "$ws" forge "$tmp/row_sum" --kernel row_sum_opencl --model-command "$tmp/agent"
check "says what is missing" err_has "--proposer command"
expect "a proposer that is none" 2 "$ws" forge "$tmp/row_sum" --kernel row_sum_opencl --proposer oracle
expect "a program that is none" 2 "$ws" forge "$tmp/row_sum" --kernel row_sum_opencl --proposer command --model-command "$tmp/none"
finish
