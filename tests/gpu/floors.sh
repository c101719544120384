#!/usr/bin/env bash
# tests/gpu/floors.sh BUILD OUT [DEVICE]: the floors of the shipped ops beside
# the counters of runs, cold: the default config of each op on WORKLOADS (4) of
# the workloads that it ships, from the first to the last.
#
# A floor claims that no kernel can do with less. So this one must not: what it
# moves from and to device memory is no less than the floor's bytes, but for
# outputs that may stay in the cache, and what it computes no less than the
# floor's operations (2% for the counters). With python3.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
# shellcheck disable=SC2034
build=$1 out=$2 dev=${3:-cuda:0}
cd "$(dirname "$0")/../.." || exit 2
. tests/gpu/lib.sh

# Names of workloads of an op, evenly spaced.
names_of() {
    sed -n 's/^- {name: \([^,]*\),.*/\1/p' "ops/$1/workloads.yaml" |
        awk -v n="${WORKLOADS:-4}" '{w[NR] = $0} END {for (i = 0; i < n; i++) print w[1 + int(i * (NR - 1) / (n - 1))]}'
}
profiles() {
    local w n=0
    while read -r w; do
        n=$((n + 1))
        timeout 120 "$ws" profile "$1" --workload "$w" --device "$dev" --set full --json \
            </dev/null >"$out/floor-$1-$n.json" 2>"$out/floor-$1-$n.log" ||
            { head -c 600 "$out/floor-$1-$n.json"; return 1; }
    done < <(names_of "$1")
    python3 - "$1" "$out"/floor-"$1"-*.json <<'P'
import json, sys

def held(op, w):
    """Bytes of outputs: what the cache may keep of them."""
    v = dict(x.split("=") for x in w.split(","))
    n = {k: int(x) for k, x in v.items() if x.isdigit()}
    wide = 4 if v.get("T") == "float32" else 2
    if op == "gemm":
        return wide * n["M"] * n["N"]
    if op == "rmsnorm":
        return wide * n["batch_size"] * n["hidden_size"]
    return (wide * n.get("head_dim", 128) + 4) * n["batch_size"] * n.get("num_qo_heads", 32)

op, bad = sys.argv[1], 0
for path in sys.argv[2:]:
    d = json.load(open(path))
    sums = {}
    for launch in d["launches"]:
        for key, v in (launch["counters"] or {}).items():
            if v is not None:
                sums[key] = sums.get(key, 0) + v
    f, g = d["floor"], lambda *keys: sum(sums.get(k, 0) for k in keys)
    moved = g("dram_read", "dram_write")
    done = g("fadd", "fmul", "dadd", "dmul") + 2 * g("ffma", "dfma") + 2 * g("hadd", "hmul") + 4 * g("hfma") + g(
        "tensor_bf16", "tensor_fp16", "tensor_fp16_half", "tensor_tf32")
    read = g("dram_read") / f["bytes"] if f["bytes"] else 0
    moved, done = moved / f["bytes"], done / f["flops"]
    kept = min(held(op, d["workload"]), 50 << 20) / f["bytes"]
    low = " TOO HIGH A FLOOR" if moved + kept < .98 or done < .98 else ""
    bad += bool(low)
    print("%-60s bytes %6.3f (read %6.3f, held by the cache at most %5.3f)  operations %6.3f  gap %6.2f%s" % (
        d["workload"], moved, read, kept, done, d["gap"] or 0, low))
sys.exit(bad != 0)
P
}
for op in gemm rmsnorm gqa_paged_decode; do
    step "$op" profiles "$op"
done
summary
