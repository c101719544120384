#!/usr/bin/env bash
# tests/gpu/peers.sh BUILD OUT [DEVICE]: gemm tuned by us and by Kernel Tuner on
# one machine: the same source, space (without SPLIT_K, for Kernel Tuner
# launches one kernel), workloads and configs. Ours screens TRIALS (40) configs
# at random; Kernel Tuner gets just these, once with verification, once
# without. All caches are empty before each. OUT gets what each said, and
# peers.md. WORKLOADS: which; KT_PYTHON: an interpreter with kernel_tuner and
# that of LANG_KT (CUPY,NVCUDA: the first that works); tests/gpu/README.md has the wheels.
set -u
[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
. tests/gpu/lib.sh
python=${KT_PYTHON:-python3}
workloads=${WORKLOADS:-M=1,N=4096,K=4096,T=float32 M=16,N=4096,K=4096,T=bfloat16 M=512,N=6144,K=4096,T=float32}
kernel=$out/gemm_tiled.yaml
sed 's/^  SPLIT_K: .*/  SPLIT_K: {values: [1], default: 1, about: "one kernel is launched"}/' \
    ops/gemm/kernels/gemm_tiled.yaml >"$kernel"
cp ops/gemm/kernels/gemm_tiled.c "$out/"

# timed NAME COMMAND...: with empty caches; its wall time to OUT/NAME.seconds
timed() {
    local name=$1 start cache rc
    shift
    cache=$(mktemp -d)
    start=$(date +%s%N)
    WAVESMITH_CACHE=$cache/ws CUPY_CACHE_DIR=$cache/cupy CUDA_CACHE_PATH=$cache/cuda timeout 300 "$@"
    rc=$?
    seconds_since "$start" >"$out/$name.seconds"
    rm -rf "$cache"
    return $rc
}
ours() { # TAG WORKLOAD
    echo "- {${2//,/, }}" | sed 's/=/: /g' >"$out/workload.yaml"
    rm -f "$out/ours.db"*
    timed "ours-$1" "$ws" tune ops/gemm --kernel "$kernel" --workloads "$out/workload.yaml" --device "$dev" \
        --strategy random --budget "${TRIALS:-40}" --seed "${SEED:-1}" --store "$out/ours.db" --json \
        >"$out/ours-$1.json" 2>"$out/ours-$1.log" || { tail -n 3 "$out/ours-$1.log"; return 1; }
    "$ws" trials "$out/ours.db" --export "$out/ours-$1.jsonl" >/dev/null &&
        "$ws" space ops/gemm --kernel "$kernel" --workload "$2" --device "$dev" --json >"$out/space-$1.json"
}
theirs() { # NAME TAG OPTION...
    local name=$1 tag=$2
    shift 2
    timed "$name-$tag" "$python" tests/gpu/kt_tune.py "$out/ours-$tag.jsonl" "$out/space-$tag.json" \
        ops/gemm/kernels/gemm_tiled.c ops/dialect/ws_dialect.h "$out/$name-$tag.json" \
        --lang "${LANG_KT:-CUPY,NVCUDA}" "$@" >"$out/$name-$tag.log" 2>&1 || { tail -n 5 "$out/$name-$tag.log"; return 1; }
}
n=0
for w in $workloads; do
    n=$((n + 1))
    step "ours $w" ours $n "$w"
    step "Kernel Tuner $w" theirs kt-verified $n
    step "Kernel Tuner, not verified $w" theirs kt-plain $n --no-verify
done
rm -f "$out/ours.db"* "$out/workload.yaml"
"$python" -c 'import platform, kernel_tuner, numpy
print("Python", platform.python_version(), "kernel_tuner", kernel_tuner.__version__ if hasattr(kernel_tuner, "__version__") else "?", "numpy", numpy.__version__)' >"$out/peers.md" 2>/dev/null
table_of_both() { python3 tests/gpu/peers.py "$out" >>"$out/peers.md" && cat "$out/peers.md"; }
step table table_of_both
summary
