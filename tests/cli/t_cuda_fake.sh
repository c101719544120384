#!/usr/bin/env bash
# The tool and CUDA, without a GPU: what it says where something is missing, and
# all of it, from a kernel's text to stored trials, on the driver, compiler and
# NVML of tests/fakecuda, which stand in the place of the real ones.
. tests/tap.sh
fake=${WS_BUILD:-build/gcc}/tests/fakecuda
[ -e "$fake/libcuda.so.1" ] || skip_all "the fake driver was not built ('make fakecuda')"
export WAVESMITH_CACHE=$tmp/cache
echo '- {batch_size: 3, hidden_size: 64, T: float32}' >"$tmp/one.yaml"
found=$(ldconfig -p 2>/dev/null)
on() { LD_LIBRARY_PATH=$fake "$@"; }
says() { # NAME WORDS VARIABLE=VALUE...: why cuda is not usable
    local n=$1 words=$2; shift 2
    expect "$n" 0 env LD_LIBRARY_PATH="$fake" "$@" "$ws" devices
    check "$n: says so" grep -q "^cuda  *not usable: .*$words" "$tmp/out"
}

# --- what is missing -------------------------------------------------------
if [[ $found == *libcuda.so.1* || -e /usr/local/nvidia/lib64/libcuda.so.1 ]]; then
    echo "ok no driver # SKIP: this machine has one"
else
    expect "no driver" 0 env -u LD_LIBRARY_PATH "$ws" devices
    check "the library is named" out_has "libcuda.so.1: cannot open shared object file"
    check "and what to install" out_has "install the NVIDIA driver"
    expect "a device that is not there" 3 env -u LD_LIBRARY_PATH "$ws" check ops/rmsnorm --device cuda:0
    check "the same words" err_has "libcuda.so.1: cannot open shared object file"
fi
says "the toolkit's stub" "CUDA_ERROR_STUB_LIBRARY.*nvidia-smi" FAKECUDA_FAIL='cuInit:*:34'
says "no device" "CUDA_ERROR_NO_DEVICE" FAKECUDA_DEVICES=0
says "kernel module and library differ" "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" FAKECUDA_FAIL='cuInit:*:803'
says "a driver that knows no better" "CUDA_ERROR_UNKNOWN" FAKECUDA_FAIL='cuInit:*:999'
says "no memory for the driver" "CUDA_ERROR_OUT_OF_MEMORY" FAKECUDA_FAIL='cuInit:*:2'
says "a device that does not answer" "ask what the device is" FAKECUDA_FAIL='cuDeviceGetName:1:999'
says "a device that nobody may use" "compute mode 'prohibited'" FAKECUDA_MODE=2
says "a driver older than the compiler" "is of CUDA 12.4, too old for what NVRTC 13.0.*update the driver" FAKECUDA_VERSION=12040
says "half a compiler" "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE.*install the toolkit again" FAKECUDA_FAIL='nvrtcVersion:*:7'
says "a compiler that does not compile" "does not even compile an empty source" FAKECUDA_FAIL='nvrtcCompileProgram:*:6'
mkdir -p "$tmp/alone" "$tmp/blind"
ln -sf "$(realpath "$fake")/libcuda.so.1" "$tmp/alone/"
ln -sf "$(realpath "$fake")/libcuda.so.1" "$(realpath "$fake")/libnvrtc.so.13" "$tmp/blind/"
# A toolkit that is here is covered up, where we may.
hidden() {
    unshare -m bash -c 'for d in /usr/local/cuda*; do
        if [ -d "$d" ] && [ ! -L "$d" ]; then mount -t tmpfs none "$d" || exit 99; fi; done
        exec "$@"' hidden "$@"
}
compgen -G '/usr/local/cuda*' >/dev/null || hidden() { "$@"; }
if grep libnvrtc <<<"$found" | grep -qv /usr/local/cuda || ! hidden true 2>/dev/null; then
    echo "ok no compiler # SKIP: this machine has one that cannot be hidden"
else
    expect "no compiler" 0 hidden env LD_LIBRARY_PATH="$tmp/alone" "$ws" devices
    check "it is named" grep -q "^cuda  *not usable: .*libnvrtc.so.13: cannot open.*CUDA toolkit" "$tmp/out"
