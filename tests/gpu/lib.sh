# shellcheck shell=bash disable=SC2054,SC2154
# lib.sh: sourced by the scripts of this folder, with `build` and `out` set:
# the environment of the tool, steps that are timed and counted, and what every
# device is asked: checks of the shipped operators and tunes of them. A step
# that fails is counted, and the next one begins.
#
# SAMPLES: random configs a shape (5); JOBS: checks at a time (8); BUDGET: a
# tune's trials or time (60s); SEED: of tunes (1); SMALL=1: no real shapes;
# KERNEL: which kernel checks take (the op's first for the device).
mkdir -p "$out"
export WAVESMITH_WORKER=$PWD/$build/wavesmith-worker WAVESMITH_SHARE=$PWD
export WAVESMITH_CACHE=${WAVESMITH_CACHE:-/tmp/ws-cache}
ws=$build/wavesmith
# 'make portable-clang' made it, for machines without one.
if [ -e "$build/clang.tar.xz" ] && ! ldconfig -p | grep -q libclang-19; then
    clang=/tmp/ws-clang
    [ -d $clang ] || { mkdir $clang.tmp && tar -xJf "$build/clang.tar.xz" -C $clang.tmp && mv $clang.tmp $clang; }
    export LD_LIBRARY_PATH=$clang${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
bad=0
steps=$out/steps-$(basename "$0" .sh).txt
: >"$steps"

card_opencl() { "$ws" devices | awk '/^opencl:/ && /NVIDIA/ {print $1; exit}'; }
seconds_since() { awk -v a="$1" -v b="$(date +%s%N)" 'BEGIN {printf "%.1f", (b - a) / 1e9}'; }

# step NAME COMMAND...: fails if the command does, or if it counted a failure.
step() {
    local name=$1 start before=$bad rc
    shift
    start=$(date +%s%N)
    echo "## $name"
    "$@"
    rc=$?
    [ $rc -eq 0 ] || [ "$bad" -gt "$before" ] || bad=$((bad + 1))
    printf '%s\t%s\t%d\n' "$name" "$(seconds_since "$start")" $((bad - before)) >>"$steps"
}
# The last lines of a script; the exit status.
summary() {
    local bad
    bad=$(awk -F '\t' '{n += $3} END {print n + 0}' "$steps")
    echo "## steps"
    awk -F '\t' '{printf "%8.1f s  %s%s\n", $2, $1, ($3 ? "  (" $3 " failed)" : "")}' "$steps"
    echo "failures: $bad"
    [ "$bad" -eq 0 ]
}
# A value of a flat JSON object: field NAME FILE
field() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}$/\1/p" "$2" | head -n 1; }

# one_check OP SHAPE CONFIG: a line "verdict op shape config reason" with tabs.
# CONFIG may be empty: the default.
one_check() {
    local said args=("$1" --device "$dev" --workload "$2" ${KERNEL:+--kernel "$KERNEL"})
    [ -z "$3" ] || args+=(--config "$3")
    said=$(mktemp)
    timeout 120 "$ws" check "${args[@]}" --json >"$said" 2>&1
    printf '%s\t%s\t%s\t%s\t%s\n' "$(field verdict "$said" | grep . || echo none)" \
        "$1" "$2" "${3:-default}" "$(field reason "$said" | grep . || field message "$said")" >>"$checks"
    rm -f "$said"
}
# checks OP SHAPE...: default and random configs, several at a time. Verdicts
# go to $out/checks.tsv; what is neither ok nor filtered is a failure.
checks() {
    local op=$1 shape config
    shift
    checks=$out/checks-${KERNEL:-$op}.tsv
    : >"$checks"
    for shape in "$@"; do
        while IFS= read -r config; do
            while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-8}" ]; do wait -n; done
            one_check "$op" "$shape" "$config" &
        done < <(echo; "$ws" space "$op" --device "$dev" --workload "$shape" ${KERNEL:+--kernel "$KERNEL"} --sample "${SAMPLES:-5}" --seed 7 |
            sed 's/.* //')
    done
    wait
    cut -f 1 "$checks" | sort | uniq -c
    awk -F '\t' '$1 != "ok" && ($1 != "filtered" || $4 == "default")' "$checks" >"$out/last"
    cat "$out/last"
    bad=$((bad + $(wc -l <"$out/last")))
    rm -f "$out/last"
}
# Awkward shapes, then real ones; three types.
check_op() {
    local t s shapes=() small=${SMALL:+1}
    case $1 in
    gemm)
        for t in float32 float16 bfloat16; do
            for s in M=1,N=257,K=129 M=7,N=100,K=300 M=129,N=255,K=1000; do shapes+=("$s,T=$t"); done
        done
        [ -n "$small" ] || shapes+=(M=16,N=4096,K=4096,T=bfloat16 M=128,N=1024,K=4096,T=float16) ;;
    rmsnorm)
        shapes=(batch_size=5,hidden_size=7 batch_size=33,hidden_size=129,T=float32 batch_size=1000,hidden_size=128,T=float16)
        [ -n "$small" ] || shapes+=(batch_size=64,hidden_size=4096 batch_size=20000,hidden_size=128) ;;
    gqa_paged_decode)
        shapes=(batch_size=1,num_kv_heads=4,num_pages=140,len_indptr=2,num_kv_indices=5,T=float32
            batch_size=5,num_kv_heads=8,num_pages=9,len_indptr=6,num_kv_indices=3
            batch_size=4,num_kv_heads=8,num_pages=600,len_indptr=5,num_kv_indices=533,T=float16)
        [ -n "$small" ] || shapes+=(batch_size=16,num_kv_heads=4,num_pages=4334,len_indptr=17,num_kv_indices=4284
            batch_size=64,num_kv_heads=8,num_pages=60071,len_indptr=65,num_kv_indices=50902) ;;
    esac
    checks "$1" "${shapes[@]}"
}

workloads_of() {
    local small=tests/gpu/$1.yaml
    [ "$1" != gemm ] || small=tests/gpu/shapes.yaml
    [ -z "${SMALL:-}" ] || small=ops/$1/t_shapes.yaml
    echo "$small"
}
# tune_op OP DEVICE NAME: OUT/NAME-tune.json, -trials.jsonl, .wspack, .log and
# .seconds; with BENCH the choices measured again.
tune_op() {
    local op=$1 device=$2 name=$3 start
    start=$(date +%s%N)
    rm -f "$out/$name.db"*
    timeout 300 "$ws" tune "$op" --device "$device" --workloads "$(workloads_of "$op")" --budget "${BUDGET:-60s}" \
        --seed "${SEED:-1}" --store "$out/$name.db" --out "$out/$name.wspack" --json \
        >"$out/$name-tune.json" 2>"$out/$name.log" || { bad=$((bad + 1)); tail -n 3 "$out/$name.log"; }
    seconds_since "$start" >"$out/$name.seconds"
    "$ws" trials "$out/$name.db" --export "$out/$name-trials.jsonl" >/dev/null || bad=$((bad + 1))
    [ -z "${BENCH:-}" ] || "$ws" bench "$out/$name.wspack" --device "$device" --json \
        >"$out/$name-bench.json" 2>>"$out/$name.log" || bad=$((bad + 1))
    rm -f "$out/$name.db"-*
}
# What came of it, as Markdown.
table() { python3 tests/gpu/table.py "$@"; }
