#!/usr/bin/env bash
# Triton compiles ahead: the same bytes as in tests/data/triton, one after the
# other or two at a time, going on after a stop; errors of the source, a compiler
# that dies, and what the confinement keeps from it. With the data at hand, the
# machine code of a kernel is that of the timing matrix.
. tests/tap.sh
python=$PWD/build/venv-triton/bin/python
"$python" -c 'import triton' 2>/dev/null || skip_all "no Triton in build/venv-triton: make deps-triton"
export WAVESMITH_PYTHON=$python
t=$tmp/triton
cp -r tests/data/triton "$t"
k=$t/twice.yaml
mv "$t/twice.triton" "$t/old"
compile() { "$ws" compile "$k" --trust-python "$@"; }
expect "compiles" 0 compile --jobs 2 --json
check "all but six" out_has '"compiled": 14'
check "six fail" out_has '"failed": 6'
version=$("$python" -c 'import triton; print(triton.__version__)')
if [ "$version" = 3.6.0 ]; then
    check "the bytes are those of the fixture" diff -r "$t/old" "$t/twice.triton"
fi
expect "again" 0 compile --json
check "keeps all" out_has '"compiled": 0'
rm "$t"/twice.triton/sm_90/move_4*.cubin
echo x >>"$(ls "$t"/twice.triton/sm_90/twice_1*.cubin | head -n 1)"
expect "what is missing or damaged" 0 compile --json
check "is made again" out_has '"compiled": 2'
expect "it loads" 1 "$ws" check "$k" --device null --trust-python

# --- a stop in the middle --------------------------------------------------
rm -r "$t/twice.triton"
timeout -s INT 1.2 "$ws" compile "$k" --trust-python --jobs 1 >"$tmp/out" 2>&1
# what one that was killed leaves, and one that lives
(exit 0) & wait $!
mkdir -p "$t/twice.triton/sm_90/.work-$!/deep" "$t/twice.triton/sm_90/.work-$$"
echo x >"$t/twice.triton/sm_90/.work-$!/deep/file"
echo x >"$t/twice.triton/sm_90/index.json.$(printf %x $!)-12ab.tmp"
expect "goes on" 0 compile --json
check "what is somebody's stays" rmdir "$t/twice.triton/sm_90/.work-$$"
check "and is whole" diff -r "$t/old" "$t/twice.triton"

# --- sources ---------------------------------------------------------------
source_is() { cat >"$t/kernels.py"; rm -rf "$t/twice.triton"; }
head='import ctypes, os, socket
import triton
import triton.language as tl
'
kernels=$(sed -n '/^@triton/,$p' tests/data/triton/kernels.py)
source_is <<<"import nothing_like_it"
expect "an import that fails" 3 compile
check "is told" err_has "No module named 'nothing_like_it'"
source_is <<<"$head$(sed 's/twice/thrice/' <<<"$kernels")"
expect "another function" 0 compile --json
check "is told, too" err_has "no function 'twice'"
source_is <<<"$head$(sed 's/EVEN: /ODD: /; s/if EVEN/if ODD/' <<<"$kernels")"
expect "another constant" 0 compile --json
check "names it" err_has "has no constant EVEN"
source_is <<<"$head$(sed 's/x_ptr, y_ptr, n, /x_ptr, y_ptr, n, m, /' <<<"$kernels")"
expect "more arguments" 1 compile --json
check "lists them" out_has "takes 4 arguments (x_ptr, y_ptr, n, m)"
source_is <<<"$head
os.register_at_fork(after_in_child=lambda: ctypes.string_at(0))
$kernels"
expect "a compiler that dies" 1 compile --json
check "is a failure" err_has "the compiler ended with signal 11"
source_is <<<"${head}socket.socket()
$kernels"
expect "a socket" 3 compile
check "is denied" err_has "PermissionError"
# A forge compiles what it tries; the fake driver takes no image of a real compiler.
fake=${WS_BUILD:-build/gcc}/tests/fakecuda
if [ -e "$fake/libcuda.so.1" ]; then
    cp -r tests/data/triton-forge "$t/forge"
    expect "a forge" 1 env LD_LIBRARY_PATH="$fake" "$ws" forge "$t/forge" --device cuda:0 --trust-python --budget 2
    check "compiles, and the driver sees it" out_has "cannot load the kernel: CUDA_ERROR_INVALID_IMAGE"
fi
mkdir "$t/mine"
source_is <<<"${head}open('$t/mine/x', 'w')
$kernels"
compile >"$tmp/out" 2>"$tmp/err"
check "files of others are not written" [ ! -e "$t/mine/x" ]
finish
