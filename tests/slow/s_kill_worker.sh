#!/usr/bin/env bash
# SIGKILL of workers at random moments of a tune: builders, the one that times,
# the reference. The tune ends by itself with exit code 0, with the answer and
# the trials of a tune that nobody disturbed: no verdict comes from a kill.
# Kills are apart by more than a few questions, since a worker that is killed
# again and again at the same question ends a run (docs/measuring.md).
. tests/tap.sh
. tests/slow/kill.sh
tune=("$ws" tune tests/data/timed --device isolate:null:0 --strategy random
    --seed 5 --budget 400 --json)

expect "the calm tune ends" 0 "${tune[@]}" --store "$tmp/calm.db"
cp "$tmp/out" "$tmp/calm.json"
answers "$tmp/calm.json" >"$tmp/calm"
trials "$tmp/calm.db" >"$tmp/calm.trials"
check "it holds every kind of verdict" \
    [ "$(sql "$tmp/calm.db" "select count(distinct verdict) from trial")" -ge 4 ]

# A worker of the tool $1, at random.
some_worker() {
    local all
    mapfile -t all < <(pgrep -P "$1" -f wavesmith-worker)
    [ ${#all[@]} -gt 0 ] && echo "${all[$((RANDOM % ${#all[@]}))]}"
}

done_kills=0 round=0 bad=0
while [ $done_kills -lt "$kills" ] && [ $bad -eq 0 ] && [ $round -lt $((kills + 10)) ]; do
    round=$((round + 1))
    db=$tmp/$round.db
    "${tune[@]}" --store "$db" >"$tmp/json" 2>"$tmp/err" &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ $done_kills -lt "$kills" ]; do
        pause 300
        victim=$(some_worker $pid)
        [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null && done_kills=$((done_kills + 1))
        sleep 0.1
    done
    wait $pid
    rc=$?
    [ $rc -eq 0 ] || { bad=1; echo "# exit $rc"; sed 's/^/# /' "$tmp/err" | tail -n 5; }
    answers "$tmp/json" | diff "$tmp/calm" - >"$tmp/diff" ||
        { bad=1; echo "# another answer"; head -n 20 "$tmp/diff" | sed 's/^/# /'; }
    trials "$db" | diff "$tmp/calm.trials" - >"$tmp/diff" ||
        { bad=1; echo "# other trials"; head -n 8 "$tmp/diff" | cut -c1-300 | sed 's/^/# /'; }
    [ "$(twice "$db")" = 0 ] || { bad=1; echo "# a trial was done twice"; }
    [ $bad -eq 0 ] && rm -f "$db" "$db"-*
done
check "$done_kills workers killed in $round tunes: the same trials, the same answer" [ $bad -eq 0 ]
check "there were $kills kills" [ $done_kills -ge "$kills" ]
check "no worker is left" no_worker_left
finish
