#!/usr/bin/env bash
# tests/gpu/roof.sh BUILD OUT [DEVICE]: the ceilings of a GPU, twice: what is kept
# of the first must be what it said, and the second must come to the same values
# (within 10%, but for what a power limit slowed). With python3.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
cd "$(dirname "$0")/../.." || exit 2
. tests/gpu/lib.sh
export WAVESMITH_DATA=$out/data

measure() {
    "$ws" roof --device "$dev" --json >"$out/roof-$1.json" 2>"$out/roof-$1.log" || { tail -n 3 "$out/roof-$1.log"; return 1; }
    "$ws" roof --device "$dev" --show
}
agree() {
    python3 - "$out/roof-1.json" "$out/roof-2.json" <<'P'
import json, sys
a, b = ({c["ceiling"]: c for c in json.load(open(f))["ceilings"]} for f in sys.argv[1:])
bad = 0
for k, x in a.items():
    y = b[k]
    if (x["value"] is None) != (y["value"] is None):
        print(k, "known only once"); bad += 1
    elif x["value"] and not x["slowed"] and not y["slowed"] and abs(x["value"] / y["value"] - 1) > .1:
        print(k, x["value"], y["value"]); bad += 1
sys.exit(bad != 0)
P
}
kept() {
    "$ws" roof --device "$dev" --show --json >"$out/roof-kept.json" || return 1
    python3 - "$out/roof-1.json" "$out/roof-kept.json" <<'P'
import json, sys
a, b = ({c["ceiling"]: c["value"] for c in json.load(open(f))["ceilings"]} for f in sys.argv[1:])
sys.exit(a != b)
P
}
step "first" measure 1
step "it is kept" kept
step "second" measure 2
step "they agree" agree
summary