fi
if [[ $found == *libnvidia-ml.so.1* || -e /usr/local/nvidia/lib64/libnvidia-ml.so.1 ]]; then
    echo "ok no NVML # SKIP: this machine has it"
else
    expect "no NVML" 0 env LD_LIBRARY_PATH="$tmp/blind" "$ws" devices
    check "the device works, its driver's version is not known" grep -q "^ *driver *CUDA 13.0$" "$tmp/out"
    expect "kernels run" 0 env LD_LIBRARY_PATH="$tmp/blind" "$ws" check ops/rmsnorm --device cuda:0 --workload batch_size=3,hidden_size=64,T=float32
fi
# NVML may be there and fail.
expect "NVML that does not start" 0 env LD_LIBRARY_PATH="$fake" FAKECUDA_FAIL='nvmlInit_v2:*:9' "$ws" devices
check "is no fault" grep -q "^cuda:0 *Fake GPU" "$tmp/out"
expect "the devices" 0 env LD_LIBRARY_PATH="$fake" FAKECUDA_DEVICES=2 "$ws" devices
check "are listed" grep -q "^cuda:1 *Fake GPU" "$tmp/out"
check "with the driver's version" out_has "580.00 (CUDA 13.0)"
check "and the compiler's" out_has "NVRTC 13.0.0"

# --- kernels ---------------------------------------------------------------
command -v gcc >/dev/null && echo 'int x;' | gcc -x c++ -S -o /dev/null - 2>/dev/null || {
    echo "ok kernels # SKIP: no C++ compiler for the fake NVRTC"
    finish
}
# A kernel that hangs takes its limit, 20 s: beside everything else.
robust=$tmp/robust
cp -r tests/gpu/robust "$robust"
sed -i 's/M: 1048576/M: 4096/' "$robust/op.yaml"
python3 - "$robust/kernels/faults.yaml" <<'P'
import re, sys
text = open(sys.argv[1]).read()
text = re.sub(r"values: \[ok0.*?\]", "values: [ok0, wrong, outside, nocompile, address, misaligned, ok1, trap, "
              "assertion, bounds, dynamic, terabyte, hang, ok2]", text, flags=re.S)
text = re.sub(r"values: \[128, 256\]", "values: [128]", text)
text = re.sub(r"constraints:\n.*\n", "constraints: [{prune: FAULT != 'hang'}]\n", text)
open(sys.argv[1], "w").write(text)
P
WAVESMITH_TURNS=$tmp/apart
mkdir -p "$WAVESMITH_TURNS"
on "$ws" check "$robust" --config FAULT=hang --device cuda:0 >"$tmp/hang.out" 2>&1 &
hang=$!
export WAVESMITH_TURNS=$tmp

export FAKECUDA_REPORT=$tmp/left
for o in rmsnorm:batch_size=7,hidden_size=100,T=float16 rmsnorm:batch_size=3,hidden_size=4097,T=bfloat16 \
    gemm:M=33,N=65,K=17,T=float16 gemm:M=1,N=7,K=130,T=float32; do
    expect "shipped ${o%%:*} on ${o#*:}" 0 on "$ws" check "ops/${o%%:*}" --workload "${o#*:}" --device cuda:0
done
expect "shipped gqa_paged_decode" 0 on "$ws" check ops/gqa_paged_decode --workloads ops/gqa_paged_decode/t_shapes.yaml --device cuda:0
for pair in opencl:cuda cuda:opencl; do
    expect "a kernel in ${pair%:*} for ${pair#*:}" 1 on "$ws" check practice/gemm_tiled --kernel "gemm_tiled_${pair%:*}" --device "${pair#*:}"
    check "is not built" out_has "verdict: filtered: kernel 'gemm_tiled_${pair%:*}' is in ${pair%:*}, which ${pair#*:} devices do not take"
