#!/usr/bin/env bash
# tests/gpu/forge.sh BUILD OUT [DEVICE]: forges every kernel of practice/, then
# judges what came out by a command of its own: all gates, another seed, every
# workload. The table is over all that was attempted, failures counted as 1.
# DIALECT=triton: those of practice-triton/, into OUT/triton, by the Python that
# WAVESMITH_PYTHON names (python3), which must have Triton.
#
# Leaves NAME.json (result), NAME.log, NAME.trials.jsonl, NAME/ (source, kernel
# file, patch, moves) and table.md, table.tsv. NAMES: kernels (all); BUDGET: of
# each (60s); JOBS: at a time (2; they take turns on the device, each has its
# share of the processors); SEED (1); LIMIT: seconds after which one is stopped
# (300); MORE: further arguments of forge. On a processor (opencl:0) the twins
# in OpenCL C and the small shapes are taken.
set -u
[ $# -ge 2 ] || { sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0} triton="" target="" folder=practice ending=_cuda shapes=workloads-gpu.yaml
cd "$(dirname "$0")/../.." || exit 2
case ${DIALECT:-}:$dev in
triton:*) triton=1 folder=practice-triton ending="" out=$out/triton ;;
*:opencl*) ending=_opencl shapes=workloads.yaml ;;
esac
[ -z "${SMALL:-}" ] || shapes=workloads.yaml
. tests/gpu/lib.sh
work=$(mktemp -d /tmp/ws-forge-XXXXXX)
trap 'rm -rf "$work"' EXIT
names=${NAMES:-$(for d in "$folder"/*/; do basename "$d"; done)}
if [ -n "$triton" ]; then
    export WAVESMITH_PYTHON=${WAVESMITH_PYTHON:-python3}
    "$WAVESMITH_PYTHON" -c 'import triton; print("Triton", triton.__version__)' ||
        { echo "$WAVESMITH_PYTHON has no Triton: WAVESMITH_PYTHON names another"; exit 1; }
    target=sm_$("$ws" devices | awk -v d="$dev" '$1 ~ /^[a-z]+:[0-9]+$/ {on = $1 == d}
        on && match($0, /compute capability: [0-9]+\.[0-9]+/) {print substr($0, RSTART + 20, RLENGTH - 20); exit}' | tr -d .)
    MORE="--trust-python ${MORE:-}"
fi

# Every workload of what came out, with a seed that the run did not have. In
# Triton its config is compiled before.
verify() { # NAME KERNEL-FILE
    local w rc=0
    [ -z "$triton" ] || timeout 300 "$ws" compile "$2" --config "" --workloads "$folder/$1/$shapes" --target "$target" \
        --trust-python >"$out/$1.compile.txt" 2>&1 || return 1
    for w in $(sed -n 's/.*name: *\([A-Za-z0-9_-]*\).*/\1/p' "$folder/$1/$shapes"); do
        timeout 120 "$ws" check "$2" --workloads "$folder/$1/$shapes" --workload "$w" --device "$dev" \
            --all-gates --seed 7919 --json >"$out/$1-$w.check.json" 2>/dev/null || rc=1
    done
    return $rc
}
# The processors of one of JOBS, as taskset takes them.
slice() { # NUMBER
    local all=() at=$1 n
    for n in $(taskset -cp $$ | sed 's/.*: //; s/,/ /g'); do mapfile -t -O ${#all[@]} all < <(seq "${n%-*}" "${n#*-}"); done
    n=$((${#all[@]} / JOBS))
    [ $n -gt 0 ] || { n=1 at=$((at % ${#all[@]})); }
    (IFS=,; echo "${all[*]:$((at * n)):$n}")
}
one() { # NAME
    local n=$1 file rc=0
    rm -rf "${out:?}/$n"
    # shellcheck disable=SC2086
    taskset -c "$(slice "${SLOT:-0}")" timeout -s INT "${LIMIT:-300}" "$ws" forge "$folder/$n" --kernel "$n$ending" --workloads "$folder/$n/$shapes" \
        --device "$dev" --seed "${SEED:-1}" --budget "${BUDGET:-60s}" --store "$work/$n.db" --out "$out/$n" --json ${MORE:-} \
        >"$out/$n.json" 2>"$out/$n.log" || rc=$?
    [ $rc -le 1 ] || echo "exit status $rc" >>"$out/$n.log"
    "$ws" trials "$work/$n.db" --export "$out/$n.trials.jsonl" >/dev/null 2>&1
    file=$(ls "$out/$n"/*.yaml 2>/dev/null)
    if [ -z "$file" ] || verify "$n" "$file"; then echo ok; else echo WRONG; fi >"$out/$n.verified"
    echo "$n: $(tail -n 1 "$out/$n.log" | cut -c1-150)"
}
forges() {
    export -f one verify slice
    export JOBS=${JOBS:-2} ws out dev work ending folder shapes triton target MORE
    echo "$names" | tr ' ' '\n' | grep . | xargs -P "$JOBS" --process-slot-var=SLOT -I{} bash -c 'one {}'
}
report() { python3 tests/gpu/forge_table.py "$out" $names; }

step "every kernel of $folder/ on $dev" forges
step "the table" report
summary
