#!/usr/bin/env bash
# The command line: help, exit codes, the JSON error object, every command.
. tests/tap.sh

expect "help" 0 "$ws" --help
check "help lists the exit codes" out_has "Exit codes"
expect "version" 0 "$ws" --version
expect "no command" 2 "$ws"
expect "unknown command" 2 "$ws" frobnicate
for c in devices space check tune bench pick trials profile; do
    expect "$c --help" 0 "$ws" $c --help
    check "$c --help shows usage" out_has "usage: wavesmith $c"
    expect "$c: unknown option" 2 "$ws" $c --no-such-option x
done
for c in space check tune bench pick trials; do expect "$c: no words" 2 "$ws" $c; done
expect "missing file" 2 "$ws" space "$tmp/none.yaml"
check "missing file is named" err_has "none.yaml"
expect "bad time" 2 "$ws" devices --timeout soon
expect "bad budget" 2 "$ws" tune ops/gemm --budget lots
expect "bad launch mode" 2 "$ws" check ops/rmsnorm --launch grap
check "the modes are named" err_has "stream or graph"

# The error object.
printf 'kernel: x\nop: gemm\ndialect: portable\nparamters: {}\n' >"$tmp/bad.yaml"
expect "bad specification" 2 "$ws" space "$tmp/bad.yaml" --json
if command -v python3 >/dev/null; then
    check "error object" python3 - "$tmp/out" <<'PY'
import json, sys
e = json.load(open(sys.argv[1]))["error"]
assert set(e) == {"code", "status", "text", "file", "line", "column", "message", "hint"}, e
assert e["code"].startswith("WS_E") and e["status"] < 0
assert e["file"].endswith("bad.yaml") and e["line"] == 4 and e["column"] >= 1, e
assert "paramters" in e["message"], e
PY
fi

# Input that would hang or take for ever.
mkfifo "$tmp/fifo.yaml"
expect "a FIFO is no specification" 2 timeout 20 "$ws" space "$tmp/fifo.yaml"
{ echo "kernel: x"; seq 60000 | sed 's/.*/k&: 1/'; } >"$tmp/keys.yaml"
expect "too many keys" 2 timeout 20 "$ws" space "$tmp/keys.yaml"
expect "an output that nobody can read is no success" 4 bash -c "'$ws' space ops/gemm --count >&-"
check "and it says so" err_has "standard output"
expect "nor is a full one, however much is written" 4 bash -c "'$ws' space gemm --list --limit 2000 >/dev/full"
expect "closed standard files" 0 bash -c "'$ws' space ops/gemm --count >'$tmp/closed' <&- 2>&-"

# Spaces.
expect "space of the shipped operator" 0 "$ws" space ops/gemm --json
check "space has the key valid" out_has '"valid"'
expect "a sample" 0 "$ws" space ops/gemm/kernels/gemm_tiled.yaml --sample 5 --seed 3
check "five configs" [ "$(wc -l <"$tmp/out")" -eq 5 ]
cp "$tmp/out" "$tmp/first"
expect "the same sample again" 0 "$ws" space ops/gemm/kernels/gemm_tiled.yaml --sample 5 --seed 3
check "same seed, same sample" cmp -s "$tmp/out" "$tmp/first"
expect "a list with a limit" 0 "$ws" space ops/gemm/kernels/gemm_tiled.yaml --list --limit 7
check "seven configs" [ "$(wc -l <"$tmp/out")" -eq 7 ]
expect "space with a shape" 0 "$ws" space ops/gemm/kernels/gemm_tiled.yaml --workload M=1,N=64,K=64
expect "a shape without an axis" 2 "$ws" space ops/gemm/kernels/gemm_tiled.yaml --workload M=1
check "the missing axis is named" err_has "K"

# Packs that are none.
head -c 4096 /dev/urandom >"$tmp/noise.wspack"
expect "pick: foreign file" 2 "$ws" pick "$tmp/noise.wspack" M=1
: >"$tmp/empty.wspack"
expect "pick: empty file" 2 "$ws" pick "$tmp/empty.wspack" M=1
expect "bench: foreign file" 2 "$ws" bench "$tmp/noise.wspack"

