#!/usr/bin/env bash
# Definitions and workloads of flashinfer-bench on the command line: a small
# Definition of our own from check to pack, then the samples of the data folder
# (set WS_DATA), with real page tables, and a reference in Python.
. tests/tap.sh

cat >"$tmp/d.json" <<'JSON'
{"name": "gemm_n64_k96", "op_type": "gemm", "tags": ["x:y"],
 "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 64}, "K": {"type": "const", "value": 96}},
 "inputs": {"A": {"shape": ["M", "K"], "dtype": "float32"}, "B": {"shape": ["N", "K"], "dtype": "float32"}},
 "outputs": {"C": {"shape": ["M", "N"], "dtype": "float32"}},
 "reference": "import torch\n\ndef run(A, B):\n    return torch.matmul(A, B.T)\n"}
JSON
line() { echo "{\"solution\": null, \"workload\": {\"inputs\": {\"A\": {\"type\": \"random\"}, \"B\": {\"type\": \"random\"}}, \"uuid\": \"$1\", \"axes\": {\"M\": $2}}, \"definition\": \"${3:-gemm_n64_k96}\"}"; }
{ line u-1 3; line u-2 40; } >"$tmp/w.jsonl"
{ line u-1 3; line u-2 40 gemm_n1_k1; } >"$tmp/other.jsonl"
line u-1 3 >"$tmp/one.jsonl"
sed 's/gemm_n64_k96/gemm/' "$tmp/d.json" >"$tmp/nobody.json"
cat >"$tmp/own.yaml" <<'YAML'
kernel: own
dialect: opencl
source: own.cl
parameters: {W: [1, 4]}
launches: [{entry: own, grid: ["ceil_div(M, W)"], block: [N], args: [A, B, C, {int32: M}]}]
YAML
cat >"$tmp/own.cl" <<'CL'
kernel void own(global const float *a, global const float *b, global float *c, int m)
{
    int n = get_local_id(0);
    for (int r = get_group_id(0) * W; r < (get_group_id(0) + 1) * W && r < m; r++) {
        float s = 0;
        for (int k = 0; k < K; k++)
            s += a[r * K + k] * b[n * K + k];
        c[r * N + n] = s;
    }
}
CL
cd "$tmp" && case $ws in /*) ;; *) ws=$OLDPWD/$ws ;; esac
main=$OLDPWD
data=${WS_DATA:-$main/../shared/data}/flashinfer-trace-samples
export WAVESMITH_SHARE=${WAVESMITH_SHARE:-$main}
export WAVESMITH_CACHE=$tmp/cache

expect "space: the kernels of the shipped operator" 0 "$ws" space d.json --count
check "its name" out_has "gemm_tiled"
expect "space: a kernel file" 0 "$ws" space d.json --kernel ./own.yaml --json
check "two configs" out_has '"valid": 2'
expect "space: a workload by its uuid" 0 "$ws" space d.json --workloads w.jsonl --workload u-2 --count
expect "lines of another Definition" 2 "$ws" space d.json --workloads other.jsonl
check "the line is named" err_has "other.jsonl:2:"
expect "a kernel file for a kernel" 2 "$ws" space own.yaml --kernel ./own.yaml
expect "a name is no file for tune" 2 "$ws" tune d.json --kernel own
check "it says so" err_has "is no kernel file"
expect "a Definition nobody computes has no kernels" 2 "$ws" check nobody.json --workload M=3
check "what to give" err_has "--kernel FILE"
expect "nor a space" 2 "$ws" space nobody.json
check "what to give, too" err_has "--kernel FILE"
expect "a Definition has no workloads" 2 "$ws" check d.json --kernel ./own.yaml
check "what to name" err_has "--workloads FILE"

if ! have_opencl; then
    echo "ok device commands # SKIP: no OpenCL device"; echo "# SKIP no OpenCL device"; finish
fi
expect "check: a shipped kernel" 0 "$ws" check d.json --workloads w.jsonl
check "the Definition's shape" out_has "M=3,T=float32"
expect "check: a kernel of one's own" 0 "$ws" check d.json --kernel own.yaml --workload M=7
sed 's/k < K/k < K - 1/' own.cl >wrong.cl
sed 's/own.cl/wrong.cl/' own.yaml >wrong.yaml
expect "check: a wrong one" 1 "$ws" check d.json --kernel wrong.yaml --workload M=7
check "in the Definition's names" out_has "of 'C' wrong"
expect "Python does not run unasked" 3 "$ws" check nobody.json --kernel own.yaml --workload M=3
check "it says how to let it" err_has "--trust-python"
expect "tune both" 0 "$ws" tune d.json --kernel own.yaml --kernel "$main/ops/gemm/kernels/gemm_tiled.yaml" --workloads one.jsonl --budget 3 --out p.wspack
check "the project lies here" [ -s .wavesmith/store.db ]
expect "pick in the Definition's axes" 0 "$ws" pick p.wspack M=3
check "exact" out_has "exact"
expect "the pack carries all it needs" 0 "$ws" bench p.wspack --workload M=4
expect "bench: a kernel file" 0 "$ws" bench d.json --kernel own.yaml --workload M=40 --config W=4

torch() { "${WAVESMITH_PYTHON:-python3}" -c 'import torch' 2>/dev/null; }
torch || ! [ -x /usr/bin/python3 ] || export WAVESMITH_PYTHON=/usr/bin/python3
if torch; then
    expect "a reference in Python" 0 "$ws" check nobody.json --kernel own.yaml --workload M=3 --trust-python
    expect "a wrong kernel against it" 1 "$ws" check nobody.json --kernel wrong.yaml --workload M=3 --trust-python
else
    echo "# SKIP the reference in Python: no torch"
fi

if ! [ -d "$data/flashinfer-trace" ]; then
    echo "ok samples # SKIP: no data"; echo "# SKIP no $data"; finish
fi
d=$data/flashinfer-trace/definitions w=$data/flashinfer-trace/workloads
for n in rmsnorm/rmsnorm_h128 gemm/gemm_n256_k7168; do
    expect "$n" 0 "$ws" check "$d/$n.json" --workloads "$w/$n.jsonl"
done
expect "rmsnorm_h4096 and a kernel file" 0 "$ws" check "$d/rmsnorm/rmsnorm_h4096.json" --kernel "$main/ops/rmsnorm/kernels/rmsnorm_rows.yaml" --workloads "$w/rmsnorm/rmsnorm_h4096.jsonl"
expect "no file of pages and no generator" 2 "$ws" space "$d/mla_paged/mla_paged_decode_h16_ckv512_kpe64_ps1.json" --workloads "$w/mla_paged/mla_paged_decode_h16_ckv512_kpe64_ps1.jsonl"
check "the file is named" err_has ".safetensors'"
if [ -f "$main/ops/gqa_paged_decode/op.yaml" ]; then
    gqa=gqa_paged_decode_h32_kv8_d128_ps1
    for u in 934db123-5b56-5719-8ed1-23e62c3a281b afea6f39-9c30-5011-b07c-a8e798b88344 a0052951-5959-55d0-b70d-0880575e17d7; do
        expect "a real page table: $u" 0 "$ws" check "$d/gqa_paged/$gqa.json" --workloads "$data/kv_meta_blobs/derived_workloads.jsonl" --workload $u
        check "nothing is made up" [ ! -s "$tmp/err" ]
    done
    expect "a page table that is not there" 0 "$ws" check "$d/gqa_paged/$gqa.json" --workloads "$w/gqa_paged/$gqa.jsonl"
    check "a warning" err_has "the op's own generator fills"
fi
finish
