#!/usr/bin/env bash
# tests/gpu/faults.sh BUILD OUT [DEVICE]: the practice kernels of
# tests/gpu/faults: each with a known fault, beside a mended one. All must be
# right; the mended one must be the faster one; and the diagnosis of
# `wavesmith profile` must name the fault (tests/gpu/faults/cases.tsv) for the
# one and not for the other.
#
# Leaves a bench-OP-KERNEL.json and a profile-OP-KERNEL.json for each kernel
# and faults.tsv. PROFILE=0: verdicts and times alone, where a GPU does not
# give its counters; CASES: only these, a list of words; SEED: of the inputs.
set -u
[ $# -ge 2 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
cd "$(dirname "$0")/../.." || exit 2
. tests/gpu/lib.sh
folder=tests/gpu/faults

# say FILE WHAT: verdict, the time in us, and the reason; or gap and the
# findings; of what bench or profile wrote.
say() {
    python3 - "$@" <<'P'
import json, sys

def found(node, inside=False):
    """Texts below `findings`, without those of rules that missed a fact."""
    if isinstance(node, dict):
        return [t for k, v in node.items() if k not in ("missing", "skipped", "suggests")
                for t in found(v, inside or k == "findings")]
    if isinstance(node, list):
        return [t for v in node for t in found(v, inside)]
    return [node] if inside and isinstance(node, str) and " " not in node else []

def number(node, key):
    """The first number called `key`, bare or as its `value`."""
    if isinstance(node, dict):
        v = node.get(key)
        v = v.get("value") if isinstance(v, dict) else v
        if isinstance(v, (int, float)):
            return v
        node = list(node.values())
    if isinstance(node, list):
        for v in node:
            n = number(v, key)
            if n is not None:
                return n
    return None

try:
    what = json.load(open(sys.argv[1]))
except ValueError:
    what = {}
if sys.argv[2] == "time":
    row = what["rows"][0] if what.get("rows") else {}
    b = row.get("b", {})
    print(b.get("verdict", "none"), "%.1f" % (b.get("median_ns", 0) / 1e3),
          row.get("reason") or what.get("message") or "", sep="\t")
else:
    gap = number(what, "gap")
    print("-" if gap is None else "%.2f" % gap, " ".join(dict.fromkeys(found(what))) or "none", sep="\t")
P
}

# measured OP KERNEL: once for each kernel; verdict, time, reason.
measured() {
    local file=$out/bench-$1-$2.json
    [ -s "$file" ] || timeout 120 "$ws" bench "$folder/$1" --kernel "$2" --device "$dev" \
        --seed "${SEED:-1}" --json >"$file" 2>"$file.log"
    say "$file" time
}
# diagnosed OP KERNEL: gap and findings.
diagnosed() {
    local file=$out/profile-$1-$2.json
    [ "${PROFILE:-1}" != 0 ] || { printf -- '-\tnone\n'; return; }
    [ -s "$file" ] || timeout 120 "$ws" profile "$folder/$1" --kernel "$2" --device "$dev" \
        --set full --json >"$file" 2>"$file.log"
    say "$file" findings
}
names() { [[ " $1 " =~ \ ($2)\  ]]; }

# one_case NAME OP FAULTY MENDED KEYS
one_case() {
    local name=$1 verdict us reason gap found wrong=""
    local fault_us fault_gap fault_found
    IFS=$'\t' read -r verdict us reason < <(measured "$2" "$3")
    [ "$verdict" = ok ] || wrong+=" $3 is $verdict ($reason);"
    fault_us=$us
    IFS=$'\t' read -r verdict us reason < <(measured "$2" "$4")
    [ "$verdict" = ok ] || wrong+=" $4 is $verdict ($reason);"
    awk -v a="$us" -v b="$fault_us" 'BEGIN {exit !(a > 0 && a < b)}' || wrong+=" $4 is no faster;"
    IFS=$'\t' read -r fault_gap fault_found < <(diagnosed "$2" "$3")
    IFS=$'\t' read -r gap found < <(diagnosed "$2" "$4")
    if [ "${PROFILE:-1}" != 0 ]; then
        names "$fault_found" "$5" || wrong+=" the diagnosis of $3 ($fault_found) does not name it;"
        ! names "$found" "$5" || wrong+=" the diagnosis of $4 still names it;"
        [ "$gap" != - ] || wrong+=" no gap of $4;"
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$3" "$fault_us" "$fault_gap" "$fault_found" \
        "$4" "$us" "$gap" "$found" >>"$out/faults.tsv"
    printf '%-15s %-14s %9s us  gap %-6s %-12s %9s us  gap %-6s\n' "$name" "$3" "$fault_us" "$fault_gap" "$4" "$us" "$gap"
    [ -z "$wrong" ] || { echo "$name:$wrong"; return 1; }
}

printf 'case\tfaulty\tus\tgap\tfindings\tmended\tus\tgap\tfindings\n' >"$out/faults.tsv"
while IFS=$'\t' read -r name op faulty mended keys <&3; do
    [[ $name != \#* ]] || continue
    [ -z "${CASES:-}" ] || [[ " $CASES " == *" $name "* ]] || continue
    step "$name" one_case "$name" "$op" "$faulty" "$mended" "$keys"
done 3<"$folder/cases.tsv"
summary
