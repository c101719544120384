#!/usr/bin/env bash
# wavesmith op audit: the checker of an operator, checked: the shipped ones are
# fit, each kind of reference can be audited, what judges nothing is refused.
. tests/tap.sh
python=${WAVESMITH_PYTHON:-/usr/bin/python3}
export WAVESMITH_PYTHON=$python

# The mistakes that pass the op's own rule.
passing() { awk 'substr($0, 55, 2) == "NO"' "$tmp/out"; }
skipped() { ok "$1 # SKIP: $2"; echo "# SKIP $2"; }

# --- shipped -----------------------------------------------------------------
for op in ops/*/op.yaml; do
    op=$(dirname "$op")
    expect "$op is fit" 0 "$ws" op audit "$op"
    check "it says so" out_has "verdict: fit to judge by"
    check "and by which rule" out_has "automatic rule"
    check "no mistake passes the op's rule" [ -z "$(passing)" ]
    check "its reference is deterministic" out_has "  the same results each time for the same inputs"
    for mistake in "all zero" "the result of another seed" "its mean everywhere" "zero in one element" \
        "zero in the last tile" "zero in the last row" "without the last 16 of dim" "inputs without their signs" \
        "rounded to the next narrower type" "inputs rounded to fewer bits"; do
        check "tried: $mistake" [ -n "$(grep -F "$mistake" "$tmp/out" | grep -v "no mistake here")" ]
    done
done
expect "a sum of K" 0 "$ws" op audit gemm --workload M=17,N=41,K=97,T=float16
for mistake in "last term of K left out" "terms beyond a multiple of 32 left out" "columns beyond a multiple of 32"; do
    check "a mutant: $mistake" [ -n "$(grep -F "$mistake" "$tmp/out" | grep -v "no mistake here")" ]
done
expect "as JSON" 0 "$ws" op audit gemm --workload M=17,N=40,K=96,T=float32 --seed 4 --json
check "the verdict" out_has '"verdict": "fit"'
check "a mutant" out_has '"operands cut to tf32"'
check "its kind" out_has '"kind": "mutant"'
check "the rule of others" out_has '"rejected_by_flashinfer_bench": false'
check "the seed" out_has '"seed": 4'
"$ws" op audit gemm --workload M=17,N=40,K=96,T=float32 --seed 4 >"$tmp/a"
"$ws" op audit gemm --workload M=17,N=40,K=96,T=float32 --seed 4 >"$tmp/b"
check "the same again" cmp -s "$tmp/a" "$tmp/b"

# --- words -------------------------------------------------------------------
expect "no word" 2 "$ws" op
expect "another word" 2 "$ws" op adit gemm
check "it says which there is" err_has "op audit SPEC"
expect "no such workload" 2 "$ws" op audit gemm --workload M=0
expect "a T1 file" 2 "$ws" op audit tests/data/specs/t1.json
check "it is told why" err_has "a T1 file describes a space"
"$ws" --help >"$tmp/out"
check "the help lists it" out_has "  op  "

# --- an op of a user's ---------------------------------------------------------
mkdir "$tmp/op"
cat >"$tmp/op/op.yaml" <<'EOF'
op: scaled
axes: {M: var, N: var}
inputs:
  X: {shape: [M, N], dtype: float32, fill: {normal: [0, 0.001]}}
  Y: {shape: [N], dtype: float32}
outputs:
  Z: {shape: [M, N], dtype: float32}
reference: {python: ref.py, function: scaled}
tolerance: {rule: gpu-mode}
workloads: [{M: 20, N: 50}]
EOF
cat >"$tmp/op/ref.py" <<'EOF'
def scaled(X, Y):
    return X * Y
EOF
expect "Python is not trusted" 3 "$ws" op audit "$tmp/op"
check "it is told how" err_has "--trust-python"
if "$python" -c 'import numpy' 2>/dev/null; then
    edit() { sed -i "$1" "$tmp/op/op.yaml"; }
    expect "by the rule of gpu-mode" 0 "$ws" op audit "$tmp/op" --trust-python
    check "which is named" out_has "gpu-mode rule, reference: Python"
    edit 's/gpu-mode/flashinfer-bench/'
    expect "small results within 1e-2" 1 "$ws" op audit "$tmp/op" --trust-python
    check "zero passes" [ -n "$(passing | grep "all zero")" ]
    check "what passes" out_has "output 'Z' would pass as right when it is all zero, on M=20,N=50"
    check "what to change" out_has "lower them or give other fills"
    edit 's/{rule: flashinfer-bench}/{reduction: 1}/'
    expect "the automatic rule" 0 "$ws" op audit "$tmp/op" --trust-python
    sed -i 's/X \* Y/X + 1e-12 * Y/' "$tmp/op/ref.py"
    expect "an input that hardly counts" 1 "$ws" op audit "$tmp/op" --trust-python
    check "is named" out_has "another input 'Y' would pass as right"
    back='{M: 20, N: 50}'
    edit "s/^workloads:.*/workloads: [$back, {M: 6000, N: 1000}]/"
    sed -i 's/X + 1e-12 \* Y/X * Y/' "$tmp/op/ref.py"
    expect "a workload that is too large" 0 "$ws" op audit "$tmp/op" --trust-python
    check "is said" out_has "left out as too large for dozens of runs of the reference: 1 of"
    edit "s/^workloads:.*/workloads: [{M: 6000, N: 400}]/"
    expect "too large, but the only one" 0 "$ws" op audit "$tmp/op" --trust-python --json
    check "nothing is left out" out_has '"left_out": 0'
    check "it is audited" out_has "M=6000,N=400"
    edit "s/^workloads:.*/workloads: [$back]/"

    # What nobody can be judged by: told as that, and no mistakes are tried.
    for noise in "import random, time; e = time.perf_counter_ns() % 1000 + random.random()" \
        "import numpy; e = numpy.random.standard_normal(X.shape)" \
        "import os; e = int.from_bytes(os.urandom(6), 'big')"; do
        printf 'def scaled(X, Y):\n    %s\n    return X * Y + 1e-9 * e\n' "$noise" >"$tmp/op/ref.py"
        expect "random: ${noise:7:6}" 1 "$ws" op audit "$tmp/op" --trust-python
        check "is not deterministic" out_has "output 'Z' is unfit, on M=20,N=50: it is not deterministic"
        check "and no mistake is said to be rejected" [ -z "$(grep "all zero" "$tmp/out")" ]
    done
    for number in nan inf; do
        printf 'def scaled(X, Y):\n    Z = X * Y\n    Z[3, 4] = float("%s")\n    return Z\n' $number >"$tmp/op/ref.py"
        expect "$number in the result" 1 "$ws" op audit "$tmp/op" --trust-python
        check "is told" out_has "output 'Z' is unfit, on M=20,N=50: the reference is "
        expect "as JSON" 1 "$ws" op audit "$tmp/op" --trust-python --json
        check "a report, too" out_has '"verdict": "refused"'
    done
    printf 'def scaled(X, Y):\n    raise ValueError("no such thing")\n' >"$tmp/op/ref.py"
    expect "a reference that fails" 3 "$ws" op audit "$tmp/op" --trust-python
    check "is an error" err_has "no such thing"

    echo 'def scaled(X, Y):' >"$tmp/op/ref.py"
    echo '    return abs(X) ** -0.5 * Y' >>"$tmp/op/ref.py"
    expect "infinite at zero" 1 "$ws" op audit "$tmp/op" --trust-python
    check "where" out_has "unfit for values ties"
    check "and what to write" out_has "values: {zeros: why}"
    edit 's/^workloads/values: {zeros: "it divides by X", ties: "the same"}\nworkloads/'
    expect "a family that is refused" 0 "$ws" op audit "$tmp/op" --trust-python
    check "is said" out_has "not taken: it divides by X"
    expect "the example in Python" 0 "$ws" op audit examples/own-op --trust-python
    check "on both of its shapes" [ "$(grep -c "^M=.*,T=" "$tmp/out")" -ge 3 ]
    check "no mistake passes" [ -z "$(passing)" ]
else
    skipped "a reference in Python" "numpy is missing"
fi
if have_opencl; then
    cp -r examples/own-op-kernel "$tmp/k"
    rm -rf "$tmp/k/.wavesmith"
    expect "a trusted kernel" 0 "$ws" op audit "$tmp/k"
    check "no mistake passes" [ -z "$(passing)" ]
    check "which it is" out_has "reference: trusted kernel"
    rm "$tmp"/k/kernels/*
    expect "without a kernel to tune" 0 "$ws" op audit "$tmp/k" --workload M=3,N=770
    sed -i 's/sum += /sum -= /' "$tmp/k/reference/plain.c"
    expect "one that computes NaN" 1 "$ws" op audit "$tmp/k" --workload M=3,N=770
    check "is no number" out_has "the reference is no number in places"
else
    skipped "a trusted kernel" "no OpenCL device"
fi
finish
