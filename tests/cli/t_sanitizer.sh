#!/usr/bin/env bash
# The sanitizer's gate, without a GPU: on the driver of tests/fakecuda, with a
# program in the place of compute-sanitizer that starts the worker and writes
# what each tool would.
. tests/tap.sh
fake=${WS_BUILD:-build/gcc}/tests/fakecuda
[ -e "$fake/libcuda.so.1" ] || skip_all "the fake driver was not built ('make fakecuda')"
command -v python3 >/dev/null || skip_all "no python3"
export WAVESMITH_CACHE=$tmp/cache LD_LIBRARY_PATH=$fake
mkdir -p "$tmp/bin" "$tmp/say"
cat >"$tmp/bin/compute-sanitizer" <<'S'
#!/usr/bin/env bash
# OPTIONS WORKER: each option has a value. What it has to say it says when the
# worker has ended, as the real one does: `say/TOOL.N` of its Nth process, else
# `say/TOOL`, else `say/clean`.
dir=$(dirname "$0")/../say
echo "$*" >>"$dir/asked"
while [[ $1 == --* ]]; do
    case $1 in --tool) tool=$2 ;; --log-file) log=$2 ;; esac
    shift 2
done
[ -e "$dir/$tool.dies" ] && exit 1
"$@" &
worker=$!
trap 'kill -9 $worker' TERM
wait $worker
rc=$?
sleep 0.2
[ -e "$dir/$tool.none" ] && exit $rc
nth=$(grep -c -- "--tool $tool " "$dir/asked")
{ echo "========= COMPUTE-SANITIZER"; cat "$dir/$tool.$nth" 2>/dev/null || cat "$dir/$tool" 2>/dev/null || cat "$dir/clean"; } >"$log"
exit $rc
S
chmod +x "$tmp/bin/compute-sanitizer"
echo "========= ERROR SUMMARY: 0 errors" >"$tmp/say/clean"
# The shipped op on small ranges: this driver takes a thread for each thread.
cp -r ops/rmsnorm "$tmp/op"
sed -i 's/range: \[1, [0-9]*\]/range: [1, 300]/' "$tmp/op/op.yaml"
printf -- '- {batch_size: 3, hidden_size: 64, T: float32}\n' >"$tmp/op/workloads.yaml"
run() { PATH=$tmp/bin:$PATH "$ws" check --json "$tmp/op" --device cuda:0 --workload batch_size=3,hidden_size=64,T=float32 --all-gates; }
gate() { python3 -c 'import json,sys; g=json.load(open(sys.argv[1]))["gates"]; print(g.get("sanitizer", {}).get("end"))' "$tmp/out"; }
ends() { [ "$(gate)" = "$1" ]; }

expect "nothing found" 0 run
check "the gate is passed" ends passed
asked() { awk '{print $2}' "$tmp/say/asked" | sort | uniq -c | awk '{printf "%s%s:%d", (NR > 1 ? " " : ""), $2, $1}'; }
check "four tools, each once" [ "$(asked)" = "initcheck:1 memcheck:1 racecheck:1 synccheck:1" ]
check "only of one are allocations padded" [ "$(grep -c -- "--tool memcheck .*--padding" "$tmp/say/asked") $(grep -c -- --padding "$tmp/say/asked")" = "1 1" ]
check "logs have a folder of their own" grep -q -- "--log-file $tmp/cache/sanitizer-....../memcheck-1.log" "$tmp/say/asked"
check "errors of the driver's calls are not asked for" grep -q -- "--report-api-errors no" "$tmp/say/asked"

cat >"$tmp/say/racecheck" <<'S'
========= Error: Race reported between Write access at k+0x40 and Read access at k+0x90 [8 hazards]
=========     at 0x40 in k.cu:12
=========
========= RACECHECK SUMMARY: 8 hazards displayed (8 errors, 0 warnings)
S
expect "a race" 1 run
check "the verdict names it" out_has "compute-sanitizer racecheck: Error: Race reported between Write access"
check "it is wrong" grep -q '"verdict": *"wrong"' "$tmp/out"
check "the gate failed" ends failed
echo "========= RACECHECK SUMMARY: 3 hazards displayed (0 errors, 3 warnings)" >"$tmp/say/racecheck"
expect "warnings alone" 0 run
check "are no finding" ends passed

printf '========= Invalid __global__ read of size 4 bytes\n========= ERROR SUMMARY: 12 errors\n' >"$tmp/say/memcheck"
expect "outside of a buffer" 1 run
check "it is named" out_has "compute-sanitizer memcheck: Invalid __global__ read"
echo "========= Error: Target application terminated" >"$tmp/say/memcheck"
expect "a tool that does not say" 0 run
check "is no gate" ends absent
check "and that is said" err_has "compute-sanitizer --tool memcheck says nothing: Error: Target application terminated"
touch "$tmp/say/memcheck.none"
expect "a tool without a log" 0 run
check "the same" ends absent
rm "$tmp/say/memcheck.none" "$tmp/say/memcheck"
touch "$tmp/say/synccheck.dies"
expect "a tool that dies" 0 run
check "is no verdict" ends absent
rm "$tmp/say/synccheck.dies"
no_log() { [ -z "$(ls -d "$tmp"/cache/sanitizer-* 2>/dev/null)" ]; }
check "no log is left" no_log

# What a tune chose is watched together: the tools start once. The default of
# three shapes is chosen for all, of two element types.
cat >"$tmp/shapes.yaml" <<'Y'
- {name: a, batch_size: 3, hidden_size: 64, T: float32}
- {name: b, batch_size: 4, hidden_size: 64, T: float32}
- {name: c, batch_size: 3, hidden_size: 64, T: float16}
Y
tune() {
    rm -rf "$tmp/store"* "$tmp/say/asked"
    PATH=$tmp/bin:$PATH "$ws" tune "$tmp/op" --device cuda:0 --workloads "$tmp/shapes.yaml" --budget 3 --store "$tmp/store.db"
}
# Ends of the sanitizer's gate in the trials that came to it.
gates() {
    "$ws" trials "$tmp/store.db" --list --json >"$tmp/trials" && python3 - "$tmp/trials" <<'P'
import json, sys
t = json.load(open(sys.argv[1]))
t = t if isinstance(t, list) else t["trials"]
ends = [x["gates"]["sanitizer"]["end"] for x in t if "sanitizer" in x["gates"]]
print(sorted(e for e in ends if e != "absent"))
P
}
expect "a tune" 0 tune
check "tools start once for all choices" [ "$(asked)" = "initcheck:1 memcheck:1 racecheck:1 synccheck:1" ]
check "each choice passed" [ "$(gates)" = "['passed', 'passed', 'passed']" ]
printf '========= Error: Race reported\n========= RACECHECK SUMMARY: 8 hazards displayed (8 errors, 0 warnings)\n' >"$tmp/say/racecheck.1"
expect "a finding among several" 0 tune
check "that tool is asked of each" [ "$(asked)" = "initcheck:1 memcheck:1 racecheck:3 synccheck:1" ]
check "whose it is not, passed" [ "$(gates)" = "['passed', 'passed', 'passed']" ]
rm "$tmp/say/racecheck.1"
touch "$tmp/say/initcheck.dies"
expect "a tool that dies among several" 0 tune
check "is no gate of any" [ "$(gates)" = "[]" ]
rm "$tmp/say/initcheck.dies"
check "no log is left then either" no_log
finish