# No driver at all.
export OCL_ICD_VENDORS=/nonexistent
expect "devices without a driver" 3 "$ws" devices
check "the package is named" out_has "pocl-opencl-icd"
expect "check without a driver" 3 "$ws" check ops/gemm --workload M=1,N=8,K=8
check "it says what to install" err_has "pocl-opencl-icd"
unset OCL_ICD_VENDORS

if ! have_opencl; then
    echo "ok device commands # SKIP: no OpenCL device"; echo "# SKIP no OpenCL device"; finish
fi
expect "devices" 0 "$ws" devices --json
check "devices has a usable one" out_has '"usable": true'
k=examples/own-kernel/my_gemm.yaml
export WAVESMITH_CACHE=$tmp/cache
expect "check ok" 0 "$ws" check $k --workload M=3,N=33,K=37 --json
check "verdict ok" out_has '"verdict": "ok"'
expect "unknown device" 3 "$ws" check $k --device opencl:77 --workload M=1,N=8,K=8
expect "unknown config value" 2 "$ws" check $k --config BX=3 --workload M=1,N=8,K=8
check "allowed values are named" err_has "16"
sed 's/acc\[c\] = 0.0f/acc[c] = 0.5f/' examples/own-kernel/my_gemm.cl >"$tmp/my_gemm.cl"
cp $k "$tmp/wrong.yaml"
expect "a wrong kernel" 1 "$ws" check "$tmp/wrong.yaml" --workload M=3,N=33,K=37
check "it says wrong" out_has "verdict: wrong"
check "it says where" out_has "worst at ["
tune="tune $k --workloads examples/own-kernel/shapes.yaml --strategy random --seed 5 --store $tmp/s.db --out $tmp/p.wspack"
expect "tune" 0 "$ws" $tune --budget 8
check "it says where the time went" out_has "trials a minute"
check "the table has the shapes" out_has "M=32,N=1024,K=1024"
sed 's/block: \[BX, 1\]/block: [BX, BX * BX * 4]/' $k >"$tmp/big.yaml"
cp examples/own-kernel/my_gemm.cl "$tmp/"
expect "a space of which much does not fit" 0 "$ws" tune "$tmp/big.yaml" --workloads examples/own-kernel/shapes.yaml --strategy random --budget 12 --seed 5 --store "$tmp/f.db"
check "how many were removed and why" out_has "removed by the resource filter before building"
expect "tune again: nothing new is measured" 0 "$ws" $tune --budget 8 --json
check "the steps are there" out_has "\"run_share\""
expect "pick a tuned shape" 0 "$ws" pick "$tmp/p.wspack" M=1 N=1024 K=1024
check "exact" out_has "exact"
expect "pick another shape" 0 "$ws" pick "$tmp/p.wspack" M=7 N=900 K=1111 --json
check "nearest" out_has '"how": "nearest"'
check "the shape it is nearest to" out_has '"tuned_shape"'
expect "pick outside of what was tuned" 1 "$ws" pick "$tmp/p.wspack" M=5000000000 N=1024 K=1024
check "the axis and its range" err_has "M=5000000000 (tuned: 1 to "
check "what widens it" err_has "'ranges'"
expect "pick: an axis twice" 2 "$ws" pick "$tmp/p.wspack" M=7 M=8 N=1 K=1
expect "export json" 0 "$ws" pick "$tmp/p.wspack" --export json
check "with its tables" out_has '"variants"'
expect "export a header" 0 "$ws" pick "$tmp/p.wspack" --export header
check "that a compiler takes" sh -c '{ cat "$1"; echo "int n = WSPACK_AXES;"; } | gcc -std=c11 -Wno-unused -fsyntax-only -x c -' sh "$tmp/out"
expect "export: no format" 2 "$ws" pick "$tmp/p.wspack" --export xml
expect "pick: commas" 0 "$ws" pick "$tmp/p.wspack" M=7,N=900,K=1111
expect "bench a pack at a shape" 0 "$ws" bench "$tmp/p.wspack" --workload M=1,N=1024,K=1024 --json
check "one row" [ "$(grep -c '"workload"' "$tmp/out")" -eq 1 ]
expect "bench a pack at a shape it has no words for" 2 "$ws" bench "$tmp/p.wspack" --workload decode
# A shape at which nothing is right gets no answer.
sed 's/col + c < N)/col + c <= N - (N == 65 ? 0 : 1))/' examples/own-kernel/my_gemm.cl >"$tmp/half.cl"
sed 's/my_gemm.cl/half.cl/' $k >"$tmp/half.yaml"
printf -- '- {M: 3, N: 65, K: 37}\n- {M: 4, N: 256, K: 64}\n' >"$tmp/two.yaml"
expect "a kernel that is wrong at one shape" 0 "$ws" tune "$tmp/half.yaml" --workloads "$tmp/two.yaml" --strategy random --budget 6 --seed 2 --gates few --store "$tmp/h.db" --out "$tmp/h.wspack"
check "nothing right there" grep -qE "nothing right|none confirmed" "$tmp/out"
expect "the pack has no answer there" 1 "$ws" pick "$tmp/h.wspack" M=3 N=65 K=37
expect "and one beside it" 0 "$ws" pick "$tmp/h.wspack" M=3 N=66 K=37
sed 's/dialect: opencl/dialect: cuda/; /^options/d' $k >"$tmp/cuda.yaml"
cp examples/own-kernel/my_gemm.cl "$tmp/my_gemm.cl"
expect "CUDA C on an OpenCL device" 3 "$ws" check "$tmp/cuda.yaml" --workload M=3,N=33,K=37
check "it says which language" grep -q "it takes portable, opencl" "$tmp/err"
expect "nor is it tuned there" 3 "$ws" tune "$tmp/cuda.yaml" --workloads examples/own-kernel/shapes.yaml --budget 2 --store "$tmp/c.db"
check "no trial was made" [ ! -e "$tmp/c.db" ]
expect "pick: missing axis" 2 "$ws" pick "$tmp/p.wspack" M=7
expect "pick: unknown axis" 2 "$ws" pick "$tmp/p.wspack" M=7 N=1 K=1 Q=1
expect "pick: bad value" 2 "$ws" pick "$tmp/p.wspack" M=x N=1 K=1
expect "a pack without a place: said before any work" 2 "$ws" tune $k --budget 4 --store "$tmp/s.db" --out "$tmp/none/x.wspack"
check "nothing was measured" [ ! -s "$tmp/out" ]
sed 's/acc\[c\] = 0.0f/acc[c] = 0.0f \/ (float)(M - M)/' examples/own-kernel/my_gemm.cl >"$tmp/my_gemm.cl"
expect "a kernel that writes NaN" 1 "$ws" check "$tmp/wrong.yaml" --workload M=3,N=33,K=37 --json
if command -v python3 >/dev/null; then
    check "its JSON is valid" python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["errors"]["nan"] > 0' "$tmp/out"
