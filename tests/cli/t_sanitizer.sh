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
# --tool T --log-file F --report-api-errors no WORKER
dir=$(dirname "$0")/../say
echo "$*" >>"$dir/asked"
[ -e "$dir/$2.none" ] || { echo "========= COMPUTE-SANITIZER"; cat "$dir/$2" 2>/dev/null || cat "$dir/clean"; } >"$4"
[ -e "$dir/$2.dies" ] && exit 1
shift 6
exec "$@"
S
chmod +x "$tmp/bin/compute-sanitizer"
echo "========= ERROR SUMMARY: 0 errors" >"$tmp/say/clean"
run() { PATH=$tmp/bin:$PATH "$ws" check --json ops/rmsnorm --device cuda:0 --workload batch_size=3,hidden_size=64,T=float32 --all-gates; }
gate() { python3 -c 'import json,sys; g=json.load(open(sys.argv[1]))["gates"]; print(g.get("sanitizer", {}).get("end"))' "$tmp/out"; }
ends() { [ "$(gate)" = "$1" ]; }

expect "nothing found" 0 run
check "the gate is passed" ends passed
check "four tools" [ "$(awk '{print $2}' "$tmp/say/asked" | sort | tr '\n' ' ')" = "initcheck memcheck racecheck synccheck " ]
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
check "no log is left" [ -z "$(ls "$tmp"/cache/sanitizer-* 2>/dev/null)" ]
finish
