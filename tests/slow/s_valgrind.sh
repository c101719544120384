#!/usr/bin/env bash
# Valgrind on the short group: programs that start no worker.
. tests/tap.sh
command -v valgrind >/dev/null || skip_all "valgrind is not installed"
for t in base/t_mem base/t_hash base/t_ctx base/t_fs core/t_dtype core/t_stats \
    core/t_trial expr/t_expr_list spec/t_spec_use spec/t_spec_errors \
    search/t_engine pack/t_pack; do
    prog=$WS_BUILD/src/$t
    expect "valgrind $t" 0 valgrind -q --error-exitcode=9 --leak-check=full \
        --errors-for-leak-kinds=definite "$prog"
done
prog=$WS_BUILD/runtime/t_wsrt_pack
expect "valgrind t_wsrt_pack" 0 valgrind -q --error-exitcode=9 --leak-check=full "$prog"
finish
