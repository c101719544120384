#!/usr/bin/env bash
# What a store holds: listing, verification, text out and in, results of other
# tools; an older store; a tune that goes on from an imported store.
. tests/tap.sh

old=$tmp/old.db
cp tests/data/store/format1.db "$old"
expect "runs of a store of format 1" 0 "$ws" trials "$old"
check "two runs" out_has "2 runs, 9 trials"
expect "its trials" 0 "$ws" trials "$old" --list
check "numbers where no name is known" out_has "[977]"
expect "as JSON" 0 "$ws" trials "$old" --list --json
check "without names" out_has '"config": null'
check "reading changed nothing" cmp -s "$old" tests/data/store/format1.db
expect "only run 2" 0 "$ws" trials "$old" --run 2
check "one trial" [ "$(wc -l <"$tmp/out")" -eq 2 ]
expect "the newest three" 0 "$ws" trials "$old" --limit 3
check "three trials" [ "$(wc -l <"$tmp/out")" -eq 4 ]
expect "by device" 0 "$ws" trials "$old" --device GPU
check "eight have one" [ "$(wc -l <"$tmp/out")" -eq 9 ]
expect "none was slowed" 0 "$ws" trials "$old" --slowed
check "it says so" out_has "no trials"
expect "no such verdict" 2 "$ws" trials "$old" --verdict good
check "verdicts are listed" err_has "too_fast"
expect "verify" 0 "$ws" trials "$old" --verify
expect "export of format 1" 0 "$ws" trials "$old" --export "$tmp/old.jsonl"
expect "import makes a store" 0 "$ws" trials "$tmp/new.db" --import "$tmp/old.jsonl"
check "all new" out_has "9 new trials, 2 new runs; 0 were there"
expect "import again" 0 "$ws" trials "$tmp/new.db" --import "$tmp/old.jsonl" --json
check "all matched" out_has '"matched": 10'
expect "export again" 0 "$ws" trials "$tmp/new.db" --export "$tmp/new.jsonl"
check "the same bytes" cmp -s "$tmp/old.jsonl" "$tmp/new.jsonl"
expect "export of one run" 0 "$ws" trials "$tmp/new.db" --export "$tmp/one.jsonl" --run 2
check "one record" [ "$(wc -l <"$tmp/one.jsonl")" -eq 1 ]
expect "export of no run" 2 "$ws" trials "$tmp/new.db" --export "$tmp/none.jsonl" --run 7
check "nothing is written" [ ! -e "$tmp/none.jsonl" ]
expect "an export is not filtered" 2 "$ws" trials "$tmp/new.db" --export "$tmp/x" --verdict ok
sed '2s/"seq":2/"seq":3/' "$tmp/old.jsonl" >"$tmp/gap.jsonl"
expect "a gap" 2 "$ws" trials "$tmp/gap.db" --import "$tmp/gap.jsonl"
check "its line" err_has "gap.jsonl:2:"
sed 's/"format":[0-9]*/"format":9/' "$tmp/old.jsonl" >"$tmp/newer.jsonl"
expect "a newer format" 2 "$ws" trials "$tmp/gap.db" --import "$tmp/newer.jsonl"
check "nothing is made of a bad file" [ ! -e "$tmp/gap.db" ]
check "nor beside it" [ ! -e "$tmp/gap.db-wal" ]
sed '2s/"part":0,"kernel":[0-9]*/"part":0,"kernel":9/' "$tmp/old.jsonl" >"$tmp/unfit.jsonl"
expect "no answer to its question" 2 "$ws" trials "$tmp/gap.db" --import "$tmp/unfit.jsonl"
check "the line of it" err_has "unfit.jsonl:2: its kernel is not the question's"
check "still nothing" [ ! -e "$tmp/gap.db" ]
expect "a store that was there stays" 2 "$ws" trials "$tmp/new.db" --import "$tmp/unfit.jsonl"
expect "as it was" 0 "$ws" trials "$tmp/new.db" --verify
cp tests/data/store/format2.db "$tmp/format2.db"
expect "a store of format 2" 0 "$ws" trials "$tmp/format2.db"
check "two runs of it" out_has "2 runs, 9 trials"
expect "text of format 1 matches it" 0 "$ws" trials "$tmp/format2.db" --import tests/data/store/format1.jsonl
check "all of it" out_has "10 were there"
expect "no such store" 2 "$ws" trials "$tmp/no.db"
expect "rows of no file" 2 "$ws" trials "$old" --where a=1
check "it says why" err_has "go with --import"
expect "a column of no file" 2 "$ws" trials "$old" --list --time-column x
expect "one thing at a time" 2 "$ws" trials "$old" --verify --list
mkdir -p "$tmp/project/.wavesmith"
cp "$old" "$tmp/project/.wavesmith/store.db"
expect "a folder with a project" 0 "$ws" trials "$tmp/project"
expect "the project" 0 "$ws" trials "$tmp/project/.wavesmith" --verify
printf '\xff' | dd of="$old" bs=1 seek=8000 conv=notrunc 2>/dev/null
dd if=/dev/zero of="$old" bs=512 seek=6 count=12 conv=notrunc 2>/dev/null
expect "a damaged store" 1 "$ws" trials "$old" --verify
check "it says so" err_has "malformed"

