#!/usr/bin/env bash
# An operator of a user, from the command line: its reference in Python, which
# nothing runs without --trust-python, and as a trusted kernel.
. tests/tap.sh
have_opencl || skip_all "no OpenCL device"
python=${WAVESMITH_PYTHON:-/usr/bin/python3}
export WAVESMITH_PYTHON=$python
op=$tmp/own-op
cp -r examples/own-op "$op"
rm -rf "$op/.wavesmith"
small=(--workload M=3,N=77)

# --- trust ---------------------------------------------------------------
for c in "check $op" "tune $op --budget 1" "bench $op"; do
    expect "without trust: ${c%% *}" 3 "$ws" $c
    check "it names the file" err_has "'$op/reference.py', and is not trusted"
    check "and the option" err_has "--trust-python"
done
expect "as JSON" 3 "$ws" check "$op" --json
check "its code" out_has '"code": "WS_EACCES"'
check "nothing was measured" [ ! -e "$op/.wavesmith/store.db" ]
for c in check tune bench; do
    "$ws" $c --help >"$tmp/out"
    check "$c --help has the option" out_has "--trust-python"
done

# --- files ---------------------------------------------------------------
cp "$op/op.yaml" "$tmp/op.yaml"
refer() { sed "s|^reference:.*|reference: {$1}|" "$tmp/op.yaml" >"$op/op.yaml"; }
cp "$op/reference.py" "$tmp/outside.py"
ln -s ../outside.py "$op/link.py"
for f in ../outside.py link.py "$tmp/outside.py" /etc/passwd; do
    refer "python: $f"
    expect "a file outside: $f" 2 "$ws" check "$op" --trust-python
    check "is told" err_has "outside of"
done
refer "python: none.py"
expect "no file" 2 "$ws" check "$op" --trust-python
check "is told, too" err_has "'none.py' is not found"
cp "$tmp/op.yaml" "$op/op.yaml"

# --- a trusted kernel ------------------------------------------------------
k=$tmp/own-op-kernel
cp -r examples/own-op-kernel "$k"
rm -rf "$k/.wavesmith"
expect "a trusted kernel judges" 0 "$ws" check "$k" "${small[@]}" --json
check "ok" out_has '"verdict": "ok"'
sed -i 's/1e-6f/1e-2f/' "$k/kernels/rms_norm.c"
expect "what is wrong is found" 1 "$ws" check "$k" "${small[@]}"
check "and said" out_has "verdict: wrong"
cp "$k"/reference/* "$k/kernels/"
expect "it is no judge of itself" 2 "$ws" check "$k" --kernel plain "${small[@]}"
check "it is told why" err_has "has the source of the reference"
rm "$k"/kernels/plain.*
sed -i 's|reference/plain.yaml|kernels/rms_norm.yaml|' "$k/op.yaml"
expect "the reference is no candidate" 2 "$ws" check "$k" "${small[@]}"
check "none is left" err_has "no kernels"
sed -i 's|reference: .*|reference: {kernel: reference/plain.yaml}|' "$k/op.yaml"
sed -i 's/sum += /sum -= /' "$k/reference/plain.c"
expect "a reference that computes NaN" 3 "$ws" check "$k" "${small[@]}"
check "is the reference's failure" err_has "computes NaN"
check "in the type it was run in" err_has "run in T=float64"

# A source of floats is run in float64 unless it says what it knows.
sed -i 's/sum -= /sum += /; s/#if T_IS_FLOAT64/#if 0/' "$k/reference/plain.c"
expect "a reference of floats alone" 3 "$ws" check "$k" "${small[@]}"
check "the macro that helps" err_has "T_IS_FLOAT64"
check "the constraint that helps" err_has "{require: T == float32}"
echo 'constraints: [{require: T == float32}]' >>"$k/reference/plain.yaml"
cp examples/own-op-kernel/kernels/rms_norm.c "$k/kernels/"
expect "kept to float32" 0 "$ws" check "$k" "${small[@]}"
check "is told to be no double precision" err_has "the reference computes in float32, not in double precision"

# --- Python ----------------------------------------------------------------
if ! "$python" -c 'import numpy' 2>/dev/null; then
    echo "ok python # SKIP: no numpy for $python"
    echo "# SKIP no numpy for $python"
    finish
fi
expect "with trust" 0 "$ws" check "$op" --trust-python "${small[@]}" --json
check "it judges" out_has '"verdict": "ok"'
expect "float16, too" 0 "$ws" check "$op" --trust-python \
    --workload M=3,N=77,T=float16
expect "another Python is named" 3 env WAVESMITH_PYTHON=/nonexistent/python \
    "$ws" check "$op" --trust-python "${small[@]}"
check "by its path" err_has "cannot start Python '/nonexistent/python'"
check "and the variable" err_has "WAVESMITH_PYTHON"

sed -i 's/ \/ sum)/ \/ (sum + 1.0f))/' "$op/kernels/softmax.c"
grep -q 'sum + 1.0f' "$op/kernels/softmax.c" ||
    sed -i 's/ \/ sum/ \/ (sum + 1.0f)/' "$op/kernels/softmax.c"
expect "a wrong kernel" 1 "$ws" check "$op" --trust-python "${small[@]}"
check "is wrong" out_has "verdict: wrong"
cp examples/own-op/kernels/softmax.c "$op/kernels/"

printf 'def softmax(X):\n    return X / 0 + missing\n' >"$op/reference.py"
expect "an exception" 3 "$ws" check "$op" --trust-python "${small[@]}"
check "has its words and place" err_has \
    "NameError: name 'missing' is not defined (reference.py:2: return X / 0 + missing)"
printf 'import urllib.request\ndef softmax(X):\n    urllib.request.urlopen("http://127.0.0.1:9/")\n' \
    >"$op/reference.py"
expect "no network" 3 "$ws" check "$op" --trust-python "${small[@]}"
check "is told so" err_has "may not use the network"
printf 'def softmax(X):\n    while True: pass\n' >"$op/reference.py"
expect "a loop ends with the command's time-out" 4 "$ws" check "$op" \
    --trust-python "${small[@]}" --timeout 2s
cp examples/own-op/reference.py "$op/"

# --- packs -----------------------------------------------------------------
printf -- '- {name: one, M: 16, N: 64}\n' >"$tmp/shapes.yaml"
expect "tune" 0 "$ws" tune "$op" --trust-python --budget 3 \
    --workloads "$tmp/shapes.yaml" --out "$tmp/own.wspack"
rm -r "$op"
expect "a pack carries no trust" 3 "$ws" bench "$tmp/own.wspack"
check "it says what for" err_has "--trust-python"
expect "it carries the reference" 0 "$ws" bench "$tmp/own.wspack" --trust-python
finish
