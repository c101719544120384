#!/usr/bin/env bash
# Source transformations compute what the kernel did: every case of
# tests/data/xform in OpenCL C that one applies to is judged as it comes out, in
# the first two shapes of its op (a ragged one, and one element), on the CPU
# device. Those in CUDA C compile in tests/conformance/t_xform.c. An argument: only cases like it.
. tests/tap.sh
have_opencl || skip_all "no OpenCL device"
mkdir -p "$tmp/data"
cp -r tests/data/xform tests/data/xform_ops "$tmp/data/"

# The shapes of a kernel file's op; those of shipped ops are too large, so a few
# awkward ones instead.
shapes() {
    case $(sed -n 's/^op: *"\?\([^"]*\)"\?$/\1/p' "$1" | head -n 1) in
    gemm) echo M=5,N=33,K=17 M=1,N=1,K=1 M=32,N=48,K=64 ;;
    rmsnorm) echo batch_size=3,hidden_size=77 batch_size=1,hidden_size=1 \
        batch_size=7,hidden_size=128 ;;
    *) f=$(dirname "$1")/$(sed -n 's/^op: *"\?\([^"]*\)"\?$/\1/p' "$1")
       sed -n '/^workloads:/,$p' "$f" | grep -o '{[^}]*}' |
           sed 's/[{}]//g; s/: */=/g; s/, */,/g' ;;
    esac
}
# Has the op of a kernel file a type axis T?
has_type() {
    local f
    f=$(sed -n 's/^op: *"\?\([^"]*\)"\?$/\1/p' "$1" | head -n 1)
    case $f in gemm|rmsnorm) return 0 ;; esac
    grep -q '^ *T: ' "$(dirname "$1")/$f"
}
judge() { # NAME FILE
    local s some
    some=$(shapes "$2" | tr ' ' '\n' | head -n 2)
    if [ -z "$some" ]; then
        echo "ok $1 # SKIP: its op lists no shapes"
        return
    fi
    for s in $some; do
        case $s in *T=*) ;; *) ! has_type "$2" || s=$s,T=float32 ;; esac
        expect "$1, $s" 0 "$ws" check "$2" --workload "$s" --device opencl:0
    done
}
n=0
for dir in "$tmp"/data/xform/${1:-*}/; do
    [ -e "$dir/after.cl" ] || continue
    name=$(basename "$dir")
    mkdir -p "$dir/new"
    cp "$dir"/* "$dir/new/" 2>/dev/null
    source=$(sed -n 's/^source: *"\(.*\)"$/\1/p' "$dir/after.yaml")
    cp "$dir/after.cl" "$dir/new/$source"
    sed 's|^op: "\.\./\.\./|op: "../../../|; s|^op: "\./|op: "./|' \
        "$dir/after.yaml" >"$dir/new/kernel.yaml"
    judge "$name" "$dir/new/kernel.yaml"
    n=$((n + 1))
done
check "there were cases" [ "$n" -ge 1 ]
finish