# Results of other tools.
cat >"$tmp/space.json" <<'J'
{"General": {"BenchmarkName": "k"}, "ConfigurationSpace": {"TuningParameters": [
 {"Name": "BM", "Type": "int", "Values": "[16, 32, 64]", "Default": 16},
 {"Name": "BN", "Type": "int", "Values": "[8, 16]", "Default": 8}]}}
J
printf 'BM,BN,time_ms\n16,8,1.5\n32,8,1.25\n64,16,0.75\n128,8,9\n' >"$tmp/r.csv"
printf 'BM,BN,time_ms\n16,8,1.5\n32,8,1.25\n16.0,8,2\n' >"$tmp/two.csv"
expect "one result twice" 2 "$ws" trials "$tmp/two.db" --import "$tmp/two.csv" --spec "$tmp/space.json" --device G
check "its line" err_has "two.csv:4: a second result of 'BM=16,BN=8'"
check "the line of the first" err_has "first is in line 2"
check "no store of it" [ ! -e "$tmp/two.db" ]
expect "a matrix without a device" 2 "$ws" trials "$tmp/r.db" --import "$tmp/r.csv" --spec "$tmp/space.json"
check "it says what is missing" err_has "--device"
expect "a matrix" 0 "$ws" trials "$tmp/r.db" --import "$tmp/r.csv" --spec "$tmp/space.json" --device "A100"
check "one is foreign" out_has "1 results are not of this space"
expect "the same again" 0 "$ws" trials "$tmp/r.db" --import "$tmp/r.csv" --spec "$tmp/space.json" --device "A100"
check "is there already" out_has "0 new trials"
expect "what came in" 0 "$ws" trials "$tmp/r.db" --list
check "by name" out_has "BM=64,BN=16"
printf 'gpu,BM,BN,a_us,b_ms\nx,16,8,7,1.5\ny,16,8,9,2.5\n' >"$tmp/w.csv"
expect "one device of a matrix" 0 "$ws" trials "$tmp/w.db" --import "$tmp/w.csv" --spec "$tmp/space.json" --device y --where gpu=y --time-column b_ms
check "its row" out_has "1 new trials"
expect "its time" 0 "$ws" trials "$tmp/w.db" --list
check "in its unit" out_has "2.50 ms"
printf '{"device_name": "d", "kernel_name": "k", "problem_size": "", "tune_params_keys": ["BM","BN"], "tune_params": {"BM":[16,32],"BN":[8]},"cache": {"16,8": {"BM": 16, "BN": 8, "time": 1.25},\n' >"$tmp/u.json"
expect "an unfinished cache file" 0 "$ws" trials "$tmp/u.db" --import "$tmp/u.json" --spec "$tmp/space.json"
check "is said to be" out_has "breaks off"
expect "--where without --spec" 2 "$ws" trials "$tmp/u.db" --import "$tmp/old.jsonl" --where a=b
expect "by that name" 0 "$ws" trials "$tmp/r.db" --workload recorded
check "the workload by name" out_has "  recorded  "
check "all three" [ "$(grep -c import/ "$tmp/out")" -eq 3 ]
expect "by another" 0 "$ws" trials "$tmp/r.db" --workload other
check "none" out_has "no trials"
expect "an export of another" 2 "$ws" trials "$tmp/r.db" --export "$tmp/n.csv" --spec "$tmp/space.json" --workload other
cp "$tmp/r.db" "$tmp/two.db"
expect "a second device" 0 "$ws" trials "$tmp/two.db" --import "$tmp/w.csv" --spec "$tmp/space.json" --device B200 --where gpu=y --time-column b_ms
expect "several devices" 2 "$ws" trials "$tmp/two.db" --export "$tmp/n.csv" --spec "$tmp/space.json"
check "are not mixed" err_has "--run N, --device"
expect "one by its run" 0 "$ws" trials "$tmp/two.db" --export "$tmp/n.csv" --spec "$tmp/space.json" --run 2
check "its result" out_has "1 results"
expect "a run that is not there" 2 "$ws" trials "$tmp/two.db" --export "$tmp/n.csv" --spec "$tmp/space.json" --run 7
check "is named" err_has "run 7"
for f in t4 cache csv; do
    expect "export as $f" 0 "$ws" trials "$tmp/r.db" --export "$tmp/e.$f" --format $f --spec "$tmp/space.json"
    check "three results as $f" out_has "3 results"
    expect "import of $f" 0 "$ws" trials "$tmp/$f.db" --import "$tmp/e.$f" --spec "$tmp/space.json" --device A100
    check "three trials of $f" out_has "3 new trials"
