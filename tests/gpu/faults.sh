#!/usr/bin/env bash
# tests/gpu/faults.sh BUILD OUT [DEVICE]: the practice kernels of
# tests/gpu/faults: each with a known fault, beside a mended one. All must be
# right; the mended one must be the faster one; and the diagnosis of
# `wavesmith profile` must name the fault (tests/gpu/faults/cases.tsv) for the
# one and not for the other.
#
# Leaves a profile-OP-KERNEL.json for each kernel and faults.tsv. With
# WAVESMITH_DATA and what `wavesmith roof` measured there, gaps are those to
# measured ceilings, and the cost of launching is known. PROFILE=0: verdicts and
# times alone, by bench, where a GPU does not give its counters; CASES: only
# these, a list of words; SEED: of the inputs.
set -u
[ $# -ge 2 ] || { sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
cd "$(dirname "$0")/../.." || exit 2
. tests/gpu/lib.sh
folder=tests/gpu/faults

# say FILE: verdict, time in us, gap, bound, findings between commas, and the
# reason, of what bench or profile wrote.
say() {
    python3 - "$1" <<'P'
import json, sys

try:
    p = json.load(open(sys.argv[1]))
except ValueError:
    p = {}
row = p["rows"][0] if p.get("rows") else {}
ns = p.get("time_ns") or row.get("b", {}).get("median_ns") or 0
gap = p.get("gap")
print(p.get("verdict") or row.get("b", {}).get("verdict") or "none", "%.1f" % (ns / 1e3),
      "-" if gap is None else "%.2f" % gap, p.get("bound") or "-",
      ",".join(f["rule"] for f in p.get("findings", [])) or "none",
      p.get("reason") or row.get("reason") or p.get("error", {}).get("message") or "-", sep="\t")
P
}

# asked OP KERNEL: once for each kernel; the line of `say`.
asked() {
    local file=$out/profile-$1-$2.json what=profile args=(--set full)
    [ "${PROFILE:-1}" != 0 ] || { what=bench; args=(); file=$out/bench-$1-$2.json; }
    [ -s "$file" ] || timeout 120 "$ws" $what "$folder/$1" --kernel "$2" --device "$dev" \
        --seed "${SEED:-1}" "${args[@]}" --json >"$file" 2>"$file.log"
    say "$file"
}
names() { [[ ",$1," =~ ,($2), ]]; }

# one_case NAME OP FAULTY MENDED KEYS
one_case() {
    local name=$1 verdict us gap bound found reason wrong=""
    local fault_us fault_gap fault_bound fault_found
    IFS=$'\t' read -r verdict fault_us fault_gap fault_bound fault_found reason < <(asked "$2" "$3")
    [ "$verdict" = ok ] || wrong+=" $3 is $verdict ($reason);"
    IFS=$'\t' read -r verdict us gap bound found reason < <(asked "$2" "$4")
    [ "$verdict" = ok ] || wrong+=" $4 is $verdict ($reason);"
    awk -v a="$us" -v b="$fault_us" 'BEGIN {exit !(a > 0 && a < b)}' || wrong+=" $4 is no faster;"
    if [ "${PROFILE:-1}" != 0 ]; then
        names "$fault_found" "$5" || wrong+=" the diagnosis of $3 ($fault_found) does not name it;"
        ! names "$found" "$5" || wrong+=" the diagnosis of $4 still names it;"
        [ "$gap" != - ] || wrong+=" no gap of $4;"
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$3" "$fault_us" "$fault_gap" "$fault_bound" \
        "$fault_found" "$4" "$us" "$gap" "$bound" "$found" >>"$out/faults.tsv"
    printf '%-15s %-14s %9s us  gap %-6s %-12s %9s us  gap %-6s\n' "$name" "$3" "$fault_us" "$fault_gap" "$4" "$us" "$gap"
    [ -z "$wrong" ] || { echo "$name:$wrong"; return 1; }
}

printf 'case\tfaulty\tus\tgap\tbound\tfindings\tmended\tus\tgap\tbound\tfindings\n' >"$out/faults.tsv"
while IFS=$'\t' read -r name op faulty mended keys <&3; do
    [[ $name != \#* ]] || continue
    [ -z "${CASES:-}" ] || [[ " $CASES " == *" $name "* ]] || continue
    step "$name" one_case "$name" "$op" "$faulty" "$mended" "$keys"
done 3<"$folder/cases.tsv"
summary
