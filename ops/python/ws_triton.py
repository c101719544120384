"""ws_triton.py: compiles kernels in Triton, ahead and without a GPU.

Started by wavesmith-worker, which has denied new sockets before and lets this
process write in one folder only; descriptor 3 is a socket to the tool. Messages
are {u32 length, u32 type} and a payload, little-endian: SETUP brings the text of
the kernels, a target, how many jobs may run at a time and how long each,
answered by READY with Triton's version; JOBS the keys of what is wanted, answered
by one RESULT each, in any order, and then DONE, after which more JOBS may come.

A key reads like a call: the function, the types of its arguments ("*bf16:16": a
pointer, a multiple of 16), its constants, and options of the compiler. It is
parsed, never evaluated. Compilers crash, so they run in children, one job at a
time each; a child that dies takes its job with it and no other.
"""
import ast
import importlib.util
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import sys
import traceback

SETUP, READY, JOBS, RESULT, DONE = range(110, 115)
MAX_WORDS = 700
PR_SET_PDEATHSIG = 1

# The same text gives the same bytes, wherever it lies.
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"

if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
    del sys.path[0]


class Fail(Exception):
    pass


# ---- messages ---------------------------------------------------------------


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        n = self.take("Q")
        raw = self.data[self.at : self.at + n]
        self.at += n
        return raw[:-1].decode("utf-8", "replace")


def blob(raw):
    return struct.pack("<Q", len(raw)) + raw


def text(s):
    return blob(s.encode("utf-8", "replace").replace(b"\0", b"?") + b"\0")


class Wire:
    def __init__(self, fd):
        self.sock = socket.socket(fileno=fd)

    def exactly(self, n):
        data = bytearray()
        while len(data) < n:
            part = self.sock.recv(min(n - len(data), 1 << 20))
            if not part:
                sys.exit(0)
            data += part
        return bytes(data)

    def receive(self):
        length, kind = struct.unpack("<II", self.exactly(8))
        return kind, Reader(self.exactly(length))

    def send(self, kind, body=b""):
        self.sock.sendall(struct.pack("<II", len(body), kind) + body)


def short(words):
    words = " ".join(words.split())
    return words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 3] + "..."


def words_of(error, file):
    """What an error says, and the line of the kernels' text it came from."""
    said = f"{type(error).__name__}: {error}"
    cause = error.__cause__ or error.__context__
    if cause is not None and str(cause) and str(cause) not in said:
        said += f" ({type(cause).__name__}: {cause})"
    mine = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    if mine:
        said += f" ({os.path.basename(file)}:{mine[-1].lineno})"
    return short(said)


# ---- one kernel -------------------------------------------------------------


