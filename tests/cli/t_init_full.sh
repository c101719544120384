#!/usr/bin/env bash
# wavesmith init with libclang: what is derived from a source, and that the drafts
# run without an edit.
. tests/tap.sh
export WAVESMITH_CACHE=$tmp/cache

printf '__kernel void f(__global float *x, int n)\n{\n    int i = get_global_id(0)\n}\n' >"$tmp/syntax.cl"
OCL_ICD_VENDORS=/nonexistent "$ws" init "$tmp/syntax.cl" >"$tmp/out" 2>"$tmp/err"
grep -q libclang1-19 "$tmp/out" && skip_all "no libclang 19"
expect "no C" 2 "$ws" init "$tmp/syntax.cl"
check "file and line" err_has "syntax.cl:3:"
check "nothing was written" [ ! -e "$tmp/syntax.yaml" ]

# in FILE WORDS: the draft has the words.
in_file() { check "$1: $2" grep -qF -- "$2" "$tmp/$1"; }
# runs NAME: the draft has no blank, and is right as it is.
runs() {
    check "$1: no blank" [ "$(grep -c '???' "$tmp/$1.yaml" "$tmp/$1.op.yaml" "$tmp/$1.reference.yaml" | grep -vc ':0$')" = 0 ]
    have_opencl || { ok "$1: judged # SKIP: no OpenCL device"; return; }
    expect "$1: right as it is" 0 "$ws" check "$tmp/$1.yaml" --workload ragged
}
draft() { cat >"$tmp/$1"; expect "$1" 0 "$ws" init "$tmp/$1"; }


