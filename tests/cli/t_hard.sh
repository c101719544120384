#!/usr/bin/env bash
# The tool in a machine that is against it: full disk, folders that cannot be
# written to, stores that are newer, damaged or no stores, a second tune, workers
# that are missing, mute, mad or killed. Each time: a message that says what and
# what to do, the exit code that the manual promises, and nothing lost.
. tests/tap.sh
have_opencl || skip_all "no OpenCL device"
export WAVESMITH_CACHE=$tmp/cache
spec=tests/data/recordings/kernels/small.yaml
db=$tmp/s.db
tune=("$ws" tune "$spec" --strategy grid --budget 8 --seed 4 --device opencl:0)
sql() { sqlite3 -readonly "$1" "$2" 2>/dev/null || echo 0; }
twice() { sql "$1" "select count(*) from (select 1 from trial where block = 0 group by run, kernel, config, workload, effort having count(*) > 1)"; }

# A whole one to compare with; it also fills the driver's cache.
expect "a tune" 0 "${tune[@]}" --store "$tmp/whole.db" --json
check "with 8 trials" [ "$(sql "$tmp/whole.db" "select count(*) from trial where block = 0")" -ge 8 ]

# --- disk ------------------------------------------------------------------
limited() { (ulimit -f "$1"; shift; exec "$@"); }
expect "a limit of files that leaves no worker" 4 limited 64 "${tune[@]}" --store "$db"
check "it says what to do" err_has "ulimit -f"
# A replayed device has no worker that would meet the limit first.
replay=("$ws" tune "$spec" --strategy grid --budget 16 --seed 1 --device "replay:tests/data/recordings/pocl.tune.wsrec")
expect "a store over the limit of files" 4 limited 160 "${replay[@]}" --store "$tmp/limit.db"
check "it says what to do" err_has "ulimit -f"
before=$(sql "$tmp/limit.db" "select count(*) from trial")
check "what was measured is there ($before)" [ "$before" -ge 1 ]
check "the store is whole" [ "$(sqlite3 "$tmp/limit.db" 'pragma integrity_check')" = ok ]
expect "a tune to be gone on with" 0 "${tune[@]}" --store "$db"
expect "a pack on a full device" 4 "${tune[@]}" --store "$db" --out /dev/full
check "it says so" err_has "/dev/full"
if mkdir "$tmp/small" && mount -t tmpfs -o size=160k none "$tmp/small" 2>/dev/null; then
    expect "a disk that is full" 4 "${tune[@]}" --store "$tmp/small/s.db"
    check "it says so" err_has "free some space"
    before=$(sql "$tmp/small/s.db" "select count(*) from trial")
    mount -o remount,size=20m "$tmp/small"
    expect "a larger disk, and on" 0 "${tune[@]}" --store "$tmp/small/s.db"
    check "none lost of $before" [ "$(sql "$tmp/small/s.db" "select count(*) from trial")" -ge "$before" ]
    check "none twice" [ "$(twice "$tmp/small/s.db")" = 0 ]
    umount "$tmp/small"
else
    echo "ok a disk that is full # SKIP: no file system can be mounted: not root"
fi

