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

workers_killed null "$kills" 300 "${tune[@]}"
check "it holds every kind of verdict" \
    [ "$(sql "$tmp/null.calm.db" "select count(distinct verdict) from trial")" -ge 4 ]
check "no worker is left" no_worker_left
finish
