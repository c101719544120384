#!/usr/bin/env bash
# What transformations make of kernels in Triton compiles ahead for a GPU and is
# right by Triton's interpreter, on the processor: a third of the practice kernels,
# of each transformation on two of them, and of chains. `ALL=1`: every place of
# every kernel (ten minutes).
. tests/tap.sh
venv=$PWD/build/venv-triton/bin/python
"$venv" -c 'import triton' 2>/dev/null || skip_all "no Triton in build/venv-triton: make deps-triton"
/usr/bin/python3 -c 'import yaml' 2>/dev/null || skip_all "no yaml: apt-get install python3-yaml"
all=$([ -z "${ALL:-}" ] || echo all)
mkdir "$tmp/made"
check "all transformations apply" /usr/bin/python3 tests/triton/make_jobs.py "$tmp/made" $all
for d in "$tmp"/made/*/; do
    name=$(basename "$d")
    WAVESMITH_PYTHON=$venv expect "$name compiles" 0 "$ws" compile "$d/kernels/${name#*-}.yaml" \
        --target sm_90 --trust-python --json
    check "$name: nothing is refused" out_has '"failed": 0'
done
if "$venv" -c 'import numpy' 2>/dev/null; then
    "$venv" -W ignore tests/triton/run_kernels.py "$tmp/made/jobs.json" || tap_bad=1
else
    echo "ok interpreter # SKIP: no numpy in build/venv-triton: make deps-triton"
fi
finish
