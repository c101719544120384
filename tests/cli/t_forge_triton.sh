#!/usr/bin/env bash
# forge of kernels in Triton: what would be tried, for every practice kernel, by
# Python alone; what it says where something is missing; a whole run, killed in
# the middle and continued, on the driver of tests/fakecuda and the Triton of
# tests/triton/fake, which stand in the place of the real ones; what comes out.
. tests/tap.sh
export WAVESMITH_DATA=$tmp/data WAVESMITH_CACHE=$tmp/cache
python=${WAVESMITH_PYTHON:-/usr/bin/python3}
export WAVESMITH_PYTHON=$python
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || skip_all "$python is no Python 3.9"
json() { # the document in $tmp/out, as p, fulfils a condition
    "$python" -c 'import json, sys
p = json.load(open(sys.argv[1]))
sys.exit(0 if eval(f"({sys.argv[2]})", {"p": p, "moves": p["moves"]}) else 1)' "$tmp/out" "$1"
}

# --- what would be tried ---------------------------------------------------
# From a copy: what others compiled for the kernels is not needed.
cp -r practice-triton "$tmp/practice" && rm -rf "$tmp"/practice/*/kernels/*.triton
n=0
for dir in "$tmp"/practice/*/; do
    name=$(basename "$dir")
    n=$((n + 1))
    expect "$name is explained" 0 "$ws" forge "$dir" --kernel "$name" --explain --json
    check "$name has moves, and places that are none" json 'len([m for m in moves if not m["refused"]]) >= 5 and
        any(m["refused"] for m in moves) and all(m["what"].startswith("line ") for m in moves) and
        all(1 < m["gain"] < 10 for m in moves)'
    check "$name: nothing is run" test ! -e "$dir/.wavesmith"
done
check "all of them" test "$n" -eq 19
expect "in words" 0 "$ws" forge "$tmp/practice/softmax" --kernel softmax --explain
check "which one, where" out_has "one_pass_softmax   line 10: 'top' and 'total' are found in two passes over the same data"
check "what it needs" out_has "1.20x is to be expected; needs both loops go over the same range and load the same"
check "what is left to the verdict" out_has "left to the verdict: two arguments of one launch do not overlap"
check "why not" out_has "not done: it depends on 'cols', which the loop changes"

# --- what is missing -------------------------------------------------------
spec=$tmp/practice/softmax
expect "no Python" 3 env WAVESMITH_PYTHON=/nonexistent/python3 "$ws" forge "$spec" --explain
check "is told, and the package" err_has "install it (Debian: python3)"
printf '#!/bin/sh\necho "SyntaxError: too old" >&2; exit 1\n' >"$tmp/old" && chmod +x "$tmp/old"
expect "a Python that cannot read the helper" 3 env WAVESMITH_PYTHON="$tmp/old" "$ws" forge "$spec" --explain
check "is told with its words" err_has "the helper for Triton ended: exit status 1: SyntaxError: too old"
check "and which it must be" err_has "Python 3.9"
sed -i 's/^def softmax(/def softmax(:/' "$spec/kernels/softmax.py"
expect "a source that is no Python" 2 "$ws" forge "$spec" --explain
check "names the place" err_has "'softmax.py': the source is no Python: line 6"
cp practice-triton/softmax/kernels/softmax.py "$spec/kernels/"
sed -i 's/^  - entry: softmax/  - entry: nobody/' "$spec/kernels/softmax.yaml"
expect "a launch of nothing" 2 "$ws" forge "$spec" --explain
check "is told" err_has "a launch names 'nobody', which the source does not have"

# --- a whole run -----------------------------------------------------------
fake=${WS_BUILD:-build/gcc}/tests/fakecuda
[ -e "$fake/libcuda.so.1" ] || { echo "ok a run # SKIP: the fake driver was not built ('make fakecuda')"; finish; }
command -v gcc >/dev/null && echo 'int x;' | gcc -x c++ -S -o /dev/null - 2>/dev/null || {
    echo "ok a run # SKIP: no C++ compiler for the fake NVRTC"
    finish
}
on() { LD_LIBRARY_PATH=$fake "$@"; }
spec=$tmp/scale
cp -r tests/data/triton-forge "$spec"
expect "a kernel that nobody trusts" 3 on "$ws" forge "$spec" --device cuda:0 --budget 2
check "is told" err_has "kernel 'scale' is Python code and not trusted"
check "and the option" err_has "--trust-python"
printf '#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n' >"$tmp/without" && chmod +x "$tmp/without"
expect "no Triton" 3 on env WAVESMITH_PYTHON="$tmp/without" "$ws" forge "$spec" --device cuda:0 --budget 2 --trust-python
check "is told how to get it" err_has "pip install triton"
if have_opencl; then
    expect "a device of another kind" 3 "$ws" forge "$spec" --device opencl:0 --budget 2 --trust-python
fi

[ -z "${SAN:-}" ] || { echo "ok a run # SKIP: its parts have unit tests, and the fake driver no sanitizer"; finish; }
printf '#!/bin/sh\nPYTHONPATH=%s exec %s "$@"\n' "$PWD/tests/triton/fake" "$python" >"$tmp/python" && chmod +x "$tmp/python"
export WAVESMITH_PYTHON=$tmp/python
forge=(env LD_LIBRARY_PATH="$fake" "$ws" forge "$spec" --device cuda:0 --trust-python --seed 3 --store "$tmp/s.db")
trials() { sqlite3 "$tmp/s.db" 'select count(*) from trial' 2>/dev/null || echo 0; }
"${forge[@]}" --budget 16 >"$tmp/killed" 2>&1 &
pid=$!
for ((i = 0; i < 600; i++)); do
    [ "$(trials)" -ge 8 ] && break
    sleep 0.1
