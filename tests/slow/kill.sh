# kill.sh: for the kill tests: source it after tests/tap.sh.
#
# KILLS (default 10) says how many kills there are, SEED chooses the moments:
# a failure is looked for again with the SEED that the test printed, although
# what runs at a moment is up to the machine.
kills=${KILLS:-10}
seed=${SEED:-$(date +%s)}
RANDOM=$seed
echo "# KILLS=$kills SEED=$seed"
export WAVESMITH_CACHE=$tmp/cache

now_ms() { echo $(($(date +%s%N) / 1000000)); }
# pause MAX_MS: sleeps for a random time below it.
pause() {
    local us=$((RANDOM * 32768 + RANDOM))
    us=$((us % ($1 * 1000 + 1)))
    sleep "$((us / 1000000)).$(printf %06d $((us % 1000000)))"
}
# Called after each kill with the pid; fails if something is left that should
# be gone. What a tune's store comes to; on devices whose times differ from run
# to run both are replaced by the test.
after_kill() { :; }
outcome() { trials "$1"; }
sql() { sqlite3 -readonly "$1" "$2" 2>/dev/null; }
# answers FILE: a tune's JSON without what may differ between runs.
answers() {
    python3 -c 'import json, sys
skip = {"store", "pack", "reused", "trial", "default_trial", "throughput"}
def clean(x):
    if isinstance(x, dict):
        return {k: clean(v) for k, v in x.items() if k not in skip}
    return [clean(v) for v in x] if isinstance(x, list) else x
print(json.dumps(clean(json.load(open(sys.argv[1]))), indent=1))' "$1"
}
# trials STORE: every trial but for what clocks say, one a line.
trials() {
    sql "$1" "select question, part, kernel, hex(config), workload, effort,
        verdict, reason, hex(candidate_hash), input_seed, hex(sample_ns)
        from trial order by question, part"
}
# twice STORE: trials of one thing, asked twice within a run.
twice() {
    sql "$1" "select count(*) from (select 1 from trial where block = 0
        group by run, kernel, config, workload, effort having count(*) > 1)"
}
whole() { [ "$(sqlite3 "$1" 'pragma integrity_check' 2>/dev/null)" = ok ]; }
# subset OLD NEW: every line of OLD is in NEW.
subset() { [ -z "$(LC_ALL=C comm -23 <(LC_ALL=C sort "$1") <(LC_ALL=C sort "$2"))" ]; }
workers() {
    for e in /proc/[0-9]*/exe; do readlink "$e" 2>/dev/null; done |
        grep -c "^$WS_BUILD/wavesmith-worker"
}
no_worker_left() {
    for _ in 1 2 3 4 5 6 7 8; do
        [ "$(workers)" = 0 ] && return 0
        sleep 0.5
    done
    return 1
}

