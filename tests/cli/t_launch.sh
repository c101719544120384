#!/usr/bin/env bash
# A pack of a CUDA device launched from a plain C program: a small tune on the
# driver that is pretended (tests/fakecuda), whose kernels do run; then
# tests/gpu/launch.c picks, prepares, launches and replays a captured graph.
. tests/tap.sh
build=${WS_BUILD:-build/gcc}
launch=$build/tests/gpu/launch
[ -x "$launch" ] || skip_all "tests/gpu/launch is not built"
echo '- {name: tiny, M: 4, N: 32, K: 64, T: float32}' >"$tmp/shapes.yaml"
fake=$(realpath "$build/tests/fakecuda")
tune() { LD_LIBRARY_PATH=$fake "$ws" tune gemm --device cuda:0 --workloads "$tmp/shapes.yaml" --store "$tmp/s.db" "$@"; }

expect "a tune writes a pack" 0 tune --budget 2 --out "$tmp/p.wspack"
check "and says that it has binaries" grep -q 'wspack (.* binar' "$tmp/out"
expect "it has binaries" 0 "$ws" pick "$tmp/p.wspack" --binaries
check "for the device" out_has "cuda sm_90, "
check "and for what" out_has "  for M=4,N=32,K=64,T=float32"
expect "and says which a shape takes" 0 "$ws" pick "$tmp/p.wspack" --json M=4,N=32,K=64
check "with its target" out_has '"target": "sm_90"'
check "and its scratch memory" out_has '"scratch_bytes": '
expect "bfloat16 was not compiled" 0 "$ws" pick "$tmp/p.wspack" --json M=4,N=32,K=64,T=bfloat16
check "and has no binary" out_has '"binary": null'
expect "a plain program launches it" 0 env LD_LIBRARY_PATH="$fake" "$launch" "$tmp/p.wspack" 1
check "a tuned shape" out_has '"how": "exact"'
check "and a near one" out_has '"how": "nearest"'
check "rightly" out_has '"wrong": 0, "failures": 0'
check "and says what it costs" out_has '"wsrt_plan_launch": {"median": '
if ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
    expect "without a driver it says so" 1 "$launch" "$tmp/p.wspack" 0
    check "by the name of the library" err_has "libcuda.so.1"
fi
finish
