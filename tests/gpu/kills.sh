#!/usr/bin/env bash
# tests/gpu/kills.sh BUILD DEVICE tool|workers: SIGKILL at KILLS (20) random
# moments of a tune on a real device: of the tool, and the same command again
# until it ends; or of its workers, and the tune ends by itself. Nothing that was
# in the store is lost or asked twice, screening asks what it asks of a calm tune
# (times differ, so the finalists may, too), and two seconds after a kill no
# process of ours is on the GPU. SEED chooses the moments.
set -u
[ $# -eq 3 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 device=$2 what=$3
WS_BUILD=$(cd "$build" && pwd -P) || exit 2 # as /proc shows it
export WS_BUILD KILLS=${KILLS:-20} WAVESMITH_SHARE=$PWD
export WAVESMITH_WORKER=$WS_BUILD/wavesmith-worker
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
. tests/tap.sh
. tests/slow/kill.sh
# What is compiled once is compiled for all rounds.
export WAVESMITH_CACHE=/tmp/ws-cache-kills

command -v sqlite3 >/dev/null || sqlite3() {
    python3 -c 'import sqlite3, sys
args = [a for a in sys.argv[1:] if a != "-readonly"]
for row in sqlite3.connect(args[0]).execute(args[1]):
    print("|".join("" if v is None else str(v) for v in row))' "$@"
}
answers() { :; }
outcome() {
    sql "$1" "select kernel, hex(config), workload, verdict from trial
        where effort = 0 order by question, part"
}
on_gpu() { nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null | sort; }
foreign=$(on_gpu)
# Ours on the GPU: after a kill of the tool ($what) all, else the victim.
left() {
    comm -13 <(echo "$foreign") <(on_gpu) |
        { if [ "$what" = tool ]; then cat; else grep -x "$1"; fi; }
}
gone() {
    [ -z "$(left "$1")" ] || return 1
    if [ "$what" = tool ]; then [ "$(workers)" = 0 ]; fi
}
slowest=0
after_kill() {
    local start took
    start=$(now_ms)
    until gone "$1"; do
        if [ $(($(now_ms) - start)) -gt 5000 ]; then
            echo "# 5 s after the kill of $1: $(workers) workers, on the GPU: $(left "$1" | tr '\n' ' ')"
            return 1
        fi
        sleep 0.05
    done
    took=$(($(now_ms) - start))
    [ $took -le $slowest ] || slowest=$took
    [ $took -le 2000 ] || { echo "# still there for $took ms after the kill of $1"; return 1; }
}

tune=("$ws" tune "${SPEC:-ops/rmsnorm}" --workloads "${SHAPES:-tests/gpu/kills.yaml}" --device "$device"
    --strategy random --seed 5 --budget "${KILL_BUDGET:-24}" --builders 4 --json)
start=$(now_ms)
if [ "$what" = tool ]; then
    until_done "$device" "$KILLS" "${tune[@]}"
else
    workers_killed "$device" "$KILLS" 2500 "${tune[@]}"
fi
check "no worker is left" no_worker_left
check "the GPU is as it was" [ "$(on_gpu)" = "$foreign" ]
echo "# the slowest kill left the GPU $slowest ms later, nvidia-smi included; all took $((($(now_ms) - start) / 1000)) s"
finish
