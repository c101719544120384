#!/usr/bin/env bash
# An installed Wavesmith works away from its source tree, and a program of a
# user builds against its libraries by pkg-config.
. tests/tap.sh
p=$tmp/prefix
check "make install" make -s B="${BUILD:-build/gcc}" PREFIX="$p" install
unset WAVESMITH_WORKER WAVESMITH_SHARE WAVESMITH_CACHE
root=$PWD
cd "$tmp" || exit 1
export LD_LIBRARY_PATH=$p/lib PKG_CONFIG_PATH=$p/lib/pkgconfig
cp -r "$root/examples/own-kernel" own
cp -r "$root/examples/own-op" "$root/examples/own-op-kernel" .
expect "devices" 0 "$p/bin/wavesmith" devices
expect "the shipped operator is found by its name" 0 "$p/bin/wavesmith" space own/my_gemm.yaml --count
if "$p/bin/wavesmith" devices | grep -q '^opencl:'; then
    expect "tune" 0 "$p/bin/wavesmith" tune own/my_gemm.yaml --workloads own/shapes.yaml --budget 4 --out gemm.wspack
    expect "a trusted kernel" 0 "$p/bin/wavesmith" check own-op-kernel --workload M=3,N=77
    if "${WAVESMITH_PYTHON:-python3}" -c 'import numpy' 2>/dev/null; then
        expect "a reference in Python" 0 "$p/bin/wavesmith" check own-op --trust-python --workload M=3,N=77
    else
        echo "ok a reference in Python # SKIP: no numpy"
        echo "# SKIP no numpy for ${WAVESMITH_PYTHON:-python3}"
    fi
    awk '/^```c$/ {on = 1; next} /^```/ {on = 0} on' "$root/docs/quickstart.md" >pick.c
    for how in "" "--static"; do
        check "the example builds (${how:-shared})" sh -c "gcc pick.c -o pick \$(pkg-config $how --cflags --libs wsrt)"
        expect "and picks" 0 ./pick
        check "it prints the choice" out_has "BX="
    done
fi
printf '#include <wavesmith/wavesmith.h>\nint main(void) { struct ws_ctx *c = ws_ctx_new(0); ws_ctx_free(c); return !c; }\n' >lib.c
check "a program of the library builds" sh -c 'gcc lib.c -o lib $(pkg-config --cflags --libs wavesmith)'
check "and runs" ./lib
cd "$root" || exit 1
check "make uninstall" make -s B="${BUILD:-build/gcc}" PREFIX="$p" uninstall
check "nothing is left" [ -z "$(find "$p" -type f -o -type l)" ]
finish
