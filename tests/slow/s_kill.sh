#!/usr/bin/env bash
# SIGKILL of the tool at random moments of a tune, and the same command again,
# until it ends: no trial in the store is lost or done twice, the store is
# whole each time, and in the end store and answer are those of a tune that
# nobody disturbed. On the null device, with workers; on recordings; and, with
# fewer kills, on PoCL, where times differ and only counting is left.
. tests/tap.sh
. tests/slow/kill.sh

until_done null "$kills" "$ws" tune tests/data/timed --device isolate:null:0 \
    --strategy hill --seed 3 --budget 60 --json
data=${WS_DATA:-../shared/data}/benchmark_hub/convolution_milo__A100.csv.gz
if "$ws" tune --help | grep -q -- --recordings; then
    t1=${data%/*}/T1_convolution_milo.json
    if [ -f "$data" ]; then
        for strategy in random hill; do
            until_done "$strategy" "$kills" "$ws" tune "$t1" --recordings "$data" \
                --strategy $strategy --seed 3 --budget 200 --json
        done
    else
        echo "ok recordings # SKIP: no file $data"
    fi
fi
check "no worker outlives its tool" no_worker_left

# On a real device: trials that were acknowledged stay, the tune ends with
# exactly its budget, and asking again measures nothing.
on_pocl() {
    local db=$tmp/s.db last=0 now total
    local tune=("$ws" tune examples/own-kernel/my_gemm.yaml
        --workloads examples/own-kernel/shapes.yaml --strategy random
        --seed 11 --budget 60 --store "$db" --out "$tmp/p.wspack")
    for i in $(seq $(((kills + 4) / 5))); do
        "${tune[@]}" >"$tmp/out" 2>"$tmp/err" &
        pid=$!
        pause 4000
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        now=$(sql "$db" "select count(*) from trial")
        now=${now:-0}
        check "kill $i: $now trials, none of $last lost" [ "$now" -ge "$last" ]
        last=$now
        if [ -f "$db" ]; then check "kill $i: the store is whole" whole "$db"; fi
    done
    check "no worker outlives its tool" no_worker_left
    expect "the same command ends the tune" 0 "${tune[@]}"
    check "none was done twice" [ "$(twice "$db")" = 0 ]
    total=$(sql "$db" "select count(*) from trial")
    expect "and again: all from the store" 0 "${tune[@]}"
    check "nothing new was measured" [ "$(sql "$db" "select count(*) from trial")" -eq "$total" ]
    check "a pack was written" [ -s "$tmp/p.wspack" ]
}
if have_opencl; then on_pocl; else echo "ok PoCL # SKIP: no OpenCL device"; fi
finish
