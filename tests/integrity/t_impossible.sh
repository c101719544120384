#!/usr/bin/env bash
# Cheats that need something a candidate does not have. Each block names the
# rows of docs/integrity.md and tries to have it all the same.
. tests/tap.sh
have_opencl || skip_all "no OpenCL device"
export WAVESMITH_CACHE=$tmp/cache WAVESMITH_SHARE=$PWD
mkdir -p "$tmp/a" "$tmp/ops"
cp -r tests/integrity/ops/affine "$tmp/ops/"
run='__kernel void run(__global const float *x, __global const float *w, __global const float *b, __global float *y, int m, int n)'
good='{ int i = get_global_id(0); if (i < m * n) y[i] = x[i] * w[i % n] + b[i % n]; }'
args='args: [X, W, B, Y, {int32: M}, {int32: N}]'
# kernel SOURCE [LINES [LAUNCH-KEYS]]: $tmp/a/k.yaml
kernel() {
    printf '%s\n' "$1" >"$tmp/a/k.cl"
    printf '%s\n' "kernel: k" "op: ../ops/affine" "dialect: opencl" "source: k.cl" ${2:+"$2"} "launches:" \
        "  - {entry: run, grid: [\"ceil_div(M * N, 64)\"], block: [64], ${3:+$3, }$args}" >"$tmp/a/k.yaml"
}
judged() { local n=$1 rc=$2; shift 2; expect "$n" "$rc" "$ws" check "$tmp/a/k.yaml" --device opencl:0 "$@"; }
kernel "$run $good"
judged "an honest kernel, to begin with" 0

# T1, T2, T6: another stream, work that ends later, empty replays. There is no
# host code, and a kernel starts no kernel.
kernel "$run { if (get_global_id(0) == 0) enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ y[0] = 1; }); }" \
    'options: [-cl-std=CL2.0]'
judged "a kernel starts no kernel" 1
check "it does not build" out_has "verdict: build"
kernel "$run $good" '' 'stream: 1'
judged "a launch has no stream" 2
check "and is told so" err_has "'stream'"

# T3: timers. Host code would not be called: there is no entry for it, and the
# functions of a system are not there.
kernel "int clock_gettime(int, void *); $run { $good if (m < 0) clock_gettime(0, (void *)0); }"
judged "no clock of the system" 1
check "it is no symbol" out_has "verdict: build"

# T4: what is set up once, outside of the time: no launch is.
for key in setup once untimed; do
    kernel "$run $good" '' "$key: true"
    judged "a launch is never '$key'" 2
    check "the key is named" err_has "'$key'"
done

# B1, B2, B3: a library, a decoy beside the real work, a part that does not
# matter: only launches of the plan run, all of them, and of the candidate's
# module; the time is that of all.
kernel "void cblas_sgemm(int, int); $run { $good if (m < 0) cblas_sgemm(1, 2); }"
judged "no library is linked" 1
check "its function is named" out_has "cblas_sgemm"
kernel "$run $good __kernel void other(__global float *y) { y[get_global_id(0)] = 7; }"
judged "what the plan does not launch does not run" 0
kernel "__kernel void walk(__global float *y) { y[0] = 7; }"
judged "what the plan launches has to be there" 1
check "it is named" out_has "run"

# B4: blobs and files: what is included lies in the kernel's folder.
echo '1' >"$tmp/outside.h"
for i in '"../outside.h"' "\"$tmp/outside.h\"" '"/etc/passwd"' '</etc/passwd>' '<stdio.h>'; do
    kernel "#include $i
$run $good"
    judged "no include of $i" 2
done
ln -sf ../outside.h "$tmp/a/link.h"
kernel "#include \"link.h\"
$run $good"
judged "nor through a link" 2
check "it is told why" err_has "outside of"
kernel "#embed \"k.cl\"
$run $good"
judged "no embedded file" 2

# B5: other flags than the baseline's: those of the list, the same for each
# config of a kernel.
for o in -I/etc -DFAST=1 -w -O0 '"-cl-std=CL2.0 -I/"' '"-cl-std={V}"'; do
    kernel "$run $good" "options: [$o]"
    judged "no option $o" 2
    check "it is named" err_has "is not allowed"
done

# E1, E2: files, and the seed. What a kernel can do to the system is tried in
# src/measure/t_hostile.c. The seed comes after compilation, and no process that
# runs a candidate was ever told it.
seeds() { sed -n 's/^ *"input_seed": \([0-9]*\),*$/\1/p' "$tmp/out"; }
kernel "$run $good"
judged "one kernel" 0 --seed 918273645 --json
one=$(seeds)
judged "the same again" 0 --seed 918273645 --json
check "has the same inputs" [ "$(seeds)" = "$one" ]
kernel "$run { int i = get_global_id(0); if (i < m * n) y[i] = b[i % n] + x[i] * w[i % n]; }"
judged "another kernel" 0 --seed 918273645 --json
check "has others" [ -n "$one" -a "$(seeds)" != "$one" ]
# Zeros it is only built on.
kernel "$run { $good while (w[0] != 0 && ((volatile __global const float *)x)[0] == x[0]) y[0] = y[0]; }"
"$ws" check "$tmp/a/k.yaml" --device opencl:0 --seed 918273645 --run-limit 4s --json >"$tmp/out" 2>&1 &
tool=$!
looked=0 told=0
for _ in $(seq 60); do
    # shellcheck disable=SC2013
    for p in $(cat /proc/$tool/task/*/children 2>/dev/null); do
        tr '\0' '\n' <"/proc/$p/environ" >"$tmp/world" 2>/dev/null
        tr '\0' '\n' <"/proc/$p/cmdline" >>"$tmp/world" 2>/dev/null
        [ -s "$tmp/world" ] && looked=$((looked + 1))
        grep -q 918273645 "$tmp/world" && told=$((told + 1))
        cp "$tmp/world" "$tmp/world.$p"
    done
    kill -0 $tool 2>/dev/null || break
    sleep 0.1
done
wait $tool
check "workers were seen" [ "$looked" -gt 0 ]
check "their arguments and environment do not have the run's seed" [ "$told" -eq 0 ]
seed=$(seeds)
untold() { [ "${#1}" -gt 9 ] && ! grep -q -- "$1" "$tmp"/world.*; }
check "nor that of the inputs" untold "$seed"

# T5: the best of many by luck. What is chosen was measured again, against the
# default and in turn with it, on inputs of another seed.
# The default does everything four hundred times.
kernel "${run/__global float/volatile __global float} { for (int r = 0; r < V; r++) $good }" 'parameters: {V: [400, 1, 2]}'
expect "a tune" 0 "$ws" tune "$tmp/a/k.yaml" --device opencl:0 --budget 4 --seed 5 --store "$tmp/t.db"
expect "its trials" 0 "$ws" trials "$tmp/t.db" --list --json
check "finalists have pairs, of fresh seeds" python3 - "$tmp/out" <<'P'
import json, sys
trials = json.load(open(sys.argv[1]))["trials"]
pairs = [t for t in trials if t["effort"] == "confirm" and t["sample_ns"]]  # others are gates
before = {t["input_seed"] for t in trials if t["effort"] != "confirm"}
seeds = {t["input_seed"] for t in pairs}
assert pairs and len(seeds) == len(pairs) / 2 and not seeds & before
P
finish