fi
expect "a tune where nothing is right" 1 "$ws" tune "$tmp/wrong.yaml" --workloads examples/own-kernel/shapes.yaml --budget 2 --store "$tmp/n.db" --out "$tmp/n.wspack"
check "it says why" out_has "failures (the first of each workload"
check "and writes no pack" [ ! -e "$tmp/n.wspack" ]
expect "again, from the store" 1 "$ws" tune "$tmp/wrong.yaml" --workloads examples/own-kernel/shapes.yaml --budget 2 --store "$tmp/n.db"
check "it still says why" out_has "failures (the first of each workload"
expect "the shipped operator by its name" 0 "$ws" space gemm --count
expect "space with a device" 0 "$ws" space gemm --workload M=1,N=64,K=64 --device "$("$ws" devices | awk '/^opencl:/ {print $1; exit}')" --json
check "all constraints are applied" bash -c "! grep -q '\"applied\": false' $tmp/out"
check "a list whose reader goes away ends quietly" bash -c "'$ws' space gemm --list 2>$tmp/err | head -n 1 >/dev/null; [ ! -s $tmp/err ]"
head -c 200 "$tmp/p.wspack" >"$tmp/cut.wspack"
expect "pick: truncated pack" 2 "$ws" pick "$tmp/cut.wspack" M=1 N=1 K=1
expect "bench two configs" 0 "$ws" bench $k --workload M=8,N=512,K=512 --config UNROLL=8 --json
check "bench has a ratio" out_has '"ratio_lo"'
expect "bench a pack" 0 "$ws" bench "$tmp/p.wspack"
expect "time-out" 4 "$ws" tune $k --workloads examples/own-kernel/shapes.yaml --seed 9 --budget 5000 --store "$tmp/t.db" --out "$tmp/t.wspack" --timeout 6s
check "a stopped tune leaves a pack" [ -s "$tmp/t.wspack" ]
mkdir "$tmp/ro" && chmod 555 "$tmp/ro"
if [ "$(id -u)" -ne 0 ]; then
    expect "unwritable store" 3 "$ws" tune $k --store "$tmp/ro/x/s.db" --budget 1
