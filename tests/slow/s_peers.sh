#!/usr/bin/env bash
# Published spaces have as many valid configs for Kernel Tuner as for us.
. tests/tap.sh
python=build/venv/bin/python
ours=$WS_BUILD/tests/perf/peers/peer_space
data=${WS_DATA:-../shared/data}/benchmark_hub
"$python" -c 'import kernel_tuner' 2>/dev/null || skip_all "no peers in build/venv: make deps-peers"
[ -x "$ours" ] || skip_all "no $ours"
[ -f "$data/T1_pnpoly.json" ] || skip_all "no files in $data"
valid() { sed -n 's/.*"valid": \([0-9]*\).*/\1/p'; }
for t1 in "$data"/T1_*.json; do
    theirs=$("$python" tests/perf/peers/kt_space.py "$t1" | valid)
    check "$(basename "$t1"): $theirs configs" [ "$("$ours" "$t1" | valid)" = "$theirs" ]
done
finish