done
kill -9 $pid; wait $pid 2>/dev/null
check "killed in the middle" test "$(trials)" -ge 8
expect "and continued" 0 "${forge[@]}" --budget 16 --out "$tmp/new" --json
cp "$tmp/out" "$tmp/first"
# By how much, and with which of the faster values, depends on what else runs.
check "faster beyond doubt" json 'p["lo"] > 1 and p["verdict"] == "ok" and "shapes" in p["proven_by"]'
check "by moves that it names" json 'any(m["part"] and m["end"] == "kept" and m["trial"] for m in moves)'
check "among values of what it made parameters" json '"WARPS=" in p["config"]'
check "what does not compile is no move, in the compiler's words" json 'all(m["end"] == "failed" and
    "this compiler does not know ROWS" in m["why"] for m in moves if m["move"] == "rows_a_program")'
expect "once more: all is on record" 0 "${forge[@]}" --budget 16 --json
check "and ends alike" "$python" -c 'import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
key = lambda p: ([(m["move"], m["what"], m["end"], m["ratio"]) for m in p["moves"]], p["speedup"], p["source"])
sys.exit(key(a) != key(b))' "$tmp/first" "$tmp/out"
check "where the compiler worked is gone" test -z "$(find "$spec/.wavesmith" -name '.work-*')"
check "nothing was put beside the kernel" test ! -e "$spec/kernels/scale.triton"

# --- what comes out --------------------------------------------------------
name=$(basename "$tmp/new/"*_forged.yaml .yaml)
check "source, kernel file, patch, moves" test -s "$tmp/new/scale.py" -a -s "$tmp/new/$name.yaml" -a -e "$tmp/new/change.patch" -a -s "$tmp/new/moves.txt"
check "its defaults are the config that was measured" "$python" -c 'import json, re, sys
config = json.load(open(sys.argv[1]))["config"]
text = open(sys.argv[2]).read()
sys.exit(not all(re.search(r"^  %s: .*\"default\": %s\}" % tuple(kv.split("=")), text, re.M) for kv in config.split(",")))' "$tmp/first" "$tmp/new/$name.yaml"
mkdir "$tmp/patched" && cp "$spec/kernels/scale.py" "$tmp/patched"
[ ! -s "$tmp/new/change.patch" ] || (cd "$tmp/patched" && patch -s -p1 <"$tmp/new/change.patch")
check "the patch makes the source" cmp -s "$tmp/patched/scale.py" "$tmp/new/scale.py"
check "comments stay" grep -qF "# a block a program" "$tmp/new/scale.py"
expect "it compiles ahead" 0 on "$ws" compile "$tmp/new/$name.yaml" --config "" --target sm_90 --trust-python
check "its config alone" grep -q "^[1-4] files for sm_90" "$tmp/out"
expect "and is right" 0 on "$ws" check "$tmp/new/$name.yaml" --device cuda:0 --workload N=999
# A model is asked in Triton's words, and its source is made a kernel of.
cat >"$tmp/agent" <<A
#!/bin/sh
cat >>"$tmp/prompts"
printf '<<<<<<< SEARCH\n    # a block a program\n=======\n    # one block a program\n>>>>>>> REPLACE\n'
A
chmod +x "$tmp/agent"
"${forge[@]}" --seed 5 --budget 24 --no-profile --no-memory --proposer command --model-command "$tmp/agent" --json >"$tmp/out" 2>"$tmp/err"
check "a model is told what Triton is" grep -q "reach a function as its constants, by 'constexprs' of a launch" "$tmp/prompts"
check "and its source is compiled" json 'any(m["move"] == "model" and m["end"] in ("same", "prepares") for m in moves)'
# A source is code that may talk to the tool in the compiler's place.
cp -r "$spec" "$tmp/lies" && rm -rf "$tmp/lies/.wavesmith"
cat >>"$tmp/lies/kernels/scale.py" <<'P'


import socket, struct
def blob(raw): return struct.pack("<Q", len(raw)) + raw
def text(s): return blob(s.encode() + b"\0")
def send(kind, body): tool.sendall(struct.pack("<II", len(body), kind) + body)
tool = socket.socket(fileno=3)
send(111, text("3.6.0") + text(""))
tool.recv(100)
for _ in range(20000):
    send(113, struct.pack("<I", 0) + text("no\x1b[31m") + text("") + struct.pack("<III", 0, 0, 0) + blob(b""))
P
expect "a source that lies" 1 on "$ws" forge "$tmp/lies" --device cuda:0 --trust-python --budget 2
check "is not right, in plain words" eval 'out_has "the original is not right: build" && ! grep -q "$(printf "\033")" "$tmp/out" "$tmp/err"'
check "nothing of it is left" test -z "$(find "$tmp/lies/.wavesmith" -name '.work-*')"
# Another source is another run.
sed -i 's/# a block a program/# another comment/' "$spec/kernels/scale.py"
"${forge[@]}" --budget 1 --json >"$tmp/out" 2>"$tmp/err"
check "a source that was edited begins anew" json 'p["trials"] <= 4 and p["seconds"] > 0.05'
finish
