#!/usr/bin/env bash
# The model in a tune's pack, of a kernel whose default does not fit the device.
. tests/tap.sh
have_opencl || skip_all "no OpenCL device"

cat >"$tmp/op.yaml" <<'EOT'
op: twice
axes: {N: var}
inputs: {A: {shape: [N], dtype: float32}}
outputs: {C: {shape: [N], dtype: float32}}
reference: {kernel: ref.yaml}
workloads: [{N: 1000}, {N: 9000}]
EOT
cat >"$tmp/ref.yaml" <<'EOT'
kernel: ref
op: op.yaml
dialect: opencl
source: ref.cl
launches: [{entry: f, grid: [1], block: [1], args: [A, C, {int32: N}]}]
EOT
cat >"$tmp/ref.cl" <<'EOT'
kernel void f(global const float *A, global float *C, int n)
{
    for (int i = 0; i < n; i++)
        C[i] = A[i] + A[i];
}
EOT
cat >"$tmp/k.cl" <<'EOT'
kernel void f(global const float *A, global float *C, int n)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        C[i] = 2 * A[i];
}
EOT
cat >"$tmp/k.yaml" <<'EOT'
kernel: strided
op: op.yaml
dialect: opencl
source: k.cl
parameters: {B: {values: [1, 2, 4, 8, 16, 32, 64], default: 64}, G: {values: [1, 4], default: 4}}
constraints: [B < 64 or device_max_threads > 1000000]
launches: [{entry: f, grid: [G], block: [B], args: [A, C, {int32: N}]}]
EOT
expect "a tune" 0 "$ws" tune "$tmp/k.yaml" --strategy grid --budget 40 --store "$tmp/s.db" --out "$tmp/p.wspack"
check "the default did not run" out_has "'B < 64 or device_max_threads > 1000000' does not hold"
expect "a shape that nobody tuned" 0 "$ws" pick "$tmp/p.wspack" N=5000
check "is answered by a model" out_has "of 12 candidates"
check "without a default" [ "$(grep -c '^ *default: ' "$tmp/out")" -eq 0 ]
expect "as JSON" 0 "$ws" pick "$tmp/p.wspack" N=5000 --json
check "never by the default" [ -z "$(grep '"B": "64"' "$tmp/out")" ]
finish