# --- folders ---------------------------------------------------------------
# Root may write everywhere: then the tool runs as nobody.
user=()
if [ "$(id -u)" = 0 ]; then user=(setpriv --reuid 65534 --regid 65534 --clear-groups); fi
mkdir -p "$tmp/ro/kernels" "$tmp/open"
cp tests/data/recordings/*.yaml "$tmp/ro/"
cp tests/data/recordings/kernels/* "$tmp/ro/kernels/"
chmod -R a+rX "$tmp" 2>/dev/null; chmod -R a+rwX "$tmp/cache"; chmod 555 "$tmp/ro" "$tmp/ro/kernels"; chmod 777 "$tmp/open"
if "${user[@]}" "$ws" --version >/dev/null 2>&1 && "${user[@]}" test -r "$tmp/ro/op.yaml" && ! "${user[@]}" test -w "$tmp/ro"; then
    one=(tune "$tmp/ro/kernels/small.yaml" --budget 2 --device opencl:0)
    expect "a project that cannot be made" 3 "${user[@]}" "$ws" "${one[@]}"
    check "it is named" err_has "$tmp/ro"
    check "nothing was made" [ "$(ls "$tmp/ro")" = "$(printf 'kernels\nop.yaml\nworkloads.yaml')" ]
    mkdir -m 777 "$tmp/open/kernels"
    cp "$tmp/ro"/*.yaml "$tmp/open/"
    cp "$tmp/ro/kernels"/* "$tmp/open/kernels/"
    one=(tune "$tmp/open/kernels/small.yaml" --budget 2 --device opencl:0)
    expect "a store that cannot be made" 3 "${user[@]}" "$ws" "${one[@]}" --store "$tmp/ro/s.db"
    check "it is named" err_has "$tmp/ro"
    mkdir -m 555 "$tmp/lock"
    WAVESMITH_CACHE=$tmp/lock expect "a cache that cannot be written to" 3 "${user[@]}" "$ws" "${one[@]}"
    check "it is named" err_has "$tmp/lock"
    check "and what to do" err_has "WAVESMITH_CACHE"
else
    echo "ok folders # SKIP: no user who may not write here"
fi

# --- stores ----------------------------------------------------------------
cp "$db" "$tmp/newer.db"
sqlite3 "$tmp/newer.db" 'pragma user_version = 99' 'pragma wal_checkpoint' >/dev/null
cp "$tmp/newer.db" "$tmp/newer.was"
expect "a store of a newer version" 2 "${tune[@]}" --store "$tmp/newer.db"
check "it says so" err_has "newer release"
check "it is as it was" cmp -s "$tmp/newer.db" "$tmp/newer.was"
cp "$db" "$tmp/bad.db"
printf 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' | dd of="$tmp/bad.db" bs=1 seek=4096 conv=notrunc 2>/dev/null
printf 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' | dd of="$tmp/bad.db" bs=1 seek=8192 conv=notrunc 2>/dev/null
expect "a damaged store" 2 "${tune[@]}" --store "$tmp/bad.db"
check "it is named and left" err_has "left as it is"
echo "no store at all, but long enough to be taken for something else" >"$tmp/text.db"
expect "a text as a store" 2 "${tune[@]}" --store "$tmp/text.db"
check "it is named" err_has "text.db"
check "it is as it was" grep -q "no store at all" "$tmp/text.db"
sqlite3 "$tmp/other.db" "create table mine (x); insert into mine values (1)"
expect "another program's database" 2 "${tune[@]}" --store "$tmp/other.db"
check "it is as it was" [ "$(sql "$tmp/other.db" "select x from mine")" = 1 ]

# --- two at once -------------------------------------------------------------
"$ws" tune "$spec" --strategy grid --budget 16 --seed 9 --device opencl:0 --store "$tmp/two.db" >/dev/null 2>&1 &
first=$!
for i in $(seq 100); do [ "$(sql "$tmp/two.db" "select count(*) from trial")" -gt 0 ] && break; sleep 0.1; done
expect "a second tune of the same" 4 "$ws" tune "$spec" --strategy grid --budget 16 --seed 9 --device opencl:0 --store "$tmp/two.db"
check "the first is named" err_has "$first"
# One of its workers is killed: it goes on with another.
kill -9 "$(pgrep -P $first -f wavesmith-worker | head -n 1)" 2>/dev/null
wait $first
check "the first ends well" [ $? -eq 0 ]
check "none twice" [ "$(twice "$tmp/two.db")" = 0 ]

# --- workers -----------------------------------------------------------------
worker() { printf '#!/bin/sh\n%s\n' "$1" >"$tmp/worker"; chmod +x "$tmp/worker"; }
one=("$ws" check "$spec" --device opencl:0 --workload M=1,N=8,K=8)
export WAVESMITH_WORKER=$tmp/nowhere
expect "no worker" 2 "${one[@]}"
check "it is named" err_has "$tmp/nowhere"
export WAVESMITH_WORKER=$tmp/worker
worker 'exit 3'
expect "a worker that ends" 3 timeout 60 "${one[@]}"
check "it says how" err_has "exit status 3"
worker 'kill -11 $$'
expect "a worker that crashes" 3 timeout 60 "${one[@]}"
check "it says how" err_has "signal 11"
worker 'head -c 16 <&3 >/dev/null; yes mad | head -c 4000 >&3; sleep 100'
expect "a worker that is mad" 5 timeout 60 "${one[@]}"
check "it says so" err_has "wrong answer from the worker"
worker 'cat <&3 >/dev/null'
expect "a mute worker" 4 timeout 60 "${one[@]}" --timeout 2s
worker 'echo "library is missing" >&2; exit 127'
expect "a worker that has words" 3 timeout 60 "${one[@]}"
check "they are told" err_has "library is missing"
unset WAVESMITH_WORKER
check "no process is left" [ -z "$(pgrep -f "$tmp/worker")" ]
check "no file is left" [ -z "$(find "$tmp" -name '*.tmp')" ]
finish
