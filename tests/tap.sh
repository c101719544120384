# tap.sh: for shell tests: source it, then `check NAME command...`.
# Prints TAP; `finish` sets the exit code.
ws=${WS_BUILD:-build/gcc}/wavesmith
tmp=${TMPDIR:-/tmp}
tap_bad=0
ok() { echo "ok $*"; }
not_ok() { echo "not ok $*"; tap_bad=1; }
skip_all() { echo "ok all # SKIP: $*"; echo "# SKIP $*"; exit 0; }
# check NAME CMD...: passes if CMD succeeds.
check() { local n=$1; shift; if "$@"; then ok "$n"; else not_ok "$n"; fi; }
# expect NAME CODE CMD...: output to $tmp/out and $tmp/err.
expect() {
    local n=$1 want=$2 rc; shift 2
    "$@" >"$tmp/out" 2>"$tmp/err"; rc=$?
    if [ "$rc" -eq "$want" ]; then ok "$n"; else
        not_ok "$n: exit $rc, want $want: $*"
        sed 's/^/#   /' "$tmp/out" "$tmp/err" | head -n 30; fi
}
out_has() { grep -qF -- "$1" "$tmp/out"; }
err_has() { grep -qF -- "$1" "$tmp/err"; }
have_opencl() { "$ws" devices 2>/dev/null | grep -q '^opencl:'; }
finish() { exit $tap_bad; }
