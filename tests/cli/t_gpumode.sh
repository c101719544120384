#!/usr/bin/env bash
# A task of GPU MODE: an op is drafted, its blanks are filled as the draft says,
# and a kernel is checked on the task's tests.
. tests/tap.sh
main=$PWD
mkdir "$tmp/twice" && cd "$tmp/twice" && case $ws in /*) ;; *) ws=$OLDPWD/$ws ;; esac
export WAVESMITH_CACHE=$tmp/cache

cat >task.yml <<'YAML'
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
lang: "py"
description: |
  Twice of each element.
tests:
  - {"rows": 3, "cols": 5, "seed": 9371, "sign": True}
  - {"rows": 2, "cols": 7, "seed": 1092, "sign": False}
benchmarks:
  - {"rows": 64, "cols": 32, "seed": 9371, "sign": True}
ranking_by: "geom"
YAML
expect "a draft" 0 "$ws" init task.yml
check "the files" out_has "wrote task.op.yaml and task.tests.yaml"
check "its axes" out_has "axis rows: varies"
check "what is no axis" out_has "'sign' of the cases: not a size"
check "the blanks" out_has "'shape' of tensor '???'"
check "its name is the folder's" grep -q '^op: twice$' task.op.yaml
expect "blanks are told" 2 "$ws" check task.op.yaml
check "where" err_has "is a blank"
expect "not twice" 2 "$ws" init task.yml
check "it is there" err_has "exists already"
expect "again" 0 "$ws" init task.yml --force
expect "as JSON" 0 "$ws" init task.yml --force --json
check "the file of tests" out_has '"tests_file": "task.tests.yaml"'
expect "no --op" 2 "$ws" init task.yml --op gemm --force
echo 'tests: none' >none.yml
expect "no task" 2 "$ws" init none.yml
check "what one has" err_has "'benchmarks'"
check "nothing was written" test ! -e none.op.yaml

sed -i -e '/^inputs:/,/^outputs:/s/???: {shape: ???, dtype: ???}/x: {shape: [rows, cols], dtype: float32}/' \
    -e 's/^  ???: {shape: ???, dtype: ???}/  y: {shape: [rows, cols], dtype: float32}/' \
    -e 's/^reference: ???/reference: {python: reference.py, function: twice}/' \
    -e 's/rtol: ???, atol: ???/rtol: 1e-5, atol: 1e-8/' task.op.yaml
printf 'def twice(x):\n    return 2 * x\n' >reference.py
cat >twice.cl <<'CL'
kernel void twice(global const float *x, global float *y, int n)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] = 2 * x[i];
}
CL
cat >twice.yaml <<'YAML'
kernel: twice
op: ./task.op.yaml
dialect: opencl
source: twice.cl
launches: [{entry: twice, grid: ["ceil_div(rows * cols, 16)"], block: [16], args: [x, y, {int32: rows * cols}]}]
YAML
expect "filled, it is an op" 0 "$ws" space twice.yaml --workload "benchmark 1 sign=True" --count
if ! have_opencl; then
    echo "ok check # SKIP: no OpenCL device"; echo "# SKIP no OpenCL device"; finish
fi
if ! "${WAVESMITH_PYTHON:-python3}" -c 'import numpy' 2>/dev/null; then
    echo "ok check # SKIP: no numpy"; echo "# SKIP no numpy"; finish
fi
expect "right on a test" 0 "$ws" check twice.yaml --workloads task.tests.yaml --workload "test 2 sign=False" --trust-python
check "its shape" out_has "rows=2,cols=7"
expect "right on the benchmark" 0 "$ws" check twice.yaml --trust-python
sed -i 's/2 \* x/3 * x/' twice.cl
expect "a wrong one" 1 "$ws" check twice.yaml --trust-python
finish
