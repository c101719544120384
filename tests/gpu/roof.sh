#!/usr/bin/env bash
# tests/gpu/roof.sh BUILD OUT [DEVICE]: the ceilings of a GPU, twice, and what is
# kept of them: the second run must find the first one's file and come to the
# same values (within 10%, but for what a power limit slowed). With python3.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
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
step "first" measure 1
step "second" measure 2
step "they agree" agree
summary
