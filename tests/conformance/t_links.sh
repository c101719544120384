#!/usr/bin/env bash
# What is built starts on any machine: it is linked against libraries of the
# distribution that are listed here, and no driver or toolkit is among them;
# and none of their headers is needed to compile.
. tests/tap.sh
build=${WS_BUILD:-build/gcc}
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
own='lib(c|m|dl|pthread|gcc_s)\.so.*|ld-linux.*'
san='lib(asan|ubsan|tsan|lsan|stdc\+\+)\.so.*'
for f in wavesmith wavesmith-worker libwavesmith.so; do
    others=$(needed "$build/$f" | grep -vxE "$own|$san|lib(fyaml|jansson|sqlite3|z|curl)\.so.*")
    check "$f needs nothing else${others:+: $others}" [ -z "$others" ]
done
check "a worker loads no HTTP" [ -z "$(needed "$build/wavesmith-worker" | grep curl)" ]
others=$(needed "$build/libwsrt.so" | grep -vxE "$own|$san")
check "libwsrt.so needs nothing but libc${others:+: $others}" [ -z "$others" ]
check "the list is not empty" [ -n "$(needed "$build/wavesmith")" ]

# Our own headers name their folder.
includes() { grep -rnE "$1" --include='*.[ch]' src runtime worker cli include ops/*/reference.c; }
check "no header of a driver or toolkit" [ -z "$(includes '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](cuda|cu[A-Z]|cupti|nvml|nvrtc|nvPTX|CL/|ocl)[^/]*[>"]' | grep -v '"device/')" ]
check "which would be seen" [ -n "$(includes '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]stdint.h' | head -n 1)" ]
finish
