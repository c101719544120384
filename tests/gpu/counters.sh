#!/usr/bin/env bash
# tests/gpu/counters.sh BUILD OUT: hardware counters on a real device: those of
# two kernels beside what ncu says of them, what counting costs, and times before
# and after. Into OUT: counters.txt, ncu-one.csv, ncu-full.csv, counters.md. ncu
# is looked for on the PATH and in /usr/local/cuda/bin.
set -u
[ $# -eq 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2
PATH=$PATH:/usr/local/cuda/bin
mkdir -p "$out"
export WAVESMITH_WORKER=$PWD/$build/wavesmith-worker
tool=$build/tests/gpu/counters

"$tool" count cuda:0 >"$out/counters.txt" || exit 1
{
    grep -v '^value' "$out/counters.txt" | sed 's/^/    /'
    files=()
    for set in one full; do
        ncu --csv --page raw --print-units base --metrics "$("$tool" names $set)" \
            -k 'regex:^(stream|gemm)$' --clock-control none --cache-control all \
            --replay-mode kernel --target-processes all \
            --log-file "$out/ncu-$set.csv" "$tool" plain cuda:0 >"$out/ncu.log" 2>&1 ||
            { cat "$out/ncu.log"; exit 1; }
        files+=("$set=$out/ncu-$set.csv")
    done
    python3 "$(dirname "$0")/counters.py" "$out/counters.txt" "${files[@]}"
} >"$out/counters.md"
rc=$?
cat "$out/counters.md"
exit $rc
