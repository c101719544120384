#!/usr/bin/env bash
# tests/gpu/record.sh BUILD OUT DEVICE NAME: records a check and a small tune of
# tests/data/recordings on a device, and what they gave, to OUT:
#   NAME.check.wsrec NAME.check.txt   NAME.tune.wsrec NAME.tune.txt
# then replays both and compares. Files that are put into tests/data/recordings
# are replayed by `make test` (tests/cli/t_replay.sh) on machines without the
# device. SPEC and SHAPES name another kernel and its workloads; then say the
# same to the test.
set -eu
[ $# -eq 4 ] || { sed -n '2,8s/^# //p' "$0"; exit 2; }
build=$1 out=$2 device=$3 name=$4
. tests/gpu/replay.sh
mkdir -p "$out"
cache=$(mktemp -d)
export WAVESMITH_CACHE=$cache WAVESMITH_SHARE=$PWD
export WAVESMITH_WORKER=${WAVESMITH_WORKER:-$PWD/$build/wavesmith-worker}
trap 'rm -rf "$cache"' EXIT
for what in check tune; do
    rm -f "$out/$name.$what.wsrec"
    outcome $what "record:$out/$name.$what.wsrec:$device" "$cache/recorded.db" >"$out/$name.$what.txt"
    outcome $what "replay:$out/$name.$what.wsrec" "$cache/replayed.db" | diff "$out/$name.$what.txt" -
    rm -f "$cache"/*.db*
done
ls -l "$out/$name".*