done
# Tensor cores and asynchronous copies: right, and wrong without a step that a GPU needs.
cp -r ops/gqa_paged_decode ops/gemm "$tmp/"
decode() {
    on "$ws" check "$1/gqa_paged_decode" --kernel gqa_decode_warps --config "MMA=true,WARPS=4,SPLIT=4,LEAST=32" \
        --device cuda:0 --workload batch_size=3,num_kv_heads=8,num_pages=140,len_indptr=4,num_kv_indices=297,T=float16
}
multiply() {
    on "$ws" check "$1/gemm" --kernel gemm_warps --config BM=32,WM=16,WN=16,GROUP=4 --device cuda:0 \
        --workload M=70,N=90,K=264,T=bfloat16
}
mutant() { # HOW, FILE, WITHOUT WHAT, SED
    sed -E "$4" "ops/$2" >"$tmp/$2"
    check "$3: another text" test "$(cksum <"$tmp/$2")" != "$(cksum <"ops/$2")"
    expect "$3" 1 "$1" "$tmp"
    check "$3: is wrong" out_has "verdict: wrong"
}
cu=gqa_paged_decode/kernels/gqa_decode_warps.cu
expect "decoding by tensor cores" 0 decode ops
mutant decode $cu "no wait for the last copy" 's/"n"\(STAGES - 2\)/"n"(STAGES - 1)/'
mutant decode $cu "no barrier between two uses" '/warp \* \(STAGES/,/__syncthreads/s/__syncthreads\(\);//'
mutant decode $cu "values not transposed" 's/x4\.trans\.shared/x4.shared/'
mutant decode $cu "rounded weights" 's/multiply\(acc\[i\], a, low.*//'
mutant decode $cu "tokens beyond the end" 's/ < n \? x\[i\] \* factor/ < TILE ? x[i] * factor/'
mutant decode $cu "merged by the first block" 's/before_us != slices - 1/before_us != 0/'
cu=gemm/kernels/gemm_warps.cu
expect "a product by tensor cores" 0 multiply ops
mutant multiply $cu "no barrier between tiles" 's/^ {8}__syncthreads\(\);//'
mutant multiply $cu "terms beyond the end" 's/k \+ piece \* 8 < end;/true;/'
mutant multiply $cu "rows of another fragment" 's/lane % 8 \+ lane \/ 16 \* 8/lane % 16/'
cp tests/gpu/forms/{rows.cu,template.yaml,plain.yaml} "$tmp/"
for form in template plain; do
    expect "a $form kernel" 0 on "$ws" check examples/own-op-kernel --kernel "$tmp/$form.yaml" --workload M=4,N=4096 --device cuda:0
done
# Newer than the compiler: what it makes is PTX, which the driver compiles.
expect "a device of tomorrow" 0 env LD_LIBRARY_PATH="$fake" FAKECUDA_CAPABILITY=130 "$ws" check examples/own-op-kernel \
    --kernel "$tmp/template.yaml" --workload M=4,N=4096 --device cuda:0

# --- counters of each candidate ----------------------------------------------
# The shipped op on small ranges: this driver takes a thread for each thread.
cp -r ops/rmsnorm "$tmp/op"
sed -i 's/range: \[1, [0-9]*\]/range: [1, 300]/' "$tmp/op/op.yaml"
cp "$tmp/one.yaml" "$tmp/op/workloads.yaml"
db=$tmp/counted.db
expect "a tune that counts" 0 on "$ws" tune "$tmp/op" --device cuda:0 --budget 4 --seed 1 --counters \
    --workloads "$tmp/one.yaml" --store "$db"
expect "what it counted" 0 "$ws" trials "$db" --list --json
check "each timed trial has some" python3 - "$tmp/out" <<'P'
import json, sys
t = [x for x in json.load(open(sys.argv[1]))["trials"] if x["sample_ns"] and x["effort"] != "confirm"]
assert t and all(x["counters"] and x["counters"][0]["dram_read"] >= 0 for x in t), [x["counters"] for x in t]
P
expect "exported" 0 "$ws" trials "$db" --export "$tmp/counted.jsonl"
expect "and imported" 0 "$ws" trials "$tmp/again.db" --import "$tmp/counted.jsonl"
"$ws" trials "$db" --export "$tmp/1.jsonl" >/dev/null && "$ws" trials "$tmp/again.db" --export "$tmp/2.jsonl" >/dev/null
check "they are the same" test "$(grep -c dram_read "$tmp/1.jsonl")" = "$(grep -c dram_read "$tmp/2.jsonl")"
sed 's/"counters":"dram_read=/"counters":"dram read=/;s/"counters":"time=/"counters":"time /' "$tmp/1.jsonl" >"$tmp/bad.jsonl"
expect "counters that are none are refused" 2 "$ws" trials "$tmp/bad.db" --import "$tmp/bad.jsonl"
check "with the reason" err_has "'counters' is no list"
expect "a card that may not be asked" 0 env LD_LIBRARY_PATH="$fake" FAKECUDA_FAIL="cuptiProfilerInitialize:*:35" "$ws" tune "$tmp/op" \
    --device cuda:0 --budget 2 --seed 1 --counters --workloads "$tmp/one.yaml" --store "$tmp/uncounted.db"
