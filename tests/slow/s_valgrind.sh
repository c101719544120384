#!/usr/bin/env bash
# Valgrind on the short group: programs that start no worker.
. tests/tap.sh
command -v valgrind >/dev/null || skip_all "valgrind is not installed"
memory() {
    expect "valgrind $1" 0 valgrind -q --error-exitcode=9 --leak-check=full \
        --errors-for-leak-kinds=definite "$WS_BUILD/$1"
}
for t in base/t_mem base/t_hash base/t_ctx base/t_fs core/t_decimal core/t_dtype \
    core/t_safetensors core/t_stats core/t_trial expr/t_expr_list \
    expr/t_expr_trend space/t_space recordings/t_recordings \
    spec/t_spec_use spec/t_spec_errors search/t_engine pack/t_pack; do
    memory src/$t
done
for t in t_wsrt_eval t_wsrt_pack t_wsrt_pick; do memory runtime/$t; done
finish
