# practice.sh: for the tests of practice/: source it after tap.sh.

# copy_of DIR: `op` is a copy, so that nothing is kept in DIR; `name` is its name.
copy_of() {
    name=$(basename "$1")
    op=$tmp/$name
    cp -r "$1" "$op"
    rm -rf "$op/.wavesmith"
}
skipped() { ok "$1 # SKIP: $2"; echo "# SKIP $2"; }
has_all_files() {
    local f bad=0

    for f in op.yaml workloads.yaml workloads-gpu.yaml reference.yaml \
        "kernels/${name}_cuda.yaml"; do
        [ -f "$1/$f" ] || { echo "# $1/$f is missing"; bad=1; }
    done
    return $bad
}
has_kernel() { [ -f "$op/kernels/$1.yaml" ]; }
# names_of FILE: the names of its workloads, one on a line.
names_of() { sed -n 's/^- {name: \([a-zA-Z0-9_-]*\),.*/\1/p' "$1"; }
first_of() { workload=$(names_of "$1" | head -n 1); }
# beyond_fake FAKE DIR: why the fake driver in FAKE cannot run the kernel in CUDA
# C; fails if it can.
beyond_fake() {
    local header

    [ -e "$1/libcuda.so.1" ] || { echo "no fake driver ('make fakecuda')"; return 0; }
    header=$(grep -ho '^#include *<[^>]*>' "$2"/kernels/*.cu | head -n 1)
    [ -n "$header" ] && echo "the fake compiler has no ${header#\#include }"
}
# configs_of FILE: NAME=VALUE for every value of its parameters, which stand on
# lines of their own: `  BLOCK: {values: [64, 128], ...}` or `  BLOCK: [64, 128]`.
configs_of() {
    sed -n '/^parameters:/,/^[a-z]*:/s/^ *\([A-Z_]*\):[^[]*\[\([^]]*\)\].*/\1 \2/p' "$1" |
        tr -d , | while read -r param values; do
        for v in $values; do echo "$param=$v"; done
    done
}
