"""ws_reference.py: runs the reference of an operator that is in Python.

Started by wavesmith-worker, which has lowered limits and denied new sockets
before; its argument is how much memory may be used; descriptor 3 is a socket to
the tool. Messages are those of
src/reference: {u32 length, u32 type} and a payload, little-endian; SETUP
brings the user's text and the names of the op, CALL one workload whose inputs
and results lie in shared memory. Every call is answered by DONE, with what
went wrong if anything did. The process ends with its socket.

Inputs are handed over by value or read-only, results are checked here (number,
shape, kind of numbers) and stored as doubles; the tool looks for NaN. What the
user's code prints goes nowhere.
"""
import array
import inspect
import linecache
import mmap
import os
import random
import resource
import socket
import struct
import sys
import traceback

MAP_INPUTS, MAP_RESULTS, CALL, DONE, _START, SETUP = range(100, 106)
RUN = 0
EPROTO, EREFERENCE = 23, 28
NOWHERE = 2**64 - 1
MAX_TEXT = 700
np = torch = None  # once the op says which it wants

if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
    del sys.path[0]


class Fail(Exception):
    """The reference failed: what, and what to do."""

    def __init__(self, message, hint="", code=EREFERENCE):
        super().__init__(message)
        self.message, self.hint, self.code = message, hint, code


# ---- messages ---------------------------------------------------------------


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize("<" + form)
        return value

    def u32(self):
        return self.take("I")

    def u64(self):
        return self.take("Q")

    def i64(self):
        return self.take("q")

    def text(self):
        n = self.u64()
        raw = self.data[self.at : self.at + n]
        self.at += n
        return raw[:-1].decode("utf-8", "replace")


def put_text(s):
    raw = s.encode("utf-8", "replace").replace(b"\0", b"?") + b"\0"
    return struct.pack("<Q", len(raw)) + raw


class Wire:
    def __init__(self, fd):
        self.sock = socket.socket(fileno=fd)

    def exactly(self, n, fds):
        data = bytearray()
        while len(data) < n:
            part, extra, _, _ = self.sock.recvmsg(
                min(n - len(data), 1 << 20), socket.CMSG_SPACE(4)
            )
            for level, kind, raw in extra:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    got = array.array("i")
                    got.frombytes(raw[: len(raw) - len(raw) % 4])
                    fds.extend(got)
            if not part:
                os._exit(0)
            data += part
        return bytes(data)

    def receive(self):
        fds = []
        length, kind = struct.unpack("<II", self.exactly(8, fds))
        return kind, self.exactly(length, fds), fds[0] if fds else -1

    def answer(self, code=0, message="", hint=""):
        body = struct.pack("<I", code) + put_text(message) + put_text(hint)
        self.sock.sendall(struct.pack("<II", len(body), DONE) + body)


# ---- what the user wrote ----------------------------------------------------


def place(file, tb):
    """The last line of the user's own text that a traceback names."""
    mine = [f for f in traceback.extract_tb(tb) if f.filename == file]
    if not mine:
        return ""
    line = (mine[-1].line or "").strip()
    return f" ({file}:{mine[-1].lineno}: {line[:120]})"


def short(text):
    text = " ".join(text.split())
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."


def denied(error):
    """Does a refused system call lie below it?"""
    while error is not None and not isinstance(error, PermissionError):
        error = error.__cause__ or error.__context__
    return error is not None


def failed(file, what, error):
    """A Fail for what the user's code raised."""
    words = traceback.format_exception_only(type(error), error)
    hint = "the traceback ends there; run the function by itself to debug it"
    if isinstance(error, ModuleNotFoundError):
        return missing(error.name or str(error), place(file, error.__traceback__))
    if denied(error):
        hint = "a reference may not use the network, write files or start processes"
    if isinstance(error, MemoryError):
        hint = "use smaller workloads, or less memory in the reference"
    return Fail(
        short(f"{what} failed: {words[-1]}") + place(file, error.__traceback__), hint
    )


def missing(name, where=""):
    package = {"numpy": "python3-numpy", "torch": "python3-torch"}.get(name)
    install = f" (Debian: {package})" if package else ""
    return Fail(
        f"Python module '{name}' is not installed for '{sys.executable}'{where}",
        f"install it{install}, or name another Python in WAVESMITH_PYTHON; files "
        "beside the reference are no modules",
    )


