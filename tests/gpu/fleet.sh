#!/usr/bin/env bash
# tests/gpu/fleet.sh BUILD OUT: several GPUs of one model through CUDA, or
# through the vendor's OpenCL (FAMILY=opencl). The same tune on one card and on all of them: the same number of
# trials, all right, and the time that each took. Then two tunes at once on one
# card, which take turns: their default times against those of a tune alone.
# BUDGET: trials (48).
set -u
build=$1 out=$2
mkdir -p "$out"
export WAVESMITH_WORKER=$PWD/$build/wavesmith-worker WAVESMITH_SHARE=$PWD
export WAVESMITH_CACHE=/tmp/ws-cache-fleet
ws=$build/wavesmith budget=${BUDGET:-48}
bad=0
"$ws" devices --json >"$out/devices.json"
mapfile -t dev < <("$ws" devices | awk -v f="^${FAMILY:-cuda}:" '$1 ~ f && /NVIDIA/ {print $1}')
grep -E '"(name|place)"' "$out/devices.json"
[ ${#dev[@]} -gt 1 ] || { echo "fewer than two GPUs: ${dev[*]}"; exit 3; }
expect() { # EXPECTED-CODE COMMAND...
    local want=$1
    shift
    "$@" >"$out/last" 2>&1
    local got=$?
    [ $got -eq "$want" ] || { echo "exit $got, not $want: $*"; tail -n 5 "$out/last"; bad=$((bad + 1)); }
}
tune() { # NAME SEED DEVICE...
    local name=$1 seed=$2 args=() d start
    shift 2
    for d in "$@"; do args+=(--device "$d"); done
    start=$(date +%s%N)
    "$ws" tune ops/gemm --workloads tests/gpu/shapes.yaml --strategy random --budget "$budget" --seed "$seed" \
        "${args[@]}" --store "$out/$name.db" --json >"$out/$name.json" 2>"$out/$name.log" || { bad=$((bad + 1)); tail -n 3 "$out/$name.log"; }
    echo "$name: $((($(date +%s%N) - start) / 1000000)) ms, trials: $(grep -m1 '"trials"' "$out/$name.json"), not ok: $(grep -cE '"(wrong|crash|hang|cheat|launch|build)":' "$out/$name.json")"
    python3 -c 'import json, sys
for w in json.load(open(sys.argv[1]))["workloads"]:
    print("  %-40s %9.1f us -> %9.1f us %5.2fx" % (w["workload"], w["default_ns"] / 1e3, w["best_ns"] / 1e3, w["speedup"]))' "$out/$name.json"
    rm -f "$out/$name".db*
}
expect 2 "$ws" tune ops/gemm --workloads tests/gpu/shapes.yaml --budget 1 --store "$out/x.db" --device "${dev[0]}" --device "${dev[0]}"
grep -q "same hardware" "$out/last" || bad=$((bad + 1))
tune warm-up 1 "${dev[0]}"   # fills the driver's cache for seed 1
tune one 1 "${dev[0]}"
tune all 1 "${dev[@]}"
tune one-cold 2 "${dev[0]}"  # building included
tune all-cold 3 "${dev[@]}"
echo "## two tunes at once on ${dev[0]}, of different specifications"
tune beside 1 "${dev[0]}" &
"$ws" tune rmsnorm --workloads tests/gpu/rmsnorm.yaml --budget 40 --device "${dev[0]}" --store "$out/other.db" --json >"$out/other.json" 2>"$out/other.log" || bad=$((bad + 1))
wait
rm -f "$out"/*.db* "$out/last"
echo "failures: $bad"
exit $((bad > 0))
