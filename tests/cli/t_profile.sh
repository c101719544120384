#!/usr/bin/env bash
# profile: without counters on the OpenCL CPU device; on the pretended GPU with
# a file of ncu, and with ceilings and instructions that are made up; which
# config it takes; and what it refuses.
. tests/tap.sh
export WAVESMITH_DATA=$tmp/data WAVESMITH_CACHE=$tmp/cache
json() { # the document in $tmp/out, as p, fulfils a condition
    python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2], {"p": p, "f": {f["rule"]: f for f in p["findings"]}}) else 1)' "$tmp/out" "$1"
}
expect "profile --help" 0 "$ws" profile --help
check "shows usage" out_has "usage: wavesmith profile"
expect "a set that is none" 2 "$ws" profile rmsnorm --set some
check "says which there are" err_has "'one' (pass), 'full' or 'none'"
expect "a mode of ncu that is none" 2 "$ws" profile rmsnorm --ncu-cache hot
command -v python3 >/dev/null || { echo "# SKIP the rest: no python3"; finish; }

# --- the pretended GPU -----------------------------------------------------
fake=$(realpath "${WS_BUILD:-build/gcc}/tests/fakecuda" 2>/dev/null)
gpu=("$ws" profile rmsnorm --workload batch_size=7,hidden_size=100,T=float32 --device cuda:0)
on_gpu() {
    expect "the pretended GPU" 0 "${gpu[@]}" --set none --json
    check "nobody asked for counters" json 'p["counters_from"] == "none" and "nobody asked" in p["counters_note"]'
    # A file as of ncu for this launch: after another one, and one of a check.
    python3 - "$tmp/out" "$tmp" <<'P'
import json, sys
p, tmp = json.load(open(sys.argv[1])), sys.argv[2]
l = p["launches"][0]
size = lambda v: '"(%d, %d, %d)"' % tuple(v)
def row(name, grid, block, *v):
    return ",".join(['"0"', '"void %s(float *, int)"' % name, size(grid), size(block), '"9.0"', *('"%s"' % x for x in v)])
head = ['"ID","Kernel Name","Grid Size","Block Size","CC","gpu__time_duration.sum","dram__bytes_write.sum",'
        '"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"', '"","","","","","us","Kbyte","%"']
mine = row(l["entry"], l["grid"], l["block"], "12.5", "1,024.5", "n/a")
rows = [row("other", (1, 1, 1), (32, 1, 1), 1, 1, 1), row(l["entry"], l["grid"], l["block"], 1, 1, 1), mine]
bigger = row(l["entry"], (l["grid"][0] + 1, 1, 1), l["block"], 1, 1, 1)
def put(name, *lines):
    open(tmp + "/" + name, "w").write("==PROF== Connected to process 1\n" + "\n".join(lines) + "\n")
put("ncu.csv", *head, *rows)
put("cut.csv", *head, mine[:-9])
put("other.csv", *head, rows[0])
put("bigger.csv", *head, rows[0], bigger)
P
    expect "counters of ncu" 0 "${gpu[@]}" --json --ncu "$tmp/ncu.csv" --ncu-cache all
    check "are those of the last run" json 'p["launches"][0]["counters"]["dram_write"] == 1024500'
    check "and say where they are from" json 'p["counters_from"] == "ncu" and "cache control all" in p["counters_note"]'
    check "a missing one is none" json 'p["launches"][0]["counters"]["tensor_pct"] is None and "waste" not in p["facts"]'
    check "their duration is no time" json 'p["time_ns"] != 12500'
    check "suggestions name the metric as it is" json \
        'all({"metric", "counter", "unit", "now"} <= set(m) for x in p["findings"] for m in x["suggestions"])'
    expect "a file that is cut" 2 "${gpu[@]}" --ncu "$tmp/cut.csv"
    check "names file and line" err_has "cut.csv:4"
    expect "a file of another kernel" 2 "${gpu[@]}" --ncu "$tmp/other.csv"
    check "says what to record" err_has "-k 'regex:^(rmsnorm)$'"
    expect "a file of another shape" 2 "${gpu[@]}" --ncu "$tmp/bigger.csv"
    check "says so" err_has "bigger.csv:5"
    expect "a file that is not there" 2 "${gpu[@]}" --ncu "$tmp/none.csv"

    expect "no disassembler" 0 env PATH=/usr/bin:/bin "${gpu[@]}" --json
    [ -e /usr/bin/nvdisasm ] || [ -e /usr/local/cuda/bin/nvdisasm ] || check "instructions are missing, and why" json \
        'p["resources"]["instructions"] is None and p["resources"]["instructions_missing"]'
    mkdir "$tmp/tools"
    printf '#!/bin/sh\necho ".text.x:"\necho " /*0000*/ DFMA R2, R2, R4, R6 ;"\n' >"$tmp/tools/nvdisasm"
    chmod +x "$tmp/tools/nvdisasm"
    expect "a disassembler" 0 env PATH="$tmp/tools:/usr/bin:/bin" "${gpu[@]}" --json
    check "is asked" json 'p["resources"]["instructions"]["fp64"] == 1 and p["resources"]["instructions_missing"] is None'
    printf '#!/bin/sh\necho "what is that?"\nexit 3\n' >"$tmp/tools/nvdisasm"
    expect "one that fails" 0 env PATH="$tmp/tools:/usr/bin:/bin" "${gpu[@]}" --json
    check "is quoted" json '"what is that?" in p["resources"]["instructions_missing"]'
}
if [ -e "$fake/libcuda.so.1" ]; then
    LD_LIBRARY_PATH=$fake on_gpu
