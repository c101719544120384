#!/usr/bin/env bash
# tests/gpu/ops.sh BUILD OUT [DEVICE]: rmsnorm and gqa_paged_decode on a GPU
# through the vendor's OpenCL: random configs on awkward and on real shapes,
# then a tune of each that fits two minutes, and its choices measured again.
# OUT gets checks.json (verdicts by operator), and for each operator its tune
# and bench as JSON, store and pack. SAMPLES: configs a shape (5); BUDGET: a
# tune's trials or time (70s).
set -u
build=$1 out=$2 dev=${3:-}
mkdir -p "$out"
export WAVESMITH_WORKER=$PWD/$build/wavesmith-worker WAVESMITH_SHARE=$PWD
export WAVESMITH_CACHE=/tmp/ws-cache
ws=$build/wavesmith
bad=0
[ -n "$dev" ] || dev=$("$ws" devices | awk '/^opencl:/ && /NVIDIA/ {print $1; exit}')
[ -n "$dev" ] || { echo "no GPU found"; exit 3; }
"$ws" devices --json >"$out/devices.json"

# checks OP SHAPE...: the default and SAMPLES random configs on each shape
checks() {
    local op=$1 shape config verdict
    shift
    : >"$out/verdicts"
    for shape in "$@"; do
        while IFS= read -r config; do
            timeout 60 "$ws" check "$op" --device "$dev" --workload "$shape" --config "$config" >"$out/last" 2>&1
            verdict=$(sed -n 's/^verdict: \([a-z_]*\).*/\1/p' "$out/last")
            echo "${verdict:-none}" >>"$out/verdicts"
            case $verdict in ok|filtered) ;; *)
                echo "$op $shape $config"; grep -A3 verdict "$out/last" | head -4
                [ -n "$verdict" ] || tail -n 2 "$out/last"
                bad=$((bad + 1)) ;;
            esac
        done < <("$ws" space "$op" --device "$dev" --workload "$shape" --sample "${SAMPLES:-5}" --seed 7)
        timeout 60 "$ws" check "$op" --device "$dev" --workload "$shape" >"$out/last" 2>&1 || { cat "$out/last"; bad=$((bad + 1)); }
    done
    echo "$op: verdicts of random configs:"
    sort "$out/verdicts" | uniq -c
    printf '%s"%s": {%s}' "$comma" "$op" "$(sort "$out/verdicts" | uniq -c | awk '{printf "%s\"%s\": %d", (NR > 1 ? ", " : ""), $2, $1}')" >>"$out/checks.json"
    comma=', '
}

tune() {
    local op=$1
    set -- "$op" --device "$dev" --workloads "tests/gpu/$op.yaml" --budget "${BUDGET:-70s}" --seed 1 --store "$out/$op.db" --out "$out/$op.wspack"
    time timeout 240 "$ws" tune "$@" --json >"$out/$op-tune.json" 2>"$out/$op-tune.log" || { bad=$((bad + 1)); tail -n 3 "$out/$op-tune.log"; }
    "$ws" bench "$out/$op.wspack" --device "$dev" --json >"$out/$op-bench.json" 2>>"$out/$op-tune.log" || bad=$((bad + 1))
    command -v python3 >/dev/null && python3 - "$out/$op-tune.json" <<'PY'
import json, sys
for w in json.load(open(sys.argv[1])).get("workloads", []):
    print("%-30s %10.1f us -> %10.1f us  %5.2fx [%.2f, %.2f]  %s" % (
        w["name"], w["default_ns"] / 1e3, w["best_ns"] / 1e3, w["speedup"],
        w["speedup_lo"], w["speedup_hi"], w["changes"] or "the default"))
PY
    rm -f "$out/$op".db-*
}

comma=
printf '{' >"$out/checks.json"
echo "## checks on $dev"
checks rmsnorm batch_size=5,hidden_size=7 batch_size=33,hidden_size=129,T=float32 \
    batch_size=1000,hidden_size=128,T=float16 batch_size=64,hidden_size=4096 batch_size=20000,hidden_size=128
checks gqa_paged_decode \
    batch_size=1,num_kv_heads=4,num_pages=140,len_indptr=2,num_kv_indices=5,T=float32 \
    batch_size=5,num_kv_heads=8,num_pages=9,len_indptr=6,num_kv_indices=3 \
    batch_size=4,num_kv_heads=8,num_pages=600,len_indptr=5,num_kv_indices=533,T=float16 \
    batch_size=16,num_kv_heads=4,num_pages=4334,len_indptr=17,num_kv_indices=4284 \
    batch_size=64,num_kv_heads=8,num_pages=60071,len_indptr=65,num_kv_indices=50902
printf '}\n' >>"$out/checks.json"
rm -f "$out/last" "$out/verdicts"
for op in rmsnorm gqa_paged_decode; do
    echo "## tune $op"
    tune "$op"
done
echo "failures: $bad"
exit $((bad > 0))