def parse_key(key):
    """(function, [types], {constants}, {options}), of text that is not trusted."""
    call = ast.parse(key, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise Fail("the key is no call")
    types = [ast.literal_eval(a) for a in call.args]
    named = {}
    for k in call.keywords:
        if isinstance(k.value, ast.Name):  # an element type
            named[k.arg] = ("type", k.value.id)
        else:
            named[k.arg] = ("value", ast.literal_eval(k.value))
    options = {n: named.pop(n)[1] for n in ("num_warps", "num_stages")}
    return call.func.id, types, named, options


def constant(kind, value):
    if kind == "value":
        return value
    import triton.language as tl

    return tl.str_to_ty(value, None) if hasattr(tl, "str_to_ty") else tl.dtype(value)


def source_of(module, name, types, named):
    from triton.compiler import ASTSource

    fn = getattr(module, name, None)
    if fn is None or not hasattr(fn, "arg_names"):
        raise Fail(f"the source has no function '{name}' with @triton.jit")
    params = list(fn.arg_names)
    marked = {p.name for p in fn.params if p.is_constexpr}
    given = [p for p in params if p not in named and p not in marked]
    unknown = sorted(set(named) - set(params))
    missing = [
        p.name
        for p in fn.params
        if p.is_constexpr and p.name not in named and not p.has_default
    ]
    if unknown:
        raise Fail(f"'{name}' has no constant {', '.join(unknown)}")
    if missing:
        raise Fail(f"'{name}' needs the constants {', '.join(missing)}: constexprs")
    if len(given) != len(types):
        raise Fail(
            f"'{name}' takes {len(given)} arguments ({', '.join(given)}), "
            f"the launch gives {len(types)}"
        )
    constants = {n: constant(*v) for n, v in named.items()}
    for p in fn.params:
        if p.is_constexpr and p.name not in constants:
            constants[p.name] = p.default
    signature, attrs = {}, {}
    for i, p in enumerate(params):
        if p in constants:
            signature[p] = "constexpr"
            continue
        kind, _, by = types[given.index(p)].partition(":")
        signature[p] = kind
        if by == "16":
            attrs[(i,)] = [["tt.divisibility", 16]]
    return ASTSource(fn=fn, signature=signature, constexprs=constants, attrs=attrs)


def check_metadata(meta):
    """What a plain launch cannot give to a kernel."""
    for field, plain, what in (
        ("num_ctas", 1, "clusters of blocks"),
        ("global_scratch_size", 0, "global scratch"),
        ("profile_scratch_size", 0, "profiling scratch"),
        ("launch_cooperative_grid", False, "a cooperative launch"),
    ):
        value = getattr(meta, field, plain)
        if value != plain:
            raise Fail(f"the kernel needs {what} ({value}), which is not supported")
    if getattr(meta, "tensordesc_meta", None):
        raise Fail("the kernel takes tensor descriptors, which are not supported")


def number_of_parameters(ptx, entry):
    head = re.search(r"\.entry\s+" + re.escape(entry) + r"\s*\((.*?)\)", ptx, re.S)
    if not head:
        raise Fail("the compiled kernel's parameters are not understood")
    return head.group(1).count(".param")


def compile_one(module, key, target):
    import triton
    from triton.backends.compiler import GPUTarget

    name, types, named, options = parse_key(key)
    backend, arch, warp = target
    compiled = triton.compile(
        source_of(module, name, types, named),
        target=GPUTarget(backend, arch, warp),
        options=options,
    )
    meta, ptx = compiled.metadata, compiled.asm["ptx"]
    check_metadata(meta)
    threads = re.search(r"\.(?:reqntid|maxntid)\s+(\d+)", ptx)
    facts = {
        "entry": meta.name,
        "threads": int(threads.group(1)) if threads else meta.num_warps * warp,
        "shared": meta.shared,
        "nulls": number_of_parameters(ptx, meta.name) - len(types),
    }
    return facts, compiled.asm["cubin"]


# ---- children ---------------------------------------------------------------


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data) :]


def read_all(fd, n):
    data = b""
    while len(data) < n:
        part = os.read(fd, n - len(data))
        if not part:
            return None
        data += part
    return data


def child_main(module, target, file, limit, jobs, out, folder):
    os.environ["TRITON_CACHE_DIR"] = folder
    while True:
        raw = read_all(jobs, 4)
        if raw is None:
            os._exit(0)
        key = read_all(jobs, struct.unpack("<I", raw)[0]).decode()
        signal.alarm(limit)
        try:
            facts, cubin = compile_one(module, key, target)
        except Exception as e:  # whatever a compiler says is an answer
            words = str(e) if isinstance(e, Fail) else words_of(e, file)
            facts, cubin = {"failed": words or "the compiler failed"}, b""
        signal.alarm(0)
        shutil.rmtree(folder, ignore_errors=True)
        head = json.dumps(facts).encode()
        write_all(out, struct.pack("<II", len(head), len(cubin)) + head + cubin)


