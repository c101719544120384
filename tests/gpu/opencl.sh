#!/usr/bin/env bash
# tests/gpu/opencl.sh BUILD OUT [DEVICE]: the whole chain on a GPU through the
# vendor's OpenCL: devices, verdicts over types and odd shapes, a tune, the
# comparison of its choices measured again. Results and a log go to OUT.
set -u
build=$1 out=$2 dev=${3:-}
mkdir -p "$out"
export WAVESMITH_WORKER=$PWD/$build/wavesmith-worker WAVESMITH_SHARE=$PWD
export WAVESMITH_CACHE=/tmp/ws-cache
ws=$build/wavesmith
bad=0
echo "## devices"; "$ws" devices; "$ws" devices --json >"$out/devices.json"
[ -n "$dev" ] || dev=$("$ws" devices | awk '/^opencl:/ && /NVIDIA/ {print $1; exit}')
[ -n "$dev" ] || { echo "no GPU found"; exit 3; }
echo "## checks on $dev"
for t in float32 float16 bfloat16; do
    for s in M=1,N=257,K=129 M=7,N=100,K=300 M=128,N=256,K=512 M=129,N=255,K=1000; do
        "$ws" check ops/gemm --device "$dev" --workload "$s,T=$t" >"$out/last" 2>&1 || { bad=$((bad + 1)); cat "$out/last"; }
    done
done
n=0
while IFS= read -r c; do
    n=$((n + 1))
    timeout 60 "$ws" check ops/gemm --device "$dev" --workload M=65,N=130,K=257 --config "$c" >"$out/last" 2>&1
    rc=$?
    v=$(sed -n 's/^verdict: \([a-z_]*\).*/\1/p' "$out/last")
    echo "$v" >>"$out/verdicts"
    [ $rc -eq 0 ] || [ "$v" = filtered ] || { echo "rc $rc: $c"; grep -A3 verdict "$out/last" | head -4; bad=$((bad + 1)); }
done < <("$ws" space ops/gemm --sample "${SAMPLES:-24}" --seed 5)
echo "verdicts of $n random configs:"; sort "$out/verdicts" | uniq -c; rm -f "$out/last" "$out/verdicts"
echo "## tune"
time "$ws" tune ops/gemm --device "$dev" --workloads "${SHAPES:-tests/gpu/shapes.yaml}" --budget "${BUDGET:-80}" --seed 1 \
    --store "$out/store.db" --out "$out/gemm.wspack" --json >"$out/tune.json" 2>"$out/tune.log" || bad=$((bad + 1))
tail -n 3 "$out/tune.log"
"$ws" tune ops/gemm --device "$dev" --workloads "${SHAPES:-tests/gpu/shapes.yaml}" --budget "${BUDGET:-80}" --seed 1 \
    --store "$out/store.db" --out "$out/gemm.wspack" 2>/dev/null
echo "## the pack's choices measured again"
"$ws" bench "$out/gemm.wspack" --device "$dev" || bad=$((bad + 1))
"$ws" pick "$out/gemm.wspack" M=24 N=5120 K=4096
echo "failures: $bad"
rm -f "$out"/store.db-*
exit $((bad > 0))