else
    echo "ok the pretended GPU # SKIP: it was not built ('make fakecuda')"
fi

# --- no counters -----------------------------------------------------------
have_opencl || { echo "# SKIP the rest: no OpenCL device"; finish; }
w=M=16,N=64,K=64
expect "no counters" 0 "$ws" profile gemm --workload $w
check "a verdict" grep -q '^verdict: ok' "$tmp/out"
check "a time" grep -q '^time: .* (95 %: ' "$tmp/out"
check "says that there are none" out_has "counters: none: "
check "no sheet, no ceiling" out_has "no ceiling known"
check "what nobody could look at is one line a reason" test "$(grep -c '^not looked at without counters:' "$tmp/out")" = 1
check "and says how to get ceilings" out_has "none was measured on this device with this driver ('wavesmith roof' does)"
expect "as JSON" 0 "$ws" profile gemm --workload $w --config BM=16 --json
check "a config that was given" json 'p["config_from"] == "given" and "BM=16" in p["config"]'
check "time within its bounds" json 'p["time_lo_ns"] <= p["time_ns"] <= p["time_hi_ns"]'
check "the floor's bytes" json 'p["floor"]["bytes"] == 4 * (16*64 + 64*64 + 16*64)'
check "no ceiling, so no floor and no gap" json 'p["floor"]["ns"] is None and p["gap"] is None'
check "nor whence" json 'p["floor"]["bytes_from"] == "unknown" and p["passes"] is None'
check "no counter is 0 for want of one" json \
    'all(not l["counters"] for l in p["launches"]) and "waste" not in p["facts"] and p["facts"]["waves"] > 0'
check "rules without their facts are listed" json \
    '{"rule": "dram", "missing": "dram_busy", "needs": "counters"} in p["not_looked_at"]'
check "registers that nobody counts are not 0" json \
    'p["resources"]["registers"] is None and p["launches"][0]["registers"] is None'
check "when ceilings were measured: never" json 'p["floor"]["measured_ns"] is None'
check "and none of them fired" json 'not set(f) & {b["rule"] for b in p["not_looked_at"]}'
check "findings have evidence" json 'all(x["bound"] and x["evidence"] for x in p["findings"])'
check "bound to source and binary" json 'len(p["candidate"]) == 32 and len(p["binary"]) == 32'
check "and to a cache mode" json 'p["cache"] in ("cold", "warm")'
check "grid and block" json 'p["launches"][0]["grid"][0] > 0 and p["launches"][0]["block"][0] > 0'
check "another size" json 'p["scaled"]["value"] > 0 and 0 <= p["scaled"]["fixed_ns"] <= p["time_ns"]'
expect "a size that cannot be halved" 0 "$ws" profile gemm --workload M=1,N=3,K=2 --json
check "is doubled" json 'p["scaled"]["value"] == 2 * {"M": 1, "N": 3, "K": 2}[p["scaled"]["axis"]]'
expect "counters of a GPU for a processor" 2 "$ws" profile gemm --workload $w --ncu tests/data/ncu/wgmma.csv
check "are refused" err_has "no counters are known of this device"
expect "a workload that is none" 2 "$ws" profile gemm --workload M=x
expect "a config that is none" 2 "$ws" profile gemm --config NO=1
expect "a device that is none" 3 "$ws" profile gemm --device opencl:77

# A kernel that is wrong is a result: exit code 1, a verdict, and no diagnosis.
mkdir -p "$tmp/own" "$tmp/bad"
cp examples/own-kernel/* "$tmp/own"
cp examples/own-kernel/* "$tmp/bad"
sed -i 's/acc\[c\] += /acc[c] -= /' "$tmp/bad/my_gemm.cl"
if cmp -s "$tmp/bad/my_gemm.cl" "$tmp/own/my_gemm.cl"; then not_ok "the example was made wrong"; fi
expect "a wrong kernel" 1 "$ws" profile "$tmp/bad/my_gemm.yaml" --workload $w --json
check "has a verdict" json 'p["verdict"] == "wrong" and p["reason"]'
check "and no time, gap or finding" json 'p["time_ns"] is None and p["gap"] is None and not f'

# --- which config: the best of the project's store if none is given ---------
own=("$ws" profile "$tmp/own/my_gemm.yaml" --workload $w --json)
expect "without a store" 0 "${own[@]}"
check "the default" json 'p["config_from"] == "default"'
echo '- {name: one, M: 16, N: 64, K: 64, T: float32}' >"$tmp/shapes.yaml"
expect "a tune" 0 "$ws" tune "$tmp/own/my_gemm.yaml" --workloads "$tmp/shapes.yaml" --budget 3
expect "with a store" 0 "${own[@]}"
check "its best" json 'p["config_from"] == "best"'
expect "but a config that is given counts more" 0 "${own[@]}" --config BX=2
check "as it is" json 'p["config_from"] == "given" and "BX=2" in p["config"]'
echo "/* another source */" >>"$tmp/own/my_gemm.cl"
expect "a changed source" 0 "${own[@]}"
check "nothing is known of it" json 'p["config_from"] == "default"'
echo nonsense >"$tmp/own/.wavesmith/store.db"
expect "a store that is none does not stop it" 0 "${own[@]}"
check "and has nothing to say" json 'p["config_from"] == "default"'
finish
