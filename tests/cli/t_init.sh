#!/usr/bin/env bash
# wavesmith init: drafts with blanks, and that a filled draft runs.
. tests/tap.sh

expect "help" 0 "$ws" init --help
check "usage" out_has "usage: wavesmith init"
expect "no words" 2 "$ws" init
expect "no such file" 2 "$ws" init "$tmp/none.cl"
check "it is named" err_has "none.cl"
printf 'int f(int a) { return a; }\n' >"$tmp/no.cl"
expect "no kernel in it" 2 "$ws" init "$tmp/no.cl"
check "it says what one begins with" err_has "__kernel"
check "nothing was written" [ ! -e "$tmp/no.yaml" ]
printf 'a\0b' >"$tmp/bin.cl"
expect "not a text" 2 "$ws" init "$tmp/bin.cl"

# What is no kernel has one clear message.
: >"$tmp/empty.cl"
expect "an empty file" 2 "$ws" init "$tmp/empty.cl"
check "it says so" err_has "is empty"
head -c 2000000 /dev/zero | tr '\0' ' ' >"$tmp/large.cl"
expect "two megabytes" 2 "$ws" init "$tmp/large.cl"
check "it says so" err_has "longer than"

# Without libclang and a driver the signatures alone are read.
mkdir "$tmp/nolib"
for f in libclang-19.so.19 libclang-19.so.1 libclang-19.so libclang.so.19; do : >"$tmp/nolib/$f"; done
have_clang() { OCL_ICD_VENDORS=/nonexistent "$ws" init "$1" --out "$tmp/probe.yaml" | grep -q 'by libclang'; }
cp examples/own-kernel/my_gemm.cl "$tmp/plain.cl"
cp "$tmp/plain.cl" "$tmp/probe.cl"
clang=1; have_clang "$tmp/probe.cl" || clang=
with_clang=$LD_LIBRARY_PATH
export LD_LIBRARY_PATH=$tmp/nolib:$LD_LIBRARY_PATH
OCL_ICD_VENDORS=/nonexistent expect "without a driver" 0 "$ws" init "$tmp/plain.cl"
check "read by signatures" out_has "by its signatures alone"
check "it says what would read more" out_has "libclang1-19"
check "both files are named" out_has "plain.op.yaml"
check "the parameters are found" out_has "parameter UNROLL"
check "the reference's choices" grep -q 'reference: ??? *# {python: FILE, function: NAME}, or {kernel: FILE}' "$tmp/plain.op.yaml"
check "the same in the list" out_has "{python: FILE, function: NAME}, or {kernel: FILE}"
check "both are there" [ -s "$tmp/plain.yaml" -a -s "$tmp/plain.op.yaml" ]
cp "$tmp/plain.yaml" "$tmp/kept"
expect "again: nothing is overwritten" 2 "$ws" init "$tmp/plain.cl"
check "it says so" err_has "exists already"
check "the hint" err_has "--force"
check "the file is untouched" cmp -s "$tmp/plain.yaml" "$tmp/kept"
OCL_ICD_VENDORS=/nonexistent expect "forced" 0 "$ws" init "$tmp/plain.cl" --force
for c in check space tune; do
    expect "$c: blanks are left" 2 "$ws" $c "$tmp/plain.yaml"
    check "$c: the first is located" err_has "plain.yaml:10:"
    check "$c: it says what goes there" err_has "the values to try"
    check "$c: the others are listed" err_has "'grid' of launch 1"
