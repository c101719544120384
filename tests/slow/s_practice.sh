#!/usr/bin/env bash
# The practice set on a processor: of every folder of practice/ the audit of the
# checker, and the default config with all gates: timed launches, other values,
# hidden shapes; of a third of the folders. `ALL=1`: of all, and every workload and
# every value of a parameter as well.
. tests/tap.sh
. tests/practice.sh
have_opencl || skip_all "no OpenCL device"

nth=0
for dir in practice/*/; do
    dir=${dir%/}
    nth=$((nth + 1))
    [ -n "${ALL:-}" ] || [ $((nth % 3)) -eq 0 ] || continue
    copy_of "$dir"
    kernel=${name}_opencl
    expect "$dir: all mistakes are rejected" 0 "$ws" op audit "$op"
    check "$dir: fit" out_has "verdict: fit to judge by"
    check "$dir: three small workloads" \
        [ "$(names_of "$dir/workloads.yaml" | wc -l)" -ge 3 ]
    check "$dir: three workloads for a GPU" \
        [ "$(names_of "$dir/workloads-gpu.yaml" | wc -l)" -ge 3 ]
    if ! has_kernel "$kernel"; then
        skipped "$dir in OpenCL C" "$kernel: there is no twin"
        continue
    fi
    for workload in $([ -z "${ALL:-}" ] || names_of "$dir/workloads.yaml"); do
        expect "$dir: right on $workload" 0 \
            "$ws" check "$op" --kernel "$kernel" --workload "$workload"
    done
    first_of "$dir/workloads.yaml"
    expect "$dir: all gates" 0 "$ws" check "$op" --kernel "$kernel" \
        --workload "$workload" --all-gates
    for config in $([ -z "${ALL:-}" ] || configs_of "$op/kernels/$kernel.yaml"); do
        expect "$dir: $config" 0 "$ws" check "$op" --kernel "$kernel" \
            --workload "$workload" --config "$config"
    done
done
check "there are folders" [ -n "${name:-}" ]
finish