class Child:
    """A process that compiles; `job` is the index of what it is at."""

    def __init__(self, start, others):
        jobs_in, self.jobs = os.pipe()
        self.out, out = os.pipe()
        self.job, self.data = None, b""
        self.pid = os.fork()
        if self.pid == 0:
            try:
                die_with_parent()
                for c in [self, *others]:  # a pipe ends with its last copy
                    os.close(c.jobs)
                    os.close(c.out)
                os.close(3)
                start(jobs_in, out)
            finally:
                os._exit(1)
        os.close(jobs_in)
        os.close(out)

    def give(self, index, key):
        raw = key.encode()
        self.job, self.data = index, b""
        try:
            write_all(self.jobs, struct.pack("<I", len(raw)) + raw)
        except OSError:  # it is dead: so its other pipe will say
            pass

    def take(self):
        """(facts, cubin) once it is whole; None: not yet; raises EOFError."""
        part = os.read(self.out, 1 << 20)
        if not part:
            raise EOFError
        self.data += part
        if len(self.data) < 8:
            return None
        head, cubin = struct.unpack("<II", self.data[:8])
        if len(self.data) < 8 + head + cubin:
            return None
        return json.loads(self.data[8 : 8 + head]), self.data[8 + head :]

    def end(self):
        """What became of it, in words; it ends with its pipe."""
        os.close(self.jobs)
        os.close(self.out)
        _, status = os.waitpid(self.pid, 0)
        if not os.WIFSIGNALED(status):
            return f"the compiler ended with exit status {os.WEXITSTATUS(status)}"
        if os.WTERMSIG(status) == signal.SIGALRM:
            return "the compiler took too long"
        return f"the compiler ended with signal {os.WTERMSIG(status)}"


def die_with_parent():
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_jobs(keys, nchild, start, tell):
    """Every key, on nchild children; tell(index, facts, cubin) as they come."""
    waiting, children, made = list(range(len(keys)))[::-1], [], 0
    while waiting or any(c.job is not None for c in children):
        while waiting and len(children) < nchild:
            children.append(Child(lambda a, b, n=made: start(n, a, b), children))
            made += 1
        for c in children:
            if c.job is None and waiting:
                index = waiting.pop()
                c.give(index, keys[index])
        busy = [c.out for c in children if c.job is not None]
        ready, _, _ = select.select(busy, [], [])
        for c in [c for c in children if c.out in ready]:
            try:
                got = c.take()
            except (EOFError, OSError):
                children.remove(c)
                got = ({"failed": c.end()}, b"")
            if got is not None:
                index, c.job = c.job, None
                tell(index, *got)
    for c in children:
        c.end()


# ---- the tool's side --------------------------------------------------------


def load(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(content)
    spec = importlib.util.spec_from_file_location("ws_kernels", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ws_kernels"] = module
    spec.loader.exec_module(module)
    return module, path


def parse_target(words):
    found = re.fullmatch(r"sm_(\d+)a?", words)
    if not found:
        raise Fail(f"'{words}' is no target: write sm_90")
    return ("cuda", int(found.group(1)), 32)


def version():
    try:
        import triton
    except ImportError as e:
        raise Fail(
            f"Python has no Triton ({e}); install it, as in 'pip install "
            "triton==3.6.0', or name another Python in WAVESMITH_PYTHON"
        ) from None
    return triton.__version__


def serve(folder):
    wire = Wire(3)
    kind, r = wire.receive()
    if kind != SETUP:
        sys.exit("no SETUP")
    name, content, words = r.text(), r.text(), r.text()
    nchild, limit = r.take("I"), r.take("I")
    try:
        target, triton = parse_target(words), version()
        module, file = load(folder, name, content)
    except Fail as e:
        wire.send(READY, text("") + text(str(e)))
        return
    except BaseException as e:  # the user's text runs here
        at = os.path.join(folder, name)
        wire.send(READY, text("") + text(f"'{name}' cannot be loaded: {words_of(e, at)}"))
        return
    wire.send(READY, text(triton) + text(""))

    def start(n, jobs, out):
        cache = os.path.join(folder, f"cache{n}")
        child_main(module, target, file, limit, jobs, out, cache)

    def tell(index, facts, cubin):
        body = struct.pack("<I", index) + text(facts.get("failed", ""))
        body += text(facts.get("entry", ""))
        body += struct.pack("<III", *(facts.get(k, 0) for k in ("threads", "shared", "nulls")))
        wire.send(RESULT, body + blob(cubin))

    while True:  # until the socket ends
        kind, r = wire.receive()
        keys = [r.text() for _ in range(r.take("I"))]
        run_jobs(keys, max(nchild, 1), start, tell)
        wire.send(DONE)


if __name__ == "__main__":
    place = os.environ["TMPDIR"]
    try:
        serve(place)
    finally:
        for entry in os.listdir(place):
            path = os.path.join(place, entry)
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
