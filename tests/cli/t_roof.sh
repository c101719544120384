#!/usr/bin/env bash
# wavesmith roof: measured on the OpenCL device, kept, shown, not used for
# another driver, refused when damaged; on the null device nothing is known.
. tests/tap.sh
export WAVESMITH_DATA=$tmp/data
files() { find "$WAVESMITH_DATA" -name '*.json' 2>/dev/null; }
# value KEY: of the first ceiling with that name in $tmp/out (JSON).
value() { grep -A6 "\"ceiling\": \"$1\"" "$tmp/out" | sed -n 's/^ *"value": \(.*\),$/\1/p' | head -n 1; }
above_0() { awk -v v="$1" 'BEGIN {exit !(v + 0 > 0)}'; }

expect "no options that contradict each other" 2 "$ws" roof --quick --show
expect "nothing is kept yet" 2 "$ws" roof --device null --show
check "and it says what to do" err_has "run 'wavesmith roof'"
expect "the null device runs no kernel of ours" 0 "$ws" roof --device null --quick
check "so that nothing is known" out_has "unknown"
check "of matrix units either" out_has "CUDA only"
expect "there is a file, too" 0 "$ws" roof --device null --show
expect "a device that is not there" 3 "$ws" roof --device cuda:77
rm -rf "$WAVESMITH_DATA"

# The pretended driver runs CUDA C, but no instructions of a real GPU.
fake=$(realpath "${WS_BUILD:-build/gcc}/tests/fakecuda" 2>/dev/null)
if [ -e "$fake/libcuda.so.1" ]; then
    expect "the pretended GPU is measured" 0 env LD_LIBRARY_PATH="$fake" WAVESMITH_CACHE="$tmp/cache" \
        FAKECUDA_CAPABILITY=75 "$ws" roof --device cuda:0 --quick --json
    for c in copy read write shared fp32 fp64 launch; do
        check "cuda: $c is known" above_0 "$(value "$c")"
    done
    check "cuda: what does not build is unknown" test "$(value l2)" = null
    check "cuda: what it does not have, too" out_has "compute capability 7.5 has no such unit"
fi
rm -rf "$WAVESMITH_DATA"

have_opencl || { echo "# no OpenCL device: the rest is left out"; finish; }
expect "the OpenCL device is measured" 0 "$ws" roof --device opencl --quick --json
for c in copy read write shared fp32 launch; do
    check "$c is known" above_0 "$(value "$c")"
done
check "matrix units are unknown" test "$(value tensor_bf16)" = null
check "with a reason" out_has '"why": "matrix units are reached through CUDA only"'
cp "$tmp/out" "$tmp/measured"
check "one file is kept" test "$(files | wc -l)" -eq 1
expect "what is kept is shown" 0 "$ws" roof --device opencl --show --json
check "the same" test "$(value copy)" = "$(grep -A6 '"ceiling": "copy"' "$tmp/measured" | sed -n 's/^ *"value": \(.*\),$/\1/p')"
expect "as text" 0 "$ws" roof --device opencl --show
check "with units" out_has "B/s"

expect "the diagnosis takes it" 0 "$ws" profile rmsnorm --device opencl --workload batch_size=8,hidden_size=512 --json
check "and says so" out_has '"bytes_from": "measured"'

check "it is marked as measured in a hurry" grep -q '"quick": true' "$(files)"

# What was measured in a hurry tells no time from one that is too fast; other
# ceilings do: of units that are said to be thousands of times slower than here.
slow() { # QUICK
    python3 - "$(files)" "$1" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
for unit in ("fp32", "fp64"):
    d["ceilings"][unit].update(value=2e6, lo=2e6, hi=2e6)
d.pop("quick", None)
if sys.argv[2] == "quick":
    d["quick"] = True
json.dump(d, open(sys.argv[1], "w"))
P
}
cp "$(files)" "$tmp/kept"
slow quick
expect "a hurried ceiling decides nothing" 0 "$ws" check gemm --device opencl --workload M=64,N=64,K=64,T=float32 --all-gates --seed 1
slow no
expect "another one does" 1 "$ws" check gemm --device opencl --workload M=64,N=64,K=64,T=float32 --all-gates --seed 1
check "the time is too fast" out_has "verdict: too_fast"
check "and what may be wrong is said" out_has "measure them again"
cp "$tmp/kept" "$(files)"

file=$(files)
sed -i 's/"lo": [0-9.e+]*/"lo": 1e30/' "$file"
expect "a damaged file is refused" 2 "$ws" roof --device opencl --show
check "with its place" err_has "$(basename "$file"):12"
check "and what to do" err_has "makes it again"
other=$(dirname "$file")/$(basename "$file" | sed 's/-[0-9a-f]\{16\}\.json/-0123456789abcdef.json/')
mv "$file" "$other"
expect "another driver's is not used" 2 "$ws" roof --device opencl --show
check "and that is said" err_has "another driver or compiler"
finish
