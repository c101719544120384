#!/usr/bin/env bash
# tests/gpu/forge.sh BUILD OUT [DEVICE]: forges every kernel of practice/, then
# judges what came out by a command of its own: all gates, another seed, every
# workload. The table is over all that was attempted, failures counted as 1.
#
# Leaves NAME.json (result), NAME.log, NAME/ (source, kernel file, patch,
# moves) and table.md, table.tsv. NAMES: kernels (all); BUDGET: of each (60s);
# JOBS: at a time (2; they take turns on the device); SEED (1); MORE: further
# arguments of forge. On a processor (opencl:0) the twins in OpenCL C and the
# small shapes are taken.
set -u
[ $# -ge 2 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
cd "$(dirname "$0")/../.." || exit 2
. tests/gpu/lib.sh
work=$(mktemp -d /tmp/ws-forge-XXXXXX)
trap 'rm -rf "$work"' EXIT
case $dev in
opencl*) twin=opencl shapes=workloads.yaml ;;
*) twin=cuda shapes=workloads-gpu.yaml ;;
esac
names=${NAMES:-$(for d in practice/*/; do basename "$d"; done)}

# Every workload of what came out, with a seed that the run did not have.
verify() { # NAME KERNEL-FILE
    local w rc=0
    for w in $(sed -n 's/.*name: *\([A-Za-z0-9_-]*\).*/\1/p' "practice/$1/$shapes"); do
        timeout 120 "$ws" check "$2" --workloads "practice/$1/$shapes" --workload "$w" --device "$dev" \
            --all-gates --seed 7919 --json >"$out/$1-$w.check.json" 2>/dev/null || rc=1
    done
    return $rc
}
one() { # NAME
    local n=$1 file
    # shellcheck disable=SC2086
    timeout -s INT "${LIMIT:-300}" "$ws" forge "practice/$n" --kernel "${n}_$twin" --workloads "practice/$n/$shapes" \
        --device "$dev" --seed "${SEED:-1}" --budget "${BUDGET:-60s}" --store "$work/$n.db" --out "$out/$n" --json ${MORE:-} \
        >"$out/$n.json" 2>"$out/$n.log"
    file=$(ls "$out/$n"/*.yaml 2>/dev/null)
    [ -z "$file" ] || verify "$n" "$file" && echo ok >"$out/$n.verified" || echo WRONG >"$out/$n.verified"
    echo "$n: $(tail -n 1 "$out/$n.log" | cut -c1-150)"
}
forges() {
    export -f one verify
    export ws out dev work twin shapes
    echo "$names" | tr ' ' '\n' | grep . | xargs -P "${JOBS:-2}" -I{} bash -c 'one {}'
}
report() { python3 tests/gpu/forge_table.py "$out" $names; }

step "every kernel of practice/ on $dev" forges
step "the table" report
summary
