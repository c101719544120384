#!/usr/bin/env bash
# tests/gpu/forms.sh BUILD OUT: kernels in every form that the CUDA device takes,
# with a row of 200 KB in shared memory: a C++ template, a plain C++ name, one
# that needs sm_90a, PTX and cubin (made here by nvcc), the portable dialect;
# and references that are a trusted kernel and Python. Exit code 1 if a verdict
# is not ok.
set -u
[ $# -eq 2 ] || { sed -n '2,6s/^# //p' "$0"; exit 2; }
build=$1 out=$2 dev=${DEVICE:-cuda:0} bad=0
mkdir -p "$out"
export WAVESMITH_WORKER=${WAVESMITH_WORKER:-$PWD/$build/wavesmith-worker} WAVESMITH_SHARE=$PWD
cache=$(mktemp -d)
export WAVESMITH_CACHE=$cache
folder=$(mktemp -d)
trap 'rm -rf "$cache" "$folder"' EXIT
cp tests/gpu/forms/* "$folder"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
"$nvcc" -arch=sm_90 -ptx "$folder/rows.cu" -o "$folder/rows.ptx" && "$nvcc" -arch=sm_90 -cubin "$folder/rows.cu" -o "$folder/rows.cubin" || bad=1
one() {
    if "$build/wavesmith" check "$@" --device "$dev" >"$out/forms.last" 2>&1; then
        echo "ok     $*"
    else
        echo "not ok $*"
        cat "$out/forms.last"
        bad=1
    fi
}
for form in template plain hopper ready_ptx ready_cubin; do
    for shape in M=4,N=4096 M=3,N=50000 M=1,N=1; do
        one examples/own-op-kernel --kernel "$folder/$form.yaml" --workload $shape
    done
done
one examples/own-op-kernel --workload M=512,N=1024
one examples/own-op --trust-python
exit $bad
