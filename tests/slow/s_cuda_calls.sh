#!/usr/bin/env bash
# Every function of the CUDA driver, of NVRTC and of NVML fails under the tool,
# in every worker that it starts: the first call of a process, and each call.
# The tool ends by itself; it says that the device failed, or gives a verdict
# that such a failure may have; never is a right kernel wrong or cheating, and
# never is it right where something that matters failed. What
# src/device/cuda/t_cuda_faults.c does call by call inside of one process.
. tests/tap.sh
fake=${WS_BUILD:-build/gcc}/tests/fakecuda
[ -e "$fake/libcuda.so.1" ] || skip_all "the fake driver was not built ('make fakecuda')"
export LD_LIBRARY_PATH=$fake FAKECUDA_REPORT=$tmp/left
one=("$ws" check ops/rmsnorm --workload batch_size=3,hidden_size=70,T=float16 --device cuda:0)
WAVESMITH_CACHE=$tmp/warm "${one[@]}" >/dev/null 2>&1 || skip_all "the fake driver does not work here"

# Without which a kernel is built, run and judged all the same.
harmless='^(nvml.*|cu.*(Destroy|Free|Unload|Release|Unregister|Register|Graph|Capture).*|cuGetError.*|cuFunc(SetAttribute|GetParamInfo)|nvrtc(DestroyProgram|GetProgramLog.*|GetLoweredName|GetErrorString))'

functions() { nm -D --defined-only "$fake"/lib*.so.* | sed -nE 's/^[0-9a-f]+ T ((cu|nvrtc|nvml)[A-Z].*)$/\1/p' | sort -u; }
called=0
for f in $(functions); do
    for e in 2 700 999; do
        for n in 1 '*'; do
            # A compiler is asked only for what was not compiled before.
            case $f in nvrtc*) cache=$(mktemp -d -p "$tmp") ;; *) cache=$tmp/warm ;; esac
            WAVESMITH_CACHE=$cache FAKECUDA_FAIL="$f:$n:$e" timeout 100 "${one[@]}" >"$tmp/out" 2>"$tmp/err"
            rc=$?
            verdict=$(sed -n 's/^verdict: \([a-z]*\).*/\1/p' "$tmp/out")
            [ "$cache" = "$tmp/warm" ] || rm -rf "$cache"
            case $rc:$verdict in
            0:ok) [[ $f =~ $harmless ]] && continue
                # One that is not called at all proves nothing.
                grep -q "^$f\$" "$tmp/called" 2>/dev/null || continue ;;
            1:crash | 1:memory | 1:build | 1:launch) echo "$f" >>"$tmp/called"; called=$((called + 1)); continue ;;
            3:) echo "$f" >>"$tmp/called"
                called=$((called + 1))
                grep -qE 'CUDA_ERROR|NVRTC_ERROR|NVRTC error|no device' "$tmp/err" && continue ;;
            esac
            not_ok "$f fails with $e ($n): exit $rc, verdict '$verdict'"
            sed 's/^/#   /' "$tmp/out" "$tmp/err" | head -n 5
        done
    done
done
check "functions whose failure was noticed: $(sort -u "$tmp/called" | wc -l)" [ "$(sort -u "$tmp/called" | wc -l)" -ge 30 ]
check "workers that ended in order left nothing of the driver's" [ -z "$(grep -v ' left:$' "$tmp/left")" ]
finish