done
sed -i 's/values: ???/values: [1, 2]/; s/grid: ???/grid: M/; s/block: ???/block: 1/' "$tmp/plain.yaml"
expect "the op's blanks come next" 2 "$ws" check "$tmp/plain.yaml"
check "in its file" err_has "plain.op.yaml:9:"
check "the tensor is named" err_has "'shape' of tensor 'A'"
sed -i 's/reference: ???/reference: {native: gemm}/; s/reduction: ???/reduction: K/; s/{M: ???, N: ???, K: ???}/{M: 3, N: 33, K: 37}/
    s/\(A: {shape: \)???/\1[M, K]/; s/\(W: {shape: \)???/\1[N, K]/; s/\(C: {shape: \)???/\1[M, N]/' "$tmp/plain.op.yaml"
expect "a space without blanks" 0 "$ws" space "$tmp/plain.yaml" --count

# Blanks anywhere: in a name, inside of an expression, in a quoted text, in a file of workloads.
mkdir -p "$tmp/b/kernels"
cat >"$tmp/b/op.yaml" <<'YAML'
op: b
about: is this really right???
axes: {M: {range: [1, 64]}, T: {types: [float32]}}
outputs: {y: {shape: [M], dtype: T}}
reference: {native: gemm}
workloads: w.yaml
YAML
cat >"$tmp/b/kernels/k.yaml" <<'YAML'
{kernel: k, dialect: opencl, source: k.cl, launches: [{entry: k, grid: M, block: 1, args: [y]}]}
YAML
echo '__kernel void k(__global float *y) { }' >"$tmp/b/kernels/k.cl"
printf -- '- {M: 4, name: "why???"}\n' >"$tmp/b/w.yaml"
expect "a question is no blank" 0 "$ws" space "$tmp/b"
blank() { # FILE SED WORDS
    cp -r "$tmp/b" "$tmp/c"; sed -i "$2" "$tmp/c/$1"
    expect "blank by $2" 2 "$ws" space "$tmp/c" --json
    check "$3" out_has "$3"; check "it has a line" grep -q '"line": [1-9]' "$tmp/out"; rm -r "$tmp/c"; }
blank op.yaml 's/about: .*/about: ???/' "'about' is a blank"
blank op.yaml 's/M: {range/???: {range/' "a name in 'axes'"
blank op.yaml 's/shape: .M./shape: ["2 * ???"]/' "'shape' of tensor 'y'"
blank op.yaml 's/1, 64/1, "???"/' "'range' of axis 'M'"
blank w.yaml 's/M: 4/M: ???/' "'M' of entry 1 of 'workloads'"

# For an op that is not finished: its reference is drafted as a kernel.
cat >"$tmp/row.op.yaml" <<'YAML'
op: row
axes: {M: var, N: var}
inputs: {x: {shape: [M, N], dtype: float32}}
outputs: {y: {shape: [M, N], dtype: float32}}
reference: ???
tolerance: {reduction: ???}
workloads: [{M: ???, N: ???}]
YAML
cat >"$tmp/row.cl" <<'CL'
__kernel __attribute__((reqd_work_group_size(X, 1, 1)))
void row(__global const float *x, __global float *y, int M, int N) { y[get_global_id(0)] = x[X]; }
CL
OCL_ICD_VENDORS=/nonexistent expect "for an unfinished op" 0 "$ws" init "$tmp/row.cl" --op "$tmp/row.op.yaml"
check "its arguments are bound" grep -qF -- "- {int32: M}" "$tmp/row.yaml"
check "the block is the source's" grep -qF 'block: [X, 1, 1]' "$tmp/row.yaml"
sed -i 's/reference: ???/reference: {kernel: none.yaml}/' "$tmp/row.op.yaml"
OCL_ICD_VENDORS=/nonexistent expect "whose reference is to come" 0 "$ws" init "$tmp/row.cl" --op "$tmp/row.op.yaml" --force
sed -i 's/M: var/???: var/' "$tmp/row.op.yaml"
OCL_ICD_VENDORS=/nonexistent expect "whose axes are not known" 2 "$ws" init "$tmp/row.cl" --op "$tmp/row.op.yaml" --force
check "it says what goes there" err_has "the name of a size"

# Several functions.
printf '__kernel void a(__global float *x) {}\n__kernel void b(__global float *x, int n) {}\n' >"$tmp/two.cl"
OCL_ICD_VENDORS=/nonexistent expect "several functions" 0 "$ws" init "$tmp/two.cl"
check "all, in the order of the text" [ "$(grep -n 'entry: [ab]' "$tmp/two.yaml" | cut -d: -f3 | tr -d ' \n')" = ab ]
OCL_ICD_VENDORS=/nonexistent expect "two launches" 0 "$ws" init "$tmp/two.cl" --force --entry b,a
check "in that order" [ "$(grep -n 'entry: [ab]' "$tmp/two.yaml" | cut -d: -f3 | tr -d ' \n')" = ba ]
OCL_ICD_VENDORS=/nonexistent expect "an unknown one" 2 "$ws" init "$tmp/two.cl" --force --entry c
check "it is named" err_has "'c'"
expect "an unknown op" 2 "$ws" init "$tmp/two.cl" --force --entry a --op gemmm

# CUDA C, with a template.
printf 'template <int BM, typename T>\n__global__ void mm(const T *a, float *c, int n) { }\n' >"$tmp/t.cu"
expect "CUDA C" 0 "$ws" init "$tmp/t.cu" --json
check "the dialect" out_has '"dialect": "cuda"'
check "the blanks" out_has "\"'values' of parameter 'BM'\""
check "the entry is a name expression" grep -qF 'entry: "mm<{BM}, {T}>"' "$tmp/t.yaml"

if ! have_opencl; then
    echo "ok device drafts # SKIP: no OpenCL device"; echo "# SKIP no OpenCL device"; finish
fi
export WAVESMITH_CACHE=$tmp/cache
cp examples/own-kernel/my_gemm.cl "$tmp/my.cl"
expect "with the driver, for a shipped op" 0 "$ws" init "$tmp/my.cl" --op gemm
check "read by the driver" out_has "by the driver of"
check "no op file" [ ! -e "$tmp/my.op.yaml" ]
check "the types are tied" grep -qF "T == float32" "$tmp/my.yaml"
sed -i 's/COLS: {values: ???}/COLS: {values: [1, 2, 4]}/; s/UNROLL: {values: ???}/UNROLL: {values: [4, 8]}/
    s/grid: ???/grid: ["ceil_div(N, 8 * COLS)", M]/; s/block: ???/block: [8, 1]/' "$tmp/my.yaml"
expect "the filled draft is right" 0 "$ws" check "$tmp/my.yaml" --workload M=3,N=33,K=37 --config COLS=2
check "verdict ok" out_has "verdict: ok"
sed -i 's/grid: M/grid: ["ceil_div(N, COLS)", M]/' "$tmp/plain.yaml"
expect "a new op, with another's reference" 0 "$ws" check "$tmp/plain.yaml"
check "its verdict is ok" out_has "verdict: ok"

# What only the compiler knows: a function made by a macro, a missing type.
cat >"$tmp/made.cl" <<'CL'
#define MAKE(T) __kernel void twice_##T(__global const T *x, __global T *y, int n) \
    { int i = get_global_id(0); if (i < n) y[i] = x[i] * factor; }
MAKE(float)
CL
expect "a function made by a macro" 0 "$ws" init "$tmp/made.cl"
check "the driver found it" out_has "twice_float("
check "and the name that is missing" out_has "parameter factor"
printf '__kernel void f(__global Foo *x) { this is no C }\n' >"$tmp/bad.cl"
expect "what does not compile" 0 "$ws" init "$tmp/bad.cl"
check "it says so" out_has "not read: the source by the driver"
finish