fi
# What is there and was not written by the command is not replaced.
cp -r tests/data/timed "$tmp/timed"
timed() { "$ws" tune "$tmp/timed" --device isolate:null:0 --budget 3 --store "$tmp/o.db" "$@"; }
expect "a small tune" 0 timed
for there in "$tmp/o.db" "$tmp/timed/op.yaml" "$tmp/o.db-wal"; do
    [ -e "$there" ] && cp "$there" "$tmp/kept"
    expect "a pack over $(basename "$there")" 2 timed --out "$there"
    [ -e "$there" ] && check "it is as it was" cmp -s "$there" "$tmp/kept"
done
expect "a pack without a name" 2 timed --out ""
expect "a pack over an older one" 0 timed --out "$tmp/o.wspack"
expect "again" 0 timed --out "$tmp/o.wspack"
expect "an export over the store" 2 "$ws" trials "$tmp/o.db" --export "$tmp/o.db"
expect "an export over a specification" 2 "$ws" trials "$tmp/o.db" --export "$tmp/timed/op.yaml"
expect "the store is whole" 0 "$ws" trials "$tmp/o.db" --verify
expect "an export over an older one" 0 "$ws" trials "$tmp/o.db" --export "$tmp/o.jsonl"
expect "again" 0 "$ws" trials "$tmp/o.db" --export "$tmp/o.jsonl"
mkfifo "$tmp/pipe.db"
expect "a pipe is no store" 2 timeout 10 "$ws" trials "$tmp/pipe.db"
expect "nor a recording" 2 timeout 10 "$ws" tune "$tmp/timed" --recordings "$tmp/pipe.db" --store "$tmp/p.db"
expect "nor to be written" 2 timeout 10 "$ws" tune "$tmp/timed" --device isolate:null:0 --budget 1 --store "$tmp/pipe.db"
"$ws" tune "$tmp/timed" --device isolate:null:0 --budget 3 --store "$tmp/o.db" --json >/dev/full 2>"$tmp/err"
check "a result that cannot be written: exit code 4" [ $? -eq 4 ]
cpu=$("$ws" devices | awk '/^opencl:/ {print $1; exit}')
expect "one device twice" 2 "$ws" tune $k --workloads examples/own-kernel/shapes.yaml --store "$tmp/d.db" --budget 1 --device "$cpu" --device "$cpu"
check "it says so" grep -q "same hardware" "$tmp/err"
expect "devices that differ" 2 "$ws" tune $k --workloads examples/own-kernel/shapes.yaml --store "$tmp/d.db" --budget 1 --device null:0 --device null:1
check "a tune for each" grep -q "run a tune for each" "$tmp/err"
expect "store path is a folder" 3 "$ws" tune $k --workloads examples/own-kernel/shapes.yaml --store "$tmp" --budget 1
finish
