#!/usr/bin/env bash
# tests/gpu/robust.sh BUILD OUT [DEVICE]: nothing brings the harness down.
#   faults   a tune (tests/gpu/robust) in which every second kernel is broken in
#            another way: verdicts, words, the time that each cost, and the good
#            kernel's times before and after
#   tool     SIGKILL of the tool at random moments of a tune, until it ends
#   workers  SIGKILL of workers at random moments; the tune ends by itself
# After every kill no process of ours may be on the GPU for longer than two
# seconds. PARTS: which (all); QUESTIONS: of faults (100: all); KILLS: of each kind (20); SEED: when.
set -u
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
. tests/gpu/lib.sh
parts=" ${PARTS:-faults tool workers} "

faults() {
    local start
    start=$(date +%s%N)
    rm -f "$out/faults.db"*
    timeout 420 "$ws" tune tests/gpu/robust --device "$dev" --strategy grid --budget "${QUESTIONS:-100}" --seed 1 \
        --store "$out/faults.db" --json >"$out/faults-tune.json" 2>"$out/faults.log"
    case $? in 0) ;; *) echo "the tune failed"; tail -n 3 "$out/faults.log"; bad=$((bad + 1)) ;; esac
    seconds_since "$start" >"$out/faults.seconds"
    "$ws" trials "$out/faults.db" --export "$out/faults-trials.jsonl" >/dev/null || bad=$((bad + 1))
    python3 tests/gpu/robust.py "$out/faults-trials.jsonl" "${dev%%:*}" >"$out/faults.md" || bad=$((bad + 1))
    cat "$out/faults.md"
    echo "The whole tune: $(cat "$out/faults.seconds") s."
    rm -f "$out/faults.db"*
}
[[ $parts != *" faults "* ]] || step "faults on $dev" faults
for part in tool workers; do
    [[ $parts != *" $part "* ]] || step "kills of $part on $dev" tests/gpu/kills.sh "$build" "$dev" "$part"
done
summary
