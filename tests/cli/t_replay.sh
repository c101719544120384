#!/usr/bin/env bash
# Recordings of devices (tests/data/recordings, made by tests/gpu/record.sh):
# each gives exactly what it gave when it was made, with no device here; and
# what differs from it is told.
. tests/tap.sh
command -v python3 >/dev/null || skip_all "no python3"
build=${WS_BUILD:-build/gcc}
. tests/gpu/replay.sh
dir=tests/data/recordings
export WAVESMITH_CACHE=$tmp/cache OCL_ICD_VENDORS=/nonexistent
n=0
small=$spec
for f in "$dir"/*.wsrec; do
    name=$(basename "$f" .wsrec)
    rm -f "$tmp"/s.db*
    spec=$small
    case $name in *cuda*) spec=tests/data/recordings/cuda/small.yaml ;; esac
    outcome "${name##*.}" "replay:$f" "$tmp/s.db" >"$tmp/got" 2>"$tmp/err"
    diff "$tmp/got" "$dir/$name.txt" >"$tmp/diff"
    check "$name: as recorded" [ $? -eq 0 ]
    head -c 1500 "$tmp/diff" | sed 's/^/# /'
    n=$((n + 1))
done
spec=$small
check "there are recordings" [ $n -ge 2 ]

# A second tune in the same store has nothing left to ask the device.
r=replay:$dir/pocl.tune.wsrec
tune=("$ws" tune "$spec" --workloads "$shapes" --strategy grid --budget 16 --store "$tmp/t.db")
expect "a tune" 0 "${tune[@]}" --seed 1 --device "$r" --out "$tmp/p.wspack"
check "the recorded device is named" out_has "pthread"
expect "again: from the store" 0 "${tune[@]}" --seed 1 --device "$r"
expect "its pack is read" 0 "$ws" pick "$tmp/p.wspack" M=1 N=32 K=48

c=replay:$dir/pocl.check.wsrec
expect "another seed" 2 "$ws" check "$spec" --device "$c" --workload M=3,N=20,K=40 --seed 2
check "it tells the operation" err_has "differs from the recording"
check "and what to do" err_has "record again"
expect "another seed in a tune" 2 "${tune[@]}" --seed 2 --device "$r" --store "$tmp/u.db"
check "it is told there, too" err_has "differs from the recording"
head -c 3000 "$dir/pocl.tune.wsrec" >"$tmp/cut.wsrec"
expect "a recording that is cut" 2 "$ws" check "$spec" --device "replay:$tmp/cut.wsrec" --workload M=3,N=20,K=40
expect "no recording" 2 "$ws" check "$spec" --device "replay:$spec" --workload M=3,N=20,K=40
check "it is no recording" err_has "is no recording"
expect "no file" 2 "$ws" check "$spec" --device "replay:$tmp/none" --workload M=3,N=20,K=40
expect "no fault" 2 "$ws" check "$spec" --device "fault:x:null" --workload M=3,N=20,K=40
check "faults are explained" err_has "run@3"
finish
