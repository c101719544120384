#!/usr/bin/env bash
# Kernels in Triton from the command line, where there is no Triton: what was
# compiled before is read and judged, and whoever compiles is told what is
# missing. tests/slow/s_triton.sh compiles.
. tests/tap.sh
t=$tmp/triton
cp -r tests/data/triton "$t"
k=$t/twice.yaml
expect "its space" 0 "$ws" space "$k" --verbose
check "is counted" out_has "8 valid"
check "Triton's version is shown" err_has "20 files by Triton 3.6.0 sm_90"
expect "a device that takes no cubins" 1 "$ws" check "$k" --device null --trust-python
check "says so" out_has "the kernel is ready-made"
expect "what did not compile" 1 "$ws" check "$k" --device null --trust-python --config BLOCK=96
check "has the compiler's words" out_has "range must be a power of 2"
expect "what nobody compiled" 1 "$ws" check "$k" --device null --trust-python --config BLOCK=128 --workload N=7
check "is there for both values of a bool" out_has "the kernel is ready-made"
sed -i 's/WARPS: {values: \[1, 2\]}/WARPS: {values: [1, 2, 4]}/' "$k"
sed -i 's/BLOCK >= 64 \* WARPS/BLOCK >= 32 * WARPS/' "$k"
expect "a value that is new" 1 "$ws" check "$k" --device null --trust-python --config BLOCK=128,WARPS=4
check "is filtered" out_has "verdict: filtered: no launch plan: not compiled: twice("

mkdir "$tmp/else" && mv "$t/twice.triton/sm_90" "$tmp/else/" && ln -s "$tmp/else/sm_90" "$t/twice.triton/sm_90"
expect "a folder outside" 2 "$ws" space "$k"
check "is told" err_has "outside of"
rm "$t/twice.triton/sm_90" && mv "$tmp/else/sm_90" "$t/twice.triton/"

expect "compiling without trust" 3 "$ws" compile "$k"
check "is told the option" err_has "--trust-python"
echo "# another" >>"$t/kernels.py"
expect "another source" 2 "$ws" space "$k"
check "is stale" err_has "is not what was compiled"
check "and how to compile it" err_has "wavesmith compile $k --target sm_90 --trust-python"
rm -r "$t/twice.triton"
expect "no folder" 2 "$ws" space "$k"
check "is told" err_has "kernel 'twice' is not compiled"

WAVESMITH_PYTHON=$t/none expect "no Python" 3 "$ws" compile "$k" --trust-python
check "is told, too" err_has "cannot start Python '$t/none'"
cat >"$t/python" <<'P'
#!/bin/sh
exec /usr/bin/python3 -S "$@"
P
chmod +x "$t/python"
WAVESMITH_PYTHON=$t/python expect "no Triton" 3 "$ws" compile "$k" --trust-python
check "is told how to get it" err_has "pip install triton"
check "and how to name another Python" err_has "WAVESMITH_PYTHON"
check "no folder is left" [ ! -e "$t/twice.triton/sm_90" ]
WAVESMITH_PYTHON=$t/python expect "no target" 3 "$ws" compile "$k" --trust-python --target gfx942
check "is told one" err_has "is no target: write sm_90"
expect "no config" 2 "$ws" compile "$k" --trust-python --config NOBODY=1
check "is told" err_has "NOBODY"
expect "a path for a target" 2 "$ws" compile "$k" --trust-python --target ../../out
check "is none" err_has "'../../out' is no target"
check "and no folder is made" [ -z "$(ls -A "$t/twice.triton")" ] && [ ! -e "$t/out" ]

# A source is code that may talk to the tool in the compiler's place, and leave
# things behind.
mkdir -p "$t/site/triton"
echo '__version__ = "3.6.0"' >"$t/site/triton/__init__.py"
printf '#!/bin/sh\nPYTHONPATH=%s exec /usr/bin/python3 "$@"\n' "$t/site" >"$t/python"
cat >"$t/kernels.py" <<'P'
import os, socket, struct
def blob(raw): return struct.pack("<Q", len(raw)) + raw
def text(s): return blob(s.encode() + b"\0")
def send(kind, body): tool.sendall(struct.pack("<II", len(body), kind) + body)
os.makedirs(os.environ["TMPDIR"] + "/a/b")
tool = socket.socket(fileno=3)
send(111, text("3.6.0") + text(""))
tool.recv(100)
for _ in range(20000):
    send(113, struct.pack("<I", 0) + text("no\x1b[31m") + text("") + struct.pack("<III", 0, 0, 0) + blob(b""))
P
WAVESMITH_PYTHON=$t/python expect "a compiler that lies" 5 "$ws" compile "$k" --trust-python
check "is told" err_has "the compiler answers the same twice"
check "its words are plain" eval '! grep -q "$(printf "\033")" "$tmp/err"'
check "nothing of it is left" [ -z "$(find "$t/twice.triton" -name '.work*')" ]

# Who compiles ends with the tool, in whatever way that ends.
cat >"$t/kernels.py" <<'P'
import ctypes, os, signal, time
pid = os.fork()
if pid == 0:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    open(os.environ["TMPDIR"] + "/ready", "w").write(str(os.getpid()))
time.sleep(100)
P
WAVESMITH_PYTHON=$t/python "$ws" compile "$k" --trust-python >"$tmp/out" 2>"$tmp/err" &
pid=$!
for _ in $(seq 200); do
    child=$(cat "$t/twice.triton/sm_90/.work-$pid/ready" 2>/dev/null)
    [ -z "$child" ] || break
    sleep 0.05
done
kill -9 $pid; wait $pid 2>/dev/null
for _ in $(seq 100); do [ -d "/proc/$child" ] || break; sleep 0.05; done
check "a child of it ends with the tool" eval '[ -n "$child" ] && [ ! -d "/proc/$child" ]'

mkdir -p "$tmp/else2" && rm -r "$t/twice.triton" && ln -s "$tmp/else2" "$t/twice.triton"
WAVESMITH_PYTHON=$t/python expect "a folder elsewhere" 2 "$ws" compile "$k" --trust-python
check "is not written to" [ -z "$(find "$tmp/else2" -type f)" ]
rm "$t/twice.triton"
expect "nothing in Triton" 2 "$ws" compile ops/gemm --trust-python
check "is no work" err_has "has no kernel in Triton"
finish
