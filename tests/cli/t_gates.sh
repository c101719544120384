#!/usr/bin/env bash
# What check and tune say about gates: what failed, why one is absent, how to
# see a failure on a hidden shape again, and whether choices were proven.
. tests/tap.sh
have_opencl || skip_all "no OpenCL device"

k=$tmp/gates
mkdir "$k"
cp examples/own-kernel/my_gemm.* "$k"
w=(--workload "M=2,N=64,K=32,T=float32")
expect "right" 0 "$ws" check "$k/my_gemm.yaml" "${w[@]}"
check "what was not asked for" grep -qE "shapes +absent +not asked for" "$tmp/out"
check "nothing to see again" [ -z "$(grep "to see it" "$tmp/out")" ]

# Right for even N alone.
sed -i '0,/^{/s//{\n    if (N % 2) return;/' "$k/my_gemm.cl"
expect "the shape asked for" 0 "$ws" check "$k/my_gemm.yaml" "${w[@]}"
expect "all gates" 1 "$ws" check "$k/my_gemm.yaml" "${w[@]}" --seed=7 --all-gates --config UNROLL=2
check "what failed" grep -qE "shapes +failed .* fails on a shape that nobody asked for" "$tmp/out"
check "no phrase of who passes" [ -z "$(grep "right on shapes that nobody" "$tmp/out")" ]
check "where no sanitizer is" grep -qE "sanitizer +not come to" "$tmp/out"
again=$(grep -A1 "to see it there:" "$tmp/out" | tail -n 1)
case $again in
"  wavesmith check $k/my_gemm.yaml --seed=7 --config BX="*"UNROLL=2 --workload M="*",N="*) ok "the command" ;;
*) not_ok "the command: $again" ;;
esac
"$ws" ${again#  wavesmith} >"$tmp/out" 2>"$tmp/err"
check "it fails there" [ $? -eq 1 ]
check "as was said" out_has "verdict: wrong"

# Says what it is made for: believed, and the gate is none.
sed -i 's/^constraints:/&\n  - {require: M == 2 and N == 64 and K == 32, about: one shape}/' "$k/my_gemm.yaml"
expect "one shape" 0 "$ws" check "$k/my_gemm.yaml" "${w[@]}" --all-gates
check "the gate says why" grep -qE "shapes +absent +no shape but those asked for" "$tmp/out"
expect "as JSON" 0 "$ws" check "$k/my_gemm.yaml" "${w[@]}" --all-gates --json
check "the same" out_has '"why": "no shape but those asked for'

# --- tune ----------------------------------------------------------------------
echo "- {M: 2, N: 64, K: 32, T: float32}" >"$tmp/shapes.yaml"
tune=("$ws" tune examples/own-kernel/my_gemm.yaml --workloads "$tmp/shapes.yaml" --budget 2 --seed 1)
expect "a tune" 0 "${tune[@]}" --store "$tmp/a.db" --out "$tmp/a.pack"
check "says what is proven" out_has "proven, of 1 choices: 1 on hidden shapes, 1 on families of values"
expect "the pack, too" 0 "$ws" pick "$tmp/a.pack" M=2 N=64 K=32
check "what was passed" grep -qE '^  passed: filter build result timed state .*values shapes' "$tmp/out"
grep -q "not proven" "$tmp/out"; check "nothing is missing" test $? -ne 0
expect "few gates" 0 "${tune[@]}" --store "$tmp/a.db" --out "$tmp/a.pack" --gates few
check "a warning" err_has "warning: --gates few: nothing is proven"
check "and in the result" out_has "proven: nothing (--gates few)"
check "no trial is taken from the other's" out_has "(0 from the store)"
expect "a pack of few gates" 0 "$ws" pick "$tmp/a.pack" M=2 N=64 K=32
check "says so" out_has "not proven: it was not tried on other shapes and values"
check "and what was passed" out_has "passed: filter build result timed"
expect "the same as JSON" 0 "$ws" pick "$tmp/a.pack" M=2 N=64 K=32 --json
check "has them" out_has '"gates": ['
grep -q '"shapes"' "$tmp/out"; check "without those that were left out" test $? -ne 0
expect "as JSON" 0 "${tune[@]}" --store "$tmp/b.db" --out "$tmp/b.pack" --gates few --json
check "not proven" out_has '"proven_shapes": false'
finish
