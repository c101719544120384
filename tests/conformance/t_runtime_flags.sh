#!/usr/bin/env bash
# The runtime decides the same under any compiler and flags, also in one file;
# it uses libc alone; its headers are C++ too.
set -u
cd "${WS_ROOT:-$(dirname "$0")/../..}" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
packs="tests/fuzz/corpus/pack/one tests/fuzz/corpus/pack/few \
tests/fuzz/corpus/pack/many tests/fuzz/corpus/pack/rows \
tests/fuzz/corpus/pack/model"
failed=0
ok() { echo "ok $1"; }
not_ok() { echo "not ok $1"; failed=1; sed 's/^/# /' "$tmp/log" | head -n 20; }
check() { # name, command...
    local name=$1
    shift
    if "$@" >"$tmp/log" 2>&1; then ok "$name"; else not_ok "$name"; fi
}

dump() { # name of output, compiler, flags...
    local out=$1 cc=$2
    shift 2
    $cc -std=c11 -D_GNU_SOURCE -Iruntime "$@" runtime/wsrt_*.c \
        tests/conformance/pick_dump.c -lm -o "$tmp/$out" &&
        "$tmp/$out" $packs >"$tmp/$out.txt"
}
same() { # name of output, compiler, flags...
    dump "$@" && cmp "$tmp/base.txt" "$tmp/$1.txt"
}

check runtime_flags_base dump base gcc -O2
# Exact, nearest, default, the model's, the formula's and refused shapes all
# occur, many of each.
enough() {
    awk 'NF > 6 {n[$6]++} NF == 5 {n[$5]++} /differs/ {bad = 1}
        END {exit bad || !(n[1] > 50 && n[2] > 500 && n[3] > 10 &&
        n[4] > 500 && n[5] > 500 &&
        n[-5] > 500 && n[-6] > 50)}' "$tmp/base.txt"
}
check runtime_flags_cover enough
check runtime_flags_Os_fast_math same fast gcc -Os -ffast-math
check runtime_flags_O0 same plain gcc -O0
check runtime_flags_O3_native same native gcc -O3 -march=native -ffast-math
check runtime_flags_unsigned_char same chars gcc -O1 -funsigned-char
# Multiplications and additions in one, and not, where the processor can.
fused() { # name, compiler
    if grep -qw fma /proc/cpuinfo; then
        check "$1_fma" same fma "$2" -O3 -ffast-math -mfma -mavx2
        check "$1_no_fma" same no_fma "$2" -O3 -ffast-math -mno-fma
    else
        echo "# SKIP $1_fma: the processor has none"
    fi
}
fused runtime_flags_gcc gcc
if command -v clang >/dev/null; then
    check runtime_flags_clang same clang clang -O3 -ffast-math
    check runtime_flags_clang_O0 same clang0 clang -O0
    fused runtime_flags_clang clang
else
    echo "# SKIP no clang"
fi

tools/amalgamate "$tmp/one"
amalgam() { # compiler, flags...
    "$@" -std=c11 -pedantic -Wall -Wextra -Wshadow -Wundef -Werror \
        -I"$tmp/one" "$tmp/one/wsrt.c" tests/conformance/pick_dump.c -lm \
        -o "$tmp/dump_one" &&
        "$tmp/dump_one" $packs >"$tmp/one.txt" &&
        cmp "$tmp/base.txt" "$tmp/one.txt"
}
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    check "runtime_amalgam_${cc}_O0" amalgam $cc -O0
    check "runtime_amalgam_${cc}_O3" amalgam $cc -O3 -ffast-math
done
# Only the public names are visible in it.
amalgam_hides() {
    gcc -std=c11 -O2 -shared -fPIC -I"$tmp/one" "$tmp/one/wsrt.c" \
        -o "$tmp/one.so" -lm || return 1
    # Public names have one underscore after wsrt, as in the header.
    nm -D --defined-only "$tmp/one.so" | awk '{print $3}' | sort \
        >"$tmp/shown"
    sed -n 's/^WSRT_API.*[ *]\(wsrt_[a-z_]*\)(.*/\1/p' runtime/wsrt.h | sort |
        diff - "$tmp/shown"
}
check runtime_amalgam_hides amalgam_hides

symbols() {
    for f in runtime/wsrt_*.c; do
        gcc -std=c11 -D_GNU_SOURCE -Iruntime -O2 -fPIC -c "$f" \
            -o "$tmp/$(basename "$f" .c).o" || return 1
    done
    tools/check-runtime-symbols "$tmp"/wsrt_*.o
}
check runtime_symbols symbols
# The check can fail.
symbols_foreign() {
    echo 'void *wsrt_x(void); void *malloc(unsigned long);
        void *wsrt_x(void) { return malloc(1); }' >"$tmp/x.c"
    gcc -c "$tmp/x.c" -o "$tmp/x.o" && ! tools/check-runtime-symbols "$tmp/x.o"
}
check runtime_symbols_can_fail symbols_foreign

if command -v g++ >/dev/null; then
    cxx() {
        echo '#include "wsrt.h"
            int main() { return wsrt_axis_count(nullptr) != 0; }' >"$tmp/h.cc"
        g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iruntime \
            -c "$tmp/h.cc" -o "$tmp/h.o" &&
            g++ "$tmp/h.o" "$tmp"/wsrt_*.o -lm -o "$tmp/h" && "$tmp/h"
    }
    check runtime_header_cxx cxx
else
    echo "# SKIP no g++"
fi
exit $failed