done
expect "t4 needs the specification" 2 "$ws" trials "$tmp/r.db" --export "$tmp/r.t4.json"
check "and says so" err_has "--spec"

if ! have_opencl; then
    echo "ok a tune goes on # SKIP: no OpenCL device"; echo "# SKIP no OpenCL device"; finish
fi
k=examples/own-kernel/my_gemm.yaml
export WAVESMITH_CACHE=$tmp/cache
tune="tune $k --workloads examples/own-kernel/shapes.yaml --strategy hill --seed 5"
expect "a tune" 0 "$ws" $tune --store "$tmp/a.db" --budget 4 --json
cp "$tmp/out" "$tmp/first"
expect "its trials by name" 0 "$ws" trials "$tmp/a.db" --workload M=1
check "configs in words" out_has "BX="
expect "its runs" 0 "$ws" trials "$tmp/a.db"
check "how they measured" out_has "(measure 5, cache "
expect "exported" 0 "$ws" trials "$tmp/a.db" --export "$tmp/a.jsonl"
expect "imported" 0 "$ws" trials "$tmp/b.db" --import "$tmp/a.jsonl"
n=$("$ws" trials "$tmp/b.db" --list | wc -l)
expect "the same tune on the imported store" 0 "$ws" $tune --store "$tmp/b.db" --budget 4 --json
# but for what says how it was come by
told() { python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
for k in ("store", "reused", "throughput"):
    d.pop(k, None)
print(json.dumps(d, indent=1))' "$1"; }
told "$tmp/first" >"$tmp/x"
told "$tmp/out" >"$tmp/y"
check "the same answer" cmp -s "$tmp/x" "$tmp/y"
check "nothing was measured" [ "$("$ws" trials "$tmp/b.db" --list | wc -l)" -eq "$n" ]
expect "a larger budget goes on" 0 "$ws" $tune --store "$tmp/b.db" --budget 6
check "something was measured" [ "$("$ws" trials "$tmp/b.db" --list | wc -l)" -gt "$n" ]
expect "what was added is exported" 0 "$ws" trials "$tmp/b.db" --export "$tmp/b.jsonl"
expect "and comes back" 0 "$ws" trials "$tmp/a.db" --import "$tmp/b.jsonl"
check "only what was added" [ "$("$ws" trials "$tmp/a.db" --list | wc -l)" -eq "$("$ws" trials "$tmp/b.db" --list | wc -l)" ]
"$ws" $tune --store "$tmp/busy.db" --budget 100s >"$tmp/busy" 2>&1 & pid=$!
for _ in $(seq 600); do
    "$ws" trials "$tmp/busy.db" 2>&1 | grep -q "being measured" && break; sleep 0.1
done
expect "the same while another measures it" 4 "$ws" $tune --store "$tmp/busy.db" --budget 4
check "that one is named" err_has "process $pid"
kill -INT $pid; kill -INT $pid; wait $pid
check "a signal that comes twice at once stops it once" grep -q "stopped early" "$tmp/busy"
expect "T4 of one shape" 0 "$ws" trials "$tmp/a.db" --export "$tmp/a.t4.json" --spec $k --workloads examples/own-kernel/shapes.yaml --workload M=1,N=1024,K=1024
expect "the matrix of all" 0 "$ws" trials "$tmp/a.db" --export "$tmp/a.csv" --spec $k --workloads examples/own-kernel/shapes.yaml
check "a line a config and shape" [ "$(wc -l <"$tmp/a.csv")" -gt 4 ]
finish