class Reference:
    """The op's names and the user's function."""

    def __init__(self, r):
        self.file, text, self.function = r.text(), r.text(), r.text()
        self.torch_wanted = r.u32() != 0
        threads, self.cpu_s = r.u32(), r.u64()
        self.axes = [(r.text(), r.u32() != 0) for _ in range(r.u32())]
        self.constants = {}
        for _ in range(r.u32()):
            name, whole, value = r.text(), r.u32(), r.take("d")
            self.constants[name] = int(value) if whole else value
        self.tensors = [(r.text(), r.u32() != 0) for _ in range(r.u32())]
        self.dtypes = {}
        while (code := r.u32()) != 0:
            self.dtypes[code] = r.text()
        self.load_frameworks(threads)
        self.fn = self.load(text)

    def load_frameworks(self, threads):
        global np, torch
        try:
            import numpy as np
        except ImportError as e:
            raise missing("numpy") from e
        if not self.torch_wanted:
            return
        try:
            import torch
        except ImportError as e:
            raise missing("torch") from e
        torch.set_num_threads(threads)

    def load(self, text):
        space = {"__name__": "reference", "__file__": self.file}
        lines = text.splitlines(True)
        linecache.cache[self.file] = (len(text), None, lines, self.file)
        try:
            exec(compile(text, self.file, "exec"), space)
        except SyntaxError as e:
            raise Fail(
                short(f"'{self.file}' is not valid Python: {e.msg}")
                + f" ({self.file}:{e.lineno}: {(e.text or '').strip()[:120]})"
            ) from e
        except BaseException as e:
            raise failed(self.file, f"loading '{self.file}'", e) from e
        fn = space.get(self.function)
        if not callable(fn):
            names = sorted(
                k for k, v in space.items() if inspect.isfunction(v) and k[0] != "_"
            )
            have = ", ".join(names[:8]) or "none"
            raise Fail(
                f"'{self.file}' has no function '{self.function}'",
                f"its functions: {have}; the op names one with 'function:'",
            )
        return fn

    def wanted(self, axes):
        """Arguments after the inputs: parameters that bear the name of an axis
        or of a constant."""
        try:
            names = set(inspect.signature(self.fn).parameters)
        except (TypeError, ValueError):
            return {}
        known = dict(self.constants)
        for (name, is_type), v in zip(self.axes, axes):
            known[name] = self.dtypes.get(v, v) if is_type else v
        return {name: v for name, v in known.items() if name in names}


# ---- tensors ----------------------------------------------------------------


class Tensor:
    def __init__(self, r, name, scalar, dtypes):
        self.name, self.scalar = name, scalar
        self.dtype = dtypes[r.u32()]
        self.generate, self.input_at, self.result_at = r.u32(), r.u64(), r.u64()
        ndim = r.u32()
        pairs = [(r.i64(), r.i64()) for _ in range(ndim)]
        self.shape = tuple(d for d, _ in pairs)
        self.strides = tuple(s for _, s in pairs)

    def raw(self, area, at, kind, strides=None):
        kind = np.dtype(kind)
        steps = [s * kind.itemsize for s in strides] if strides is not None else None
        return np.ndarray(self.shape, kind, area, at, steps)

    def values(self, area):
        """The input, every float as float64: it holds them all exactly."""
        kinds = {"bfloat16": "<u2", "float8_e4m3fn": "u1", "float8_e5m2": "u1"}
        a = self.raw(area, self.input_at, kinds.get(self.dtype, self.dtype), self.strides)
        if self.dtype == "bfloat16":
            return (a.astype("<u4") << 16).view("<f4").astype("<f8")
        if self.dtype == "float8_e5m2":
            return (a.astype("<u2") << 8).view("<f2").astype("<f8")
        if self.dtype == "float8_e4m3fn":
            return e4m3_table()[a]
        return a.astype("<f8") if a.dtype.kind == "f" else a.copy()


def e4m3_table():
    """The 256 values of float8_e4m3fn: bias 7, no infinity, one NaN a sign."""
    table = np.empty(256)
    for code in range(256):
        sign = -1.0 if code & 128 else 1.0
        exponent, fraction = (code >> 3) & 15, code & 7
        if exponent == 15 and fraction == 7:
            table[code] = np.nan
        elif exponent:
            table[code] = sign * (1 + fraction / 8) * 2.0 ** (exponent - 7)
        else:
            table[code] = sign * fraction / 8 * 2.0**-6
    return table


def as_argument(t, area, use_torch):
    a = t.values(area)
    if t.scalar:
        return a.item()
    if not use_torch:
        a.setflags(write=False)
        return a
    kind = getattr(torch, t.dtype, None)
    # A type this torch does not know: float32 holds it exactly.
    return torch.from_numpy(np.ascontiguousarray(a)).to(kind or torch.float32)


def as_double(name, value):
    """A returned value as an array of doubles."""
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach()
        if value.is_complex() or value.is_sparse:
            raise Fail(f"output '{name}' is {value.dtype}, not real numbers")
        kind = torch.int64 if not value.is_floating_point() else torch.float64
        value = value.to("cpu", kind).numpy()
    value = np.asarray(value)
    if value.dtype.kind not in "fiub":
        raise Fail(
            f"output '{name}' has elements of type {value.dtype}",
            "return real numbers: floats, integers or bools",
        )
    return value