check "says so once" test "$(grep -c "no counters are kept" "$tmp/err")" = 1
expect "a processor counts nothing" 0 "$ws" tune "$tmp/op" --device opencl --budget 2 --seed 1 --counters --workloads "$tmp/one.yaml" \
    --store "$tmp/cpu.db"
check "and says so" err_has "no counters are kept: none are known of this device"

# --- a tune full of faults -------------------------------------------------
db=$tmp/faults.db
expect "a tune of kernels that fail" 0 on "$ws" tune "$robust" --device cuda:0 --strategy grid --budget 100 --seed 1 \
    --store "$db" --json
expect "its trials" 0 "$ws" trials "$db" --export "$tmp/trials.jsonl"
verdicts() { # "fault verdict" of each, once
    python3 -c '
import json, sys
for line in open(sys.argv[1]):
    t = json.loads(line)
    if "verdict" in t:
        print(t["config"].split(",")[0].split("=")[1], t["verdict"])' "$tmp/trials.jsonl" | sort -u
}
verdicts >"$tmp/verdicts"
for v in "ok0 ok" "ok1 ok" "ok2 ok" "wrong wrong" "outside wrong" "nocompile build" "address crash" "misaligned crash" \
    "trap crash" "assertion crash" "bounds launch" "dynamic filtered" "terabyte filtered"; do
    check "verdict: $v" grep -qx "$v" "$tmp/verdicts"
done
check "no other" [ "$(wc -l <"$tmp/verdicts")" = 13 ]
for f in address:ILLEGAL_ADDRESS misaligned:MISALIGNED_ADDRESS trap:LAUNCH_FAILED assertion:ASSERT; do
    expect "check of ${f%%:*}" 1 on "$ws" check "$robust" --config "FAULT=${f%%:*}" --device cuda:0
    check "names the error" grep -q "verdict: crash: .*running 'copy': .*CUDA_ERROR_${f#*:}" "$tmp/out"
done
expect "again: nothing is left to do" 0 on "$ws" tune "$robust" --device cuda:0 --strategy grid --budget 100 --seed 1 --store "$db"
check "all from the store" grep -qE '^([0-9]+) questions answered.*\(\1 from the store\)' "$tmp/out"

# --- memory, clocks, several devices ---------------------------------------
expect "a card without the memory" 1 env LD_LIBRARY_PATH="$fake" FAKECUDA_FAIL=cuMemAlloc_v2:3:2 "$ws" check "$robust" \
    --config FAULT=ok0 --device cuda:0
check "verdict: memory" grep -q "verdict: memory: .*CUDA_ERROR_OUT_OF_MEMORY" "$tmp/out"
expect "a card that is slowed" 0 env LD_LIBRARY_PATH="$fake" FAKECUDA_REASONS=0x4 "$ws" tune "$robust" --device cuda:0 \
    --strategy random --budget 1 --launch graph --store "$tmp/slow.db"
expect "its trials are listed" 0 "$ws" trials "$tmp/slow.db" --slowed
check "as slowed" out_has "ok slowed"
expect "two cards share a tune" 0 env LD_LIBRARY_PATH="$fake" FAKECUDA_DEVICES=2 "$ws" tune "$robust" --device cuda:0 --device cuda:1 \
    --strategy random --budget 8 --seed 3 --store "$tmp/two.db"

# --- the hang, and what was left -------------------------------------------
wait "$hang"
check "a kernel that hangs: exit code 1" [ $? = 1 ]
check "its verdict" grep -q "verdict: hang: .*running 'copy' did not end" "$tmp/hang.out"
check "workers that ended in order" [ -s "$tmp/left" ]
check "left nothing of the driver's" [ -z "$(grep -v ' left:$' "$tmp/left")" ]
finish
