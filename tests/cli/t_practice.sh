#!/usr/bin/env bash
# The practice set: of every folder of practice/ a part that takes seconds. All
# files load, the trusted kernel judges, the kernel in OpenCL C is right on the
# first small workload and its twin in CUDA C on the driver of tests/fakecuda.
# tests/slow/s_practice.sh does all workloads, all gates and the audit;
# tests/conformance/t_cuda_kernels compiles all that is CUDA C.
. tests/tap.sh
. tests/practice.sh
have_opencl || skip_all "no OpenCL device"
fake=${WS_BUILD:-build/gcc}/tests/fakecuda

for dir in practice/*/; do
    dir=${dir%/}
    copy_of "$dir"
    check "$dir: all its files" has_all_files "$dir"
    check "$dir: the table has it" grep -q "^| \[$name\]($name) |" practice/README.md
    first_of "$dir/workloads.yaml"
    if has_kernel "${name}_opencl"; then
        expect "$dir: right on $workload" 0 \
            "$ws" check "$op" --kernel "${name}_opencl" --workload "$workload"
    else
        ok "$dir in OpenCL C # SKIP: it has no twin"
    fi
    if [ ! -e "$fake/libcuda.so.1" ]; then
        ok "$dir in CUDA C # SKIP: no fake driver ('make fakecuda')"
    elif why=$(beyond_fake "$dir"); then
        ok "$dir in CUDA C # SKIP: $why"
    else
        expect "$dir: right as CUDA C" 0 env LD_LIBRARY_PATH="$fake" \
            WAVESMITH_CACHE="$tmp/cache" "$ws" check "$op" \
            --kernel "${name}_cuda" --workload "$workload" --device cuda:0
    fi
done
check "there are folders" [ -n "${name:-}" ]
finish
