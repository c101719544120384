"""run_kernels.py JOBS: kernels in Triton by Triton's interpreter, on the processor.

JOBS is a list of {"name", "function", "op", "workloads", "sides": [{"source",
"tree"}, ...]}: the first side is compared with numpy, the others with numpy and
with the first. Prints TAP. Needs Triton and numpy, neither torch nor a GPU.
"""
import importlib.util
import json
import os
import re
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np  # noqa: E402

UNITS = 3  # what stands for the device's units
TYPES = {"float32": np.float32, "float16": np.float16, "int32": np.int32,
         "int64": np.int64, "float64": np.float64}


class Index(int):
    """A loop's variable, which has a type where it is compiled."""

    def to(self, *_):
        return self


class Tensor:
    """An array as the interpreter takes tensors."""

    def __init__(self, array):
        self.array = array
        self.dtype = str(array.dtype)

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, *_, **__):
        return Tensor(self.array)

    def set_(self, *_):
        pass

    def copy_(self, other):
        pass

    def storage_offset(self):
        return 0

    size = stride = storage_offset


def names_of(op, tree, workload):
    known = {"ceil_div": lambda a, b: -(-a // b), "min": min, "max": max,
             "device_units": UNITS, "true": True, "float32": 1, "float16": 2,
             "round_up": lambda a, b: -(-a // b) * b}
    for name, axis in op["axes"].items():
        if isinstance(axis, (int, str)) and str(axis).isdigit():
            known[name] = int(axis)
        elif isinstance(axis, dict) and "types" in axis:
            known[name] = axis["types"][0]
    known.update({k: float(v) for k, v in op.get("constants", {}).items()})
    known.update({k: v for k, v in workload.items() if k != "name"})
    for name, p in (tree.get("parameters") or {}).items():
        values = p if isinstance(p, list) else p["values"]
        known[name] = values[0] if isinstance(p, list) else p.get("default", values[0])
    return known


def value(text, known):
    if isinstance(text, (int, float)):
        return text
    return eval(str(text), {"__builtins__": {}}, known)


def fill(facts, known, rng):
    shape = [value(s, known) for s in facts["shape"]]
    kind = TYPES[known.get(facts["dtype"], facts["dtype"])]
    rule = facts.get("fill", {"normal": [0, 1]})
    if "integers" in rule:
        a, b = rule["integers"]
        return rng.integers(a, b + 1, shape).astype(kind)
    if "uniform" in rule:
        return rng.uniform(*rule["uniform"], shape).astype(kind)
    return rng.normal(*rule["normal"], shape).astype(kind)


def load(source, number, folder):
    path = os.path.join(folder, f"kernels{number}.py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(source)
    spec = importlib.util.spec_from_file_location(f"kernels{number}", path)
    module = importlib.util.module_from_spec(spec)
    module.range = lambda *ends: map(Index, range(*ends))
    sys.modules[f"kernels{number}"] = module
    spec.loader.exec_module(module)
    return module


def argument(arg, known, arrays, scratch):
    if isinstance(arg, str):
        return Tensor(arrays[arg])
    kind, text = next((k, v) for k, v in arg.items() if k != "divisible")
    if str(text) in scratch:
        return Tensor(scratch[str(text)])
    got = value(text, known)
    by = value(arg["divisible"], known) if "divisible" in arg else None
    assert by is None or got % by == 0, f"{got} is promised to be a multiple of {by}"
    return got


def run(side, number, op, workload, seed, folder):
    """The outputs of one side."""
    tree, rng = side["tree"], np.random.default_rng(seed)
    known = names_of(op, tree, workload)
    arrays = {n: fill(f, known, rng) for n, f in op["inputs"].items()}
    for n, f in op["outputs"].items():
        arrays[n] = fill({**f, "fill": {"uniform": [77, 78]}}, known, rng)
    for c in tree.get("constraints", []):
        text = c["require"] if isinstance(c, dict) else c
        if not value(text, known):
            return None, arrays
    scratch = {}
    for n, s in (tree.get("scratch") or {}).items():
        size = value(s["bytes"], known) // 4 if value(s.get("when", True), known) else 0
        scratch[n] = np.full(max(size, 1), 1e30, np.float32)
    module = load(side["source"], number, folder)
    for launch in tree["launches"]:
        if not value(launch.get("when", True), known):
            continue
        consts = launch.get("constexprs", {})
        if isinstance(consts, list):
            consts = {n: n for n in consts}
        grid = launch["grid"] if isinstance(launch["grid"], list) else [launch["grid"]]
        args = [argument(a, known, arrays, scratch) for a in launch["args"]]
        fn = getattr(module, launch["entry"])
        names = [n for n in fn.arg_names if n not in consts][: len(args)]
        fn[tuple(value(g, known) for g in grid)](
            **dict(zip(names, args)), **{k: value(v, known) for k, v in consts.items()})
    return {n: arrays[n] for n in op["outputs"]}, arrays


# ---- what is right -------------------------------------------------------------


def erf(x):
    import math

    return np.vectorize(math.erf)(x)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, eps=0.0):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps)


def rotary(X, COS, SIN):
    a, b = np.split(X, 2, axis=-1)
    c, s = COS[:, None, :], SIN[:, None, :]
    return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)


def loss(X, TARGET):
    top = X.max(1)
    return np.log(np.exp(X - top[:, None]).sum(1)) + top - X[
        np.arange(len(X)), TARGET.astype(int)]


RIGHT = {
    "gelu": lambda X: 0.5 * X * (1 + erf(X * 0.5**0.5)),
    "row_sum": lambda X: X.sum(1),
    "col_sum": lambda X: X.sum(0),
    "softmax": lambda X: softmax(X),
    "layernorm": lambda X, W, B: norm(X, 1e-5) * W + B,
    "row_zscore": lambda X: norm(X),
    "rmsnorm": lambda X, W: X / np.sqrt((X * X).mean(1, keepdims=True) + 1e-6) * W,
    "cross_entropy": loss,
    "gemm": lambda A, B: A @ B,
    "gemm_relu": lambda A, B, BIAS: np.maximum(A @ B + BIAS, 0),
    "gemv": lambda A, X: A @ X,
    "batched_gemm": lambda A, B: A @ B,
    "head_scores": lambda Q, K: Q @ K.swapaxes(1, 2) * 0.125,
    "rotary": rotary,
    "bias_residual": lambda X, BIAS, RES: X + BIAS + RES,
    "argmax": lambda X: X.argmax(1),
    "embedding": lambda IDS, TABLE: TABLE[IDS.astype(int)],
    "embedding_bag": lambda IDS, TABLE: TABLE[IDS.astype(int)].sum(1),
    "attention": lambda Q, K, V: softmax(Q @ K.swapaxes(1, 2) * 0.125) @ V,
}


def compare(name, job, outputs, arrays):
    """What is wrong, or None."""
    inputs = {n: arrays[n].astype(np.float64) for n in job["op"]["inputs"]}
    right = RIGHT[job["function"]](**inputs)
    got = outputs[next(iter(job["op"]["outputs"]))].astype(np.float64)
    if got.shape != right.shape:
        return f"shape {got.shape}, not {right.shape}"
    half = any(a.dtype == np.float16 for a in arrays.values())
    limit = (2e-3 if half else 2e-5) * (1 + np.abs(right).max())
    worst = np.abs(got - right).max()
    return None if worst <= limit else f"off by {worst:.3g}, allowed {limit:.3g}"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        jobs = json.load(f)
    number = count = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for job in jobs:
            for workload in job["workloads"]:
                for at, side in enumerate(job["sides"]):
                    number += 1
                    try:
                        got, arrays = run(side, number, job["op"], workload, 7, folder)
                        why = got and compare(job["name"], job, got, arrays)
                    except Exception as e:
                        words = re.sub(r"\s+", " ", f"{type(e).__name__}: {e}")
                        got, why = True, words[:300]
                    count += 1
                    what = f"{job['name']} side {at} on {workload.get('name')}"
                    if got is None:
                        print(f"ok {count} - {what} # SKIP a constraint forbids it")
                    else:
                        bad += bool(why)
                        print(f"{'not ok' if why else 'ok'} {count} - {what}"
                              + (f": {why}" if why else ""), flush=True)
    print(f"1..{count}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
