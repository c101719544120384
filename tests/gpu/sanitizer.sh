#!/usr/bin/env bash
# tests/gpu/sanitizer.sh BUILD OUT [DEVICE]: the gate of compute-sanitizer with
# the real program: kernels of tests/gpu/sanitizer whose results are right and
# that have one fault each. The tool that is for it must name it; of a clean
# kernel none says anything, and all of them must have spoken.
#
# Leaves a check-KERNEL.json for each kernel.
set -u
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
cd "$(dirname "$0")/../.." || exit 2
. tests/gpu/lib.sh
command -v compute-sanitizer >/dev/null || [ -x /usr/local/cuda/bin/compute-sanitizer ] ||
    { echo "skipped: no compute-sanitizer"; exit 0; }

# value FILE PATH...: of a JSON object.
value() {
    python3 - "$@" <<'P'
import json, sys
try:
    v = json.load(open(sys.argv[1]))
    for k in sys.argv[2:]:
        v = v[k]
    print(v)
except (ValueError, KeyError, TypeError):
    print("?")
P
}
# judge KERNEL VERDICT END WORDS: what `check --all-gates` has to say.
judge() {
    local json=$out/check-$1.json
    "$ws" check "tests/gpu/sanitizer/kernels/$1.yaml" --device "$dev" --all-gates --json >"$json" 2>"$out/check-$1.log"
    echo "$1: $(value "$json" verdict); $(value "$json" gates sanitizer end); $(value "$json" reason)"
    tail -n 4 "$out/check-$1.log"
    [ "$(value "$json" verdict)" = "$2" ] && [ "$(value "$json" gates sanitizer end)" = "$3" ] &&
        { [ -z "$4" ] || grep -q "compute-sanitizer $4" "$json"; }
}
step "a clean kernel" judge clean ok passed ""
step "a read outside" judge outside wrong failed "memcheck: Invalid __global__ read"
step "a race" judge race wrong failed "racecheck: Error: "
step "uninitialised memory read" judge uninitialised wrong failed "initcheck: Uninitialized __global__ memory read"
step "warps at two barriers" judge divergent wrong failed "synccheck: Barrier error"
summary
