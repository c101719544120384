"""Kernel Tuner's side of the comparison of space construction.

    kt_space.py T1.json [SCALE]

One process, one construction: reads a T1 file, builds the Searchspace, and
prints one JSON line: valid configs, seconds of the processor that reading and
construction took, resident bytes before and at the peak. Reading the T1 file is what
Kernel Tuner's own tune_kernel_T1 does with it, without the kernel.
SCALE multiplies the space: a parameter of that many values that no constraint
reads.
"""
import contextlib
import io
import json
import sys
import time
from ast import literal_eval

with contextlib.redirect_stdout(io.StringIO()):
    from kernel_tuner.searchspace import Searchspace

MAX_THREADS = 1024


def values(param):
    text = param["Values"]
    if param["Type"] == "string" or "range(" in text or text[0] == "[":
        return eval(text)
    return literal_eval(text)


def read(path, scale):
    with open(path) as f:
        space = json.load(f)["ConfigurationSpace"]
    params = {p["Name"]: values(p) for p in space["TuningParameters"]}
    if scale > 1:
        params["free"] = list(range(scale))
    return params, [c["Expression"] for c in space["Conditions"]]


def resident_bytes(field):
    """VmRSS, or VmHWM: the peak, which getrusage would inherit."""
    with open("/proc/self/status") as f:
        line = next(line for line in f if line.startswith(field))
    return int(line.split()[1]) * 1024


def main():
    path, scale = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    before = resident_bytes("VmRSS")
    times = [time.process_time()]
    params, restrictions = read(path, scale)
    times.append(time.process_time())
    with contextlib.redirect_stdout(io.StringIO()):
        space = Searchspace(params, restrictions, MAX_THREADS)
    times.append(time.process_time())
    peak = resident_bytes("VmHWM")
    print(json.dumps({"valid": space.size, "load_s": times[1] - times[0],
                      "space_s": times[2] - times[1],
                      "before_bytes": before, "peak_bytes": peak}))


if __name__ == "__main__":
    main()