# A program: its kernels without the code for the host, launched as that does.
draft program.cu <<'CU'
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
using namespace std;
constexpr int THREADS = 96;
__device__ float twice(float v) { return 2.0f * v; }
__global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n)
        return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = twice(sum);
}
__global__ void scale(float *x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
void run(const std::vector<float> &h, float *a, float *b, float *c, int M, int N, int K)
{
    dim3 block(32, 4);
    dim3 grid(CEIL_DIV(N, block.x), CEIL_DIV(M, 4));
    product<<<grid, block>>>(a, b, c, M, N, K);
    int all = M * N;
    scale<<<(all + THREADS - 1) / THREADS, THREADS>>>(c, 0.5f, all);
}
int main(int argc, char **argv)
{
    float *a;
    cudaMalloc(&a, argc * sizeof(float));
    printf("{ %s \" }\n", argv[0]);
}
CU
in_file program.yaml 'source: "program.device.cu"'
check "its kernels stay where they were" [ "$(grep -n 'void scale' "$tmp/program.device.cu" | cut -d: -f1)" = "$(grep -n 'void scale' "$tmp/program.cu" | cut -d: -f1)" ]
check "the host's code goes" [ "$(grep -cE 'main|vector|cudaMalloc|<<<|cstdio' "$tmp/program.device.cu")" = 0 ]
check "what the device needs stays" grep -q 'float twice' "$tmp/program.device.cu"
check "and it is said" out_has "not read: the code for the host (2 functions): 'program.device.cu' is the source without it"
in_file program.yaml 'grid: ["ceil_div(n, 32)", "ceil_div(m, 4)"] # as the host launches it (line 27)'
in_file program.yaml 'block: [32, 4]'
in_file program.yaml 'grid: ["ceil_div(n, 96)"]'
check "program: no blank" [ "$(cat "$tmp"/program.*yaml | grep -c '???')" = 0 ]
expect "what was written is not written over" 2 "$ws" init "$tmp/program.cu"
# A launch that is not understood is said, and then it is found as ever.
draft decided.cu <<'CU'
__global__ void add1(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + 1.0f;
}
void run(float *y, const float *x, int n)
{
    int threads = 128;
    if (n > 4096) threads = 256;
    add1<<<(n + threads - 1) / threads, threads>>>(y, x, n);
}
CU
check "says what is not understood" out_has "the block of 'add1' as the host launches it (line 11): what 'threads' is there is not known"
in_file decided.yaml 'grid: ["ceil_div(n, 256)"]'
# Host code that cannot be told from the rest.
draft broken.cu <<'CU'
__global__ void add1(float *y, int n)
{
    if (threadIdx.x < n) y[threadIdx.x] += 1.0f;
}
#if HERE
void run(float *y, int n) {
    if (n > 0)
#else
void run(float *y, int n) { if (n > 1) {
#endif
    { add1<<<1, 128>>>(y, n); }
}
CU
check "says what to do" out_has "put the kernels into a file of their own"

draft saxpy.cl <<'CL'
__kernel void saxpy(int n, float alpha, __global const float *x, __global float *in)
{
    int i = get_global_id(0);
    if (i < n)
        in[i] = alpha * x[i] + in[i];
}
CL
in_file saxpy.op.yaml 'alpha: {dtype: T, fill: {uniform: [0.5, 1.5]}}'
in_file saxpy.op.yaml 'inouts:'
in_file saxpy.op.yaml 'in_: {shape: [n], dtype: T}'
in_file saxpy.yaml 'grid: ["ceil_div(n, 256)"]'
in_file saxpy.reference.cl 'double alpha'
in_file saxpy.op.yaml 'floor: {bytes: "4 * n + 8 * n"}' # x once, in read and written
check "the order of the source" [ "$(sed -n '/args:/,$p' "$tmp/saxpy.yaml" | tr -d ' \n')" = 'args:-{int32:n}-alpha-x-in_' ]
runs saxpy

# What is whole is told from what only may be.
draft parts.cl <<'CL'
__kernel void parts(int m, int n, __global const float *all, __global const float *half_, __global const float *until,
                    __global const float *some, __global const float *diagonal, __global const float *row, __global float *out)
{
    int i = get_global_id(0);
    float s = 0.0f;
    if (i >= m)
        return;
    for (int j = 0; j < n; j++)
        s += all[i * n + j];
    for (int j = 0; j < n; j++)
        if (j <= i)
            s += half_[i * n + j];
    for (int j = 0; j < n; j += 2)
        s += until[i * n + j];
    if (s > 0.0f)
        s += some[i];
    s += diagonal[i * m + i];
    s += get_local_id(0) == 0 && row[i] > 1.0f ? 2.0f : 1.0f;
    out[i] = s;
}
CL
in_file parts.op.yaml 'read or written: half_, until, some, diagonal, row'
in_file parts.op.yaml 'floor: {bytes: "4 * m * n + 4 * m"}'
draft searched.cl <<'CL'
__kernel void searched(int m, int n, __global const float *x, __global int *out)
{
    int i = get_global_id(0);
    if (i < m) {
        int at = n;
        for (int j = 0; j < n; j++)
            if (x[i * n + j] > 0.5f) {
                at = j;
                break;
            }
        out[i] = at;
    }
}
CL
in_file searched.op.yaml '# floor: what is read or written whole for certain was not found'
draft self.cl <<'CL'
__kernel void self(int n, __global const float *x, __global float *out)
{
    float s = 0.0f;
    for (int i = i; i < n; i++)
        for (int j = i; j < n; j++)
            s += x[i * n + j];
    out[get_global_id(0)] = s;
}
CL
draft columns.cu <<'CU'
__global__ void columns(const float *x, const float *w, float *y, int m, int n)
{
    __shared__ float part[128];
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += 128)
        s += x[blockIdx.x * n + i] * w[i];
    part[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 128; k++)
            s += part[k];
        y[blockIdx.x] = s;
    }
}
CU
check "by threads and blocks, too" grep -q '^floor: {bytes: "4 \* [a-z]* \* n + 4 \* n + 4 \* [a-z]*"}' "$tmp/columns.op.yaml"

# Only read, though not const: no output.
draft read.cl <<'CL'
__kernel void add(__global float *a, __global float *b, __global float *c)
{
    size_t i = get_global_id(0);
    c[i] = a[i] / sqrt(b[i]);
}
CL
check "what is only read is an input" [ "$(sed -n '/^inputs/,/^outputs/p' "$tmp/read.op.yaml" | grep -c '^  [ab]:')" = 2 ]
in_file read.op.yaml 'b: {shape: [blocks, 256], dtype: T, fill: {uniform: [0.5, 1.5]}}'
runs read

draft csr.cl <<'CL'
__kernel void spmv(const int rows, __global const int *ptr, __global const int *col, __global const double *val,
                   __global const double *x, __global double *y)
{
    int r = get_global_id(0);
    if (r < rows) {
        double s = 0;
        for (int j = ptr[r]; j < ptr[r + 1]; j++)
            s += val[j] * x[col[j]];
        y[r] = s;
    }
}
CL
in_file csr.op.yaml 'ptr: {shape: [rows + 1], dtype: int32, fill: {integers: [0, 1023]}}'
in_file csr.op.yaml 'x_length: {range: [1024, 1073741824]}'
in_file csr.op.yaml 'x: {shape: [x_length], dtype: float64}'
in_file csr.op.yaml 'it vouches for changes alone'
in_file csr.op.yaml '# not in the floor, since it is not certain that all of it is read or written: ptr, col, val, x'
in_file csr.op.yaml 'floor: {bytes: "8 * rows"}'
runs csr

# A launch for the next: scratch; local memory; blocks of which no guard tells.
draft two.cl <<'CL'
__kernel void partial(__global const float *x, __global float *part, __local float *s, int n)
{
    int t = get_local_id(0);
    float acc = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        acc += x[i];
    s[t] = acc;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t == 0) {
        float a = 0;
        for (int j = 0; j < get_local_size(0); j++)
            a += s[j];
        part[get_group_id(0)] = a;
    }
}
__kernel void total(__global const float *part, __global float *sum, int blocks)
{
    if (get_global_id(0) == 0) {
        float a = 0;
        for (int j = 0; j < blocks; j++)
            a += part[j];
        sum[0] = a;
    }
}
CL
in_file two.yaml 'part: "4 * blocks"'
in_file two.reference.yaml 'part: "8 * blocks"'
in_file two.yaml '- {shared: 1024}'
in_file two.reference.yaml '- {shared: 2048}'
in_file two.yaml 'grid: [blocks]'
in_file two.op.yaml 'sum_: {shape: [1], dtype: T}'
runs two

