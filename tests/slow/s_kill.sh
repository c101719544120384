#!/usr/bin/env bash
# SIGKILL of the tool at random moments of a tune, and the same command again:
# no trial that was reported is lost, none is done twice, and the tune ends
# with exactly its budget. KILLS (default 10) and SEED choose how often and
# when.
. tests/tap.sh
have_opencl || skip_all "no OpenCL device"
kills=${KILLS:-10}
RANDOM=${SEED:-7}
export WAVESMITH_CACHE=$tmp/cache
db=$tmp/s.db
budget=60
tune=("$ws" tune examples/own-kernel/my_gemm.yaml
    --workloads examples/own-kernel/shapes.yaml --strategy random
    --seed 11 --budget $budget --store "$db" --out "$tmp/p.wspack")
sql() { sqlite3 -readonly "$db" "$1" 2>/dev/null || echo 0; }
last=0
done_kills=0
for i in $(seq "$kills"); do
    "${tune[@]}" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    sleep "$((RANDOM % 5)).$((RANDOM % 10))$((RANDOM % 10))"
    if kill -9 $pid 2>/dev/null; then done_kills=$((done_kills + 1)); fi
    wait $pid 2>/dev/null
    now=$(sql "select count(*) from trial")
    check "kill $i: $now trials, none of $last lost" [ "$now" -ge "$last" ]
    last=$now
    check "kill $i: the store is whole" [ "$(sqlite3 "$db" 'pragma integrity_check' 2>/dev/null || echo ok)" = ok ]
done
check "the tune was killed at least half of the times" [ "$done_kills" -ge $((kills / 2)) ]
workers() {
    for e in /proc/[0-9]*/exe; do readlink "$e" 2>/dev/null; done |
        grep -c "^$WS_BUILD/wavesmith-worker"
}
for i in 1 2 3 4 5; do [ "$(workers)" = 0 ] || sleep 1; done
check "no worker outlives its tool" [ "$(workers)" = 0 ]
expect "the same command ends the tune" 0 "${tune[@]}"
check "none was done twice" [ "$(sql "select count(*) from (select 1 from trial where block = 0 group by run, kernel, config, workload, effort having count(*) > 1)")" = 0 ]
total=$(sql "select count(*) from trial")
expect "and again: all from the store" 0 "${tune[@]}"
check "nothing new was measured" [ "$(sql "select count(*) from trial")" -eq "$total" ]
check "a pack was written" [ -s "$tmp/p.wspack" ]
finish