# until_done NAME KILLS COMMAND...: the command ends with --store and --json.
until_done() {
    local name=$1 want=$2 done_kills=0 round=0 bad=0 length rc pid start db
    shift 2
    start=$(now_ms)
    "$@" --store "$tmp/$name.calm.db" >"$tmp/$name.calm.json" 2>"$tmp/err"
    rc=$?
    length=$(($(now_ms) - start))
    check "$name: the calm tune ends" [ $rc -eq 0 ]
    [ $rc -eq 0 ] || { sed 's/^/# /' "$tmp/err"; return; }
    answers "$tmp/$name.calm.json" >"$tmp/$name.calm"
    outcome "$tmp/$name.calm.db" >"$tmp/$name.calm.trials"
    while [ $done_kills -lt "$want" ] && [ $bad -eq 0 ] && [ $round -lt $((want * 10)) ]; do
        round=$((round + 1))
        db=$tmp/$name.$round.db
        : >"$tmp/$name.kept"
        while :; do
            "$@" --store "$db" >"$tmp/$name.json" 2>"$tmp/err" &
            pid=$!
            # The last kills of a round leave it alone to its end.
            [ $done_kills -lt "$want" ] && { pause "$length"; kill -9 $pid 2>/dev/null; }
            wait $pid 2>/dev/null
            rc=$?
            after_kill $pid || bad=1
            if [ -f "$db" ]; then
                whole "$db" || { bad=1; echo "# the store is damaged"; }
                trials "$db" >"$tmp/$name.now"
                subset "$tmp/$name.kept" "$tmp/$name.now" ||
                    { bad=1; echo "# a trial was lost"; }
                mv "$tmp/$name.now" "$tmp/$name.kept"
            fi
            [ $rc -eq 137 ] || break
            done_kills=$((done_kills + 1))
        done
        [ $rc -eq 0 ] || { bad=1; echo "# exit $rc"; sed 's/^/# /' "$tmp/err"; }
        answers "$tmp/$name.json" | diff "$tmp/$name.calm" - >"$tmp/diff" ||
            { bad=1; echo "# another answer"; head -n 20 "$tmp/diff" | sed 's/^/# /'; }
        outcome "$db" | diff "$tmp/$name.calm.trials" - >"$tmp/diff" ||
            { bad=1; echo "# other trials"; head -n 8 "$tmp/diff" | cut -c1-300 | sed 's/^/# /'; }
        [ "$(twice "$db")" = 0 ] || { bad=1; echo "# a trial was done twice"; }
        [ $bad -eq 0 ] && rm -f "$db" "$db"-*
    done
    check "$name: $done_kills kills in $round tunes: nothing lost, nothing twice, the same answer" [ $bad -eq 0 ]
    check "$name: there were $want kills" [ $done_kills -ge "$want" ]
}

# A worker of the tool $1, at random.
some_worker() {
    local all
    mapfile -t all < <(pgrep -P "$1" -f wavesmith-worker)
    [ ${#all[@]} -gt 0 ] && echo "${all[$((RANDOM % ${#all[@]}))]}"
}

# workers_killed NAME KILLS PAUSE_MS COMMAND...: like it, but workers are killed
# and the tool goes on: at most one in PAUSE_MS.
workers_killed() {
    local name=$1 want=$2 pause_ms=$3 done_kills=0 round=0 bad=0 rc pid victim db
    shift 3
    "$@" --store "$tmp/$name.calm.db" >"$tmp/$name.calm.json" 2>"$tmp/err"
    rc=$?
    check "$name: the calm tune ends" [ $rc -eq 0 ]
    [ $rc -eq 0 ] || { sed 's/^/# /' "$tmp/err"; return; }
    answers "$tmp/$name.calm.json" >"$tmp/$name.calm"
    outcome "$tmp/$name.calm.db" >"$tmp/$name.calm.trials"
    while [ $done_kills -lt "$want" ] && [ $bad -eq 0 ] && [ $round -lt $((want * 3 + 10)) ]; do
        round=$((round + 1))
        db=$tmp/$name.$round.db
        "$@" --store "$db" >"$tmp/json" 2>"$tmp/err" &
        pid=$!
        while kill -0 $pid 2>/dev/null && [ $done_kills -lt "$want" ]; do
            pause "$pause_ms"
            victim=$(some_worker $pid)
            [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null && {
                done_kills=$((done_kills + 1))
                after_kill "$victim" || bad=1
            }
            sleep 0.1
        done
        wait $pid
        rc=$?
        [ $rc -eq 0 ] || { bad=1; echo "# exit $rc"; sed 's/^/# /' "$tmp/err" | tail -n 5; }
        answers "$tmp/json" | diff "$tmp/$name.calm" - >"$tmp/diff" ||
            { bad=1; echo "# another answer"; head -n 20 "$tmp/diff" | sed 's/^/# /'; }
        outcome "$db" | diff "$tmp/$name.calm.trials" - >"$tmp/diff" ||
            { bad=1; echo "# other trials"; head -n 8 "$tmp/diff" | cut -c1-300 | sed 's/^/# /'; }
        [ "$(twice "$db")" = 0 ] || { bad=1; echo "# a trial was done twice"; }
        [ $bad -eq 0 ] && rm -f "$db" "$db"-*
    done
    check "$name: $done_kills workers killed in $round tunes: the same trials, the same answer" [ $bad -eq 0 ]
    check "$name: there were $want kills" [ $done_kills -ge "$want" ]
}
