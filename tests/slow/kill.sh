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
sql() { sqlite3 -readonly "$1" "$2" 2>/dev/null; }
# answers FILE: a tune's JSON without what may differ between runs.
answers() {
    python3 -c 'import json, sys
skip = {"store", "pack", "reused", "trial", "default_trial"}
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