def store(t, value, area):
    value = as_double(t.name, value)
    if value.shape != t.shape:
        raise Fail(
            f"output '{t.name}' has shape {list(value.shape)}, not {list(t.shape)}",
            "the op's file says which shape each output has",
        )
    t.raw(area, t.result_at, "<f8")[...] = value.astype("<f8")


def outputs_of(returned, outputs):
    names = [t.name for t in outputs]
    if isinstance(returned, dict):
        lost = [n for n in names if n not in returned]
        if lost:
            raise Fail(f"the result has no '{lost[0]}'", f"return {', '.join(names)}")
        return [returned[n] for n in names]
    if returned is None:
        raise Fail("the function returned nothing", f"return {', '.join(names)}")
    if not isinstance(returned, (tuple, list)):
        returned = [returned]
    elif len(outputs) == 1 and len(returned) != 1:
        returned = [returned]
    if len(returned) != len(outputs):
        raise Fail(
            f"the function returned {len(returned)} results, not {len(outputs)}",
            f"return {', '.join(names)}",
        )
    return returned


# ---- calls ------------------------------------------------------------------


def limit_processor(seconds):
    """So much more processor time for this call; the tool has a clock, too."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or soft <= hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def run(ref, data, inputs, results):
    r = Reader(data)
    r.text()
    what, _, _, seed = r.u32(), r.u32(), r.u32(), r.u64()
    if what != RUN:
        raise Fail("a reference in Python makes no inputs and no mutants")
    axes = [r.i64() for _ in range(r.u32())]
    tensors = [
        Tensor(r, name, scalar, ref.dtypes)
        for (name, scalar), _ in zip(ref.tensors, range(r.u32()))
    ]
    args = [
        as_argument(t, inputs, ref.torch_wanted) for t in tensors if t.input_at != NOWHERE
    ]
    outputs = [t for t in tensors if t.result_at != NOWHERE]
    random.seed(seed)
    np.random.seed(seed % 2**32)
    if ref.torch_wanted:
        torch.manual_seed(seed % 2**63)
    limit_processor(ref.cpu_s)
    what = f"'{ref.function}' of '{ref.file}'"
    try:
        returned = ref.fn(*args, **ref.wanted(axes))
    except BaseException as e:
        raise failed(ref.file, what, e) from e
    try:
        for t, value in zip(outputs, outputs_of(returned, outputs)):
            store(t, value, results)
    except Fail as e:
        raise Fail(f"{what}: {e.message}", e.hint) from e
    except (TypeError, ValueError) as e:
        raise Fail(short(f"{what}: its result is no array of numbers: {e}")) from e


def map_area(data, fd, writable):
    """The area, or None: a message that maps is not answered, the call is."""
    prot = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    try:
        return mmap.mmap(fd, Reader(data).u64(), mmap.MAP_SHARED, prot)
    except (OSError, ValueError, MemoryError):
        return None
    finally:
        os.close(fd)


def limit_memory(wanted):
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or hard > wanted:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))


def silence():
    """Prints go nowhere; descriptor 2 stays for a dying interpreter."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout = open(1, "w", closefd=False)
    sys.stderr = open(os.devnull, "w")
    sys.stdin = open(0, closefd=False)


def answer_one(ref, kind, data, areas):
    """Returns the reference, which SETUP makes."""
    if kind == SETUP:
        return Reference(Reader(data))
    if kind != CALL or ref is None:
        raise Fail(f"unknown message {kind}", code=EPROTO)
    if None in areas.values():
        raise MemoryError
    run(ref, data, areas[MAP_INPUTS], areas[MAP_RESULTS])
    return ref


def serve(wire):
    """One answer for each SETUP and CALL, whatever happens."""
    ref, areas = None, {MAP_INPUTS: None, MAP_RESULTS: None}
    while True:
        kind, data, fd = wire.receive()
        if kind in areas:
            areas[kind] = None
            areas[kind] = map_area(data, fd, kind == MAP_RESULTS)
            continue
        try:
            ref = answer_one(ref, kind, data, areas)
            answer = ()
        except Fail as e:
            answer = e.code, e.message, e.hint
        except MemoryError:
            answer = (
                EREFERENCE,
                "it needs more memory than it may use",
                "use smaller workloads, or less memory in the reference",
            )
        except Exception as e:
            answer = EREFERENCE, short(f"internal: {type(e).__name__}: {e}")
        wire.answer(*answer)


if __name__ == "__main__":
    limit_memory(int(sys.argv[1]))
    os.chdir("/tmp" if os.path.isdir("/tmp") else "/")
    silence()
    serve(Wire(3))
