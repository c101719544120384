#!/usr/bin/env bash
# The practice kernels in Triton, where there is no Triton: every folder has its
# files, all of which load. tests/slow/s_xform.sh compiles and runs them.
. tests/tap.sh
for dir in practice-triton/*/; do
    name=$(basename "$dir")
    for f in op.yaml reference.yaml reference.c workloads.yaml workloads-gpu.yaml "kernels/$name.yaml" "kernels/$name.py"; do
        [ -f "$dir/$f" ] || not_ok "$name has $f"
    done
    cp -r "$dir" "$tmp/$name" && rm -rf "$tmp/$name"/kernels/*.triton
    check "$name: the table has it" grep -q "^| \[$name\]($name) |" practice-triton/README.md
    expect "$name: the kernel file loads" 2 "$ws" space "$tmp/$name/kernels/$name.yaml"
    check "$name: only the compiled files are missing" err_has "kernel '$name' is not compiled"
    for w in workloads workloads-gpu; do
        sed -i "s/^workloads: .*/workloads: $w.yaml/" "$tmp/$name/op.yaml"
        expect "$name: the op loads, with $w" 2 "$ws" space "$tmp/$name/op.yaml"
        check "$name: and lacks nothing but kernels" err_has "the specification has no kernels"
    done
done
check "there are folders" [ -n "${name:-}" ]
finish
