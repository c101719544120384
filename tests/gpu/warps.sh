#!/usr/bin/env bash
# tests/gpu/warps.sh BUILD OUT [DEVICE]: the kernels of gemm and gqa_paged_decode
# that use tensor cores, on a GPU (cuda:0): the default and random configs on
# awkward and on real shapes. OUT gets checks-KERNEL.tsv. As lib.sh says:
# SAMPLES JOBS.
set -u
[ $# -ge 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 out=$2 dev=${3:-cuda:0}
. tests/gpu/lib.sh
gemms() {
    KERNEL=gemm_warps checks gemm M=1,N=257,K=136,T=float16 M=7,N=100,K=304,T=bfloat16 M=129,N=255,K=1000,T=bfloat16 \
        M=1000,N=520,K=2048,T=float16 M=16,N=4096,K=4096,T=bfloat16 M=128,N=1024,K=4096,T=float16
}
decodes() {
    KERNEL=gqa_decode_warps checks gqa_paged_decode batch_size=1,num_kv_heads=4,num_pages=140,len_indptr=2,num_kv_indices=5 \
        batch_size=5,num_kv_heads=8,num_pages=9,len_indptr=6,num_kv_indices=3,T=float16 \
        batch_size=4,num_kv_heads=8,num_pages=600,len_indptr=5,num_kv_indices=533,T=float16 \
        batch_size=16,num_kv_heads=4,num_pages=4334,len_indptr=17,num_kv_indices=4284 \
        batch_size=64,num_kv_heads=8,num_pages=60071,len_indptr=65,num_kv_indices=50902
}
step "gemm_warps on $dev" gemms
step "gqa_decode_warps on $dev" decodes
summary