# Names that nobody defines, and one that the source defines itself.
draft tile.cl <<'CL'
#ifndef STEP
#define STEP 2
#endif
__kernel void blend(__global const float *x, __global float *y, int n)
{
    int first = get_global_id(0) * COLS;
    float v[COLS];
    for (int c = 0; c < COLS; c++)
        if (first + c < n)
            v[c] = x[(first + c) * STEP] * WEIGHT + EPS;
    for (int c = 0; c < COLS; c++)
        if (first + c < n)
            y[first + c] = v[c];
}
CL
in_file tile.yaml 'COLS: {values: [4, 1, 2, 8]}'
in_file tile.yaml 'STEP: {values: [2]}'
in_file tile.op.yaml 'WEIGHT: 0.5'
in_file tile.op.yaml 'EPS: 1e-5'
in_file tile.op.yaml 'x: {shape: [n, 2], dtype: T}'
in_file tile.yaml '"ceil_div(n, 256 * COLS)"'
runs tile

# Bytes that count, through an atomic and a function.
draft hist.cl <<'CL'
int bin(__global const uchar *p, int i) { return p[i] / 4; }
__kernel void hist(__global const uchar *bytes, __global int *counts, int n)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&counts[bin(bytes, i)]);
}
CL
in_file hist.op.yaml 'counts: {shape: [64], dtype: int32'
in_file hist.op.yaml 'inouts:'
runs hist

# What cannot be derived is said.
draft open.cl <<'CL'
__kernel void walk(__global const int *next, __global float *y, int n)
{
    int i = get_global_id(0), at = i;
    if (i >= n)
        return;
    while (at * at < 1000)
        at += 7;
    y[i] = next[at];
}
CL
in_file open.op.yaml 'next: {shape: '
check "a length that is not derived" grep -q 'next: .*# check: how long it is could not be derived (line 8)' "$tmp/open.op.yaml"
check "in the list of guesses, too" out_has "could not be derived (line 8)"

# CUDA C; --json; the limits of what is read.
cat >"$tmp/k.cu" <<'CU'
#define TILE 16
extern "C" __global__ void __launch_bounds__(128) rows(const float *__restrict__ x, float *y, int m, int n)
{
    extern __shared__ float part[];
    int row = blockIdx.y, t = threadIdx.x;
    float s = 0.0f;
    for (int c = t; c < n; c += blockDim.x)
        s += expf(0.1f * x[row * n + c]);
    part[t] = s;
    __syncthreads();
    if (t == 0 && row < m) {
        for (int i = 1; i < blockDim.x; i++)
            s += part[i];
        y[row] = s;
    }
}
CU
expect "CUDA C" 0 "$ws" init "$tmp/k.cu" --json
check "read by libclang" out_has '"read_by": "libclang"'
check "the reference's file" out_has 'k.reference.yaml"'
check "no blank" out_has '"blanks": []'
in_file k.yaml 'grid: [1, m]'
in_file k.yaml 'block: [128]'
in_file k.yaml 'by __launch_bounds__'
in_file k.yaml '{shared: "512"}'
in_file k.op.yaml 'x: {shape: [m, n], dtype: T}'
in_file k.reference.cu 'exp(((double)0.1f) * x[row * n + c])'
printf 'template <int BM>\n__global__ void mm(float *c, int n) { c[threadIdx.x] = n; }\n' >"$tmp/t.cu"
expect "a template" 0 "$ws" init "$tmp/t.cu"
check "it is said" out_has "not read: the template 'mm'"
printf '__global__ void f(Foo *x) { x[0] = 1; }\n' >"$tmp/foo.cu"
expect "an unknown type" 0 "$ws" init "$tmp/foo.cu"
check "it is named" out_has "unknown type name 'Foo' (line 1)"

# For an op that is there: the launch in its names.
cp examples/own-kernel/my_gemm.cl "$tmp/mine.cl"
expect "for a shipped op" 0 "$ws" init "$tmp/mine.cl" --op gemm
check "no op file" [ ! -e "$tmp/mine.op.yaml" ]
in_file mine.yaml 'grid: ["ceil_div(N, 16 * COLS)", "ceil_div(M, 16)"]'
in_file mine.yaml 'COLS: {values: [4, 1, 2, 8]}'
have_opencl && expect "right as it is" 0 "$ws" check "$tmp/mine.yaml" --workload M=3,N=33,K=37
finish
