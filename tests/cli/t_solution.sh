#!/usr/bin/env bash
# A solution of flashinfer-bench as the start of a kernel: its sources are
# written, the host's part left out, and a kernel file is drafted for the
# Definition that it is for.
. tests/tap.sh
main=$PWD
cd "$tmp" && case $ws in /*) ;; *) ws=$OLDPWD/$ws ;; esac

cat >kernel.cu <<'CUDA'
#include <cuda_runtime.h>
#include <tvm/ffi/container/tensor.h>
#include "scale.h"

__global__ void scale_kernel(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = FACTOR * x[i];
}

void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y)
{
    int n = x.size(0);
    scale_kernel<<<(n + 255) / 256, 256>>>(static_cast<const float *>(x.data_ptr()), static_cast<float *>(y.data_ptr()), n);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, scale);
CUDA
# solution LANGUAGE FILE TEXT-FILE
solution() { python3 -c 'import json, sys
language, path, text = sys.argv[1:]
print(json.dumps({"name": "s", "definition": "scale_n", "author": "me",
  "spec": {"language": language, "target_hardware": ["NVIDIA_H100"], "entry_point": path + "::run"},
  "sources": [{"path": path, "content": open(text).read()}, {"path": "src/scale.h", "content": "#define FACTOR 2.0f\n"}]}))' "$@"; }
solution cuda src/kernel.cu kernel.cu >s.json
echo 'def run(x): return 2 * x' >t.py
solution triton main.py t.py >t.json
solution cuda main.cpp t.py >none.json
cat >d.json <<'JSON'
{"name": "scale_n", "op_type": "scale", "axes": {"n": {"type": "var"}},
 "inputs": {"x": {"shape": ["n"], "dtype": "float32"}}, "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
 "reference": "def run(x):\n    return 2 * x\n"}
JSON

expect "a solution becomes a kernel file" 0 "$ws" init s.json --op d.json
check "its kernel" out_has "scale_kernel(const float *x, float *y, int n)"
check "what was left out" out_has "8 lines of 'src/kernel.cu' that only a host compiles"
check "how to go on" out_has "then: wavesmith check d.json --kernel ./s.yaml"
check "no host code is left" bash -c '! grep -qE "tvm|<<<" s/src/kernel.cu'
check "the kernel stays, at its line" test "$(sed -n 5p s/src/kernel.cu)" = "$(sed -n 5p kernel.cu)"
check "the other source" grep -q FACTOR s/src/scale.h
expect "it is a kernel for the Definition" 0 "$ws" space d.json --kernel ./s.yaml --workload n=100
check "one config" out_has "1 valid"
expect "not twice" 2 "$ws" init s.json --op d.json
check "it is there" err_has "exists already"
expect "without the Definition an op is drafted" 0 "$ws" init s.json --force
check "its file" test -s s.op.yaml
expect "in Triton: the sources" 0 "$ws" init t.json
check "no more than that" out_has "wrote its sources alone"
check "and what to do" out_has "docs/triton.md"
check "there they are" cmp -s t/main.py t.py
expect "without a kernel: the sources" 0 "$ws" init none.json
sed 's|"main.py"|"../x.py"|' t.json >bad.json
expect "paths stay below" 2 "$ws" init bad.json
check "it says so" err_has "no path of a source"
check "nothing was written" test ! -e bad
cp s.json fail.json
expect "an op that is not there" 2 "$ws" init fail.json --op nosuch
check "leaves no sources behind" test ! -e fail
echo mine >s/src/kernel.cu
expect "nor with --force" 2 "$ws" init s.json --op nosuch --force
check "what was there is there again" test "$(cat s/src/kernel.cu)" = mine
cp d.json keep.json
expect "the Definition is not written over" 2 "$ws" init s.json --op d.json --out d.json --force
check "it is named" err_has "'d.json' would be written over"
check "it is whole" cmp -s d.json keep.json
cp s.json self.json
expect "nor the solution" 2 "$ws" init self.json --op d.json --out self.json --force
check "that is whole, too" cmp -s s.json self.json
echo precious >precious.cu
ln -sf ../../precious.cu s/src/kernel.cu
expect "no link is followed" 2 "$ws" init s.json --op d.json --force
check "it is named, too" err_has "s/src/kernel.cu' is a symbolic link"
rm -r s/src && mkdir elsewhere && ln -s ../elsewhere s/src
expect "nor one to a folder" 2 "$ws" init s.json --op d.json --force
check "which one" err_has "s/src' is a symbolic link"
check "nothing was written there" bash -c '[ "$(cat precious.cu)" = precious ] && [ -z "$(ls elsewhere)" ]'
expect "a kernel's source is not written over" 2 "$ws" init kernel.cu --out kernel.cu --force
expect "a Definition is no solution" 2 "$ws" init d.json
check "what one has" err_has "'sources'"
finish
