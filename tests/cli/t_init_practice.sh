#!/usr/bin/env bash
# wavesmith init on all practice kernels. Roles, launches and shapes of the drafts
# from CUDA C are kept in tests/data/init/practice.txt (WS_UPDATE=1 writes it), and
# roles must be those of the kernel files written by hand. The drafts from OpenCL C
# are judged as they are, and all of them must stay right.
. tests/tap.sh
[ -z "${SAN:-}" ] || skip_all "nothing here that a sanitizer sees: kernels are judged"
export WAVESMITH_CACHE=$tmp/cache

# roles_of KERNEL OP: of each launch the role of every argument.
roles_of() {
    awk '
    FNR == 1 { file++; section = "" }
    /^[a-z]+:/ { section = $1; sub(":.*", "", section) }
    file == 1 && section ~ /puts$|inouts/ && /^  [A-Za-z_0-9]+:/ {
        name = $1; sub(":.*", "", name); role[name] = section }
    file == 2 && section == "scratch" {
        line = $0
        if (match(line, /^  [A-Za-z_0-9]+:/)) { name = $1; sub(":.*", "", name); role[name] = "scratch" }
        else while (match(line, /[{,] *[a-zA-Z_0-9]+:/)) {
            name = substr(line, RSTART, RLENGTH); gsub(/[{:, ]/, "", name)
            role[name] = "scratch"; line = substr(line, RSTART + RLENGTH) } }
    file == 2 && /entry:/ { if (out) print out; out = $3 ":"; args = 0 }
    file == 2 && /^ *args:/ {
        args = 1; line = $0; sub(/^ *args: *\[?/, "", line); sub(/\]$/, "", line)
        n = split(line, a, ", ")
        for (i = 1; i <= n; i++) out = out " " (a[i] ~ /^\{/ ? "value" : role[a[i]]) ; next }
    file == 2 && args && /^ *- / { out = out " " ($2 ~ /^\{/ ? "value" : role[$2]) }
    END { print out }' "$2" "$1"
}
# launch_of KERNEL, shapes_of OP: the lines, without comments.
launch_of() { sed -n 's/ *#.*//; s/^  - \(entry: .*\)/\1/p; s/^    \(grid: .*\)/\1/p; s/^    \(block: .*\)/\1/p' "$1"; }
shapes_of() { sed -n 's/^  \([A-Za-z_0-9]*\): {shape: \(\[[^]]*\]\).*/\1 \2/p' "$1"; }

: >"$tmp/table"
for dir in practice/*/; do
    name=$(basename "$dir")
    cp "$dir"kernels/"$name".cu "$tmp/"
    if ! "$ws" init "$tmp/$name.cu" >"$tmp/out" 2>"$tmp/err"; then
        not_ok "$name: no draft from CUDA C"; sed 's/^/#   /' "$tmp/err"; continue
    fi
    grep -q libclang1-19 "$tmp/out" && skip_all "no libclang 19"
    roles_of "$tmp/$name.yaml" "$tmp/$name.op.yaml" >"$tmp/roles"
    roles_of "$dir/kernels/${name}_cuda.yaml" "$dir/op.yaml" >"$tmp/want"
    check "$name: roles and order as by hand" cmp -s "$tmp/roles" "$tmp/want"
    { echo "== $name"; cat "$tmp/roles"; launch_of "$tmp/$name.yaml"; shapes_of "$tmp/$name.op.yaml"; } >>"$tmp/table"
    expect "$name: its files load" 0 "$ws" space "$tmp/$name.yaml" --count
done
if [ -n "${WS_UPDATE:-}" ]; then
    mkdir -p tests/data/init; cp "$tmp/table" tests/data/init/practice.txt
fi
check "roles, launches and shapes are those on record" cmp -s "$tmp/table" tests/data/init/practice.txt
diff tests/data/init/practice.txt "$tmp/table" | sed 's/^/#   /' | head -n 40

if ! have_opencl; then
    echo "ok the drafts are judged # SKIP: no OpenCL device"; echo "# SKIP no OpenCL device"; finish
fi
for dir in practice/*/; do
    name=$(basename "$dir")
    mkdir "$tmp/cl_$name"
    cp "$dir"kernels/"$name".cl "$tmp/cl_$name/"
    expect "$name: a draft from OpenCL C" 0 "$ws" init "$tmp/cl_$name/$name.cl"
    expect "$name: right as it is" 0 "$ws" check "$tmp/cl_$name/$name.yaml" --workload ragged
done
finish
