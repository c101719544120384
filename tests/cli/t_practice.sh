#!/usr/bin/env bash
# The practice set: of every folder of practice/ what takes a second. All files
# load, and the trusted kernel finds the kernel in CUDA C right on the first small
# workload, on the driver of tests/fakecuda; what that cannot do is done with the
# twin in OpenCL C. tests/slow/s_practice.sh does all twins, workloads and gates
# and the audit; tests/conformance/t_cuda_kernels compiles all that is CUDA C.
. tests/tap.sh
. tests/practice.sh
fake=${WS_BUILD:-build/gcc}/tests/fakecuda

# check_twin WHY: in OpenCL C, since WHY speaks against CUDA C.
check_twin() {
    if has_kernel "${name}_opencl" && have_opencl; then
        expect "$dir: right on $workload as OpenCL C ($1)" 0 \
            "$ws" check "$op" --kernel "${name}_opencl" --workload "$workload"
    else
        skipped "$dir" "$1; no OpenCL device or no kernel in OpenCL C"
    fi
}

for dir in practice/*/; do
    dir=${dir%/}
    copy_of "$dir"
    check "$dir: all its files" has_all_files "$dir"
    check "$dir: the table has it" grep -q "^| \[$name\]($name) |" practice/README.md
    first_of "$dir/workloads.yaml"
    if why=$(beyond_fake "$fake" "$dir"); then
        check_twin "$why"
    else
        expect "$dir: right on $workload as CUDA C" 0 \
            env LD_LIBRARY_PATH="$fake" WAVESMITH_CACHE="$tmp/cache" \
            "$ws" check "$op" --kernel "${name}_cuda" --workload "$workload" \
            --device cuda:0
    fi
done
check "there are folders" [ -n "${name:-}" ]
finish
