"""ws_triton_xform.py: changes the source of kernels in Triton.

Reads requests on standard input, one JSON object a line, and answers each with
one line on standard output. Started by wavesmith-worker, which has taken away
from it whatever it does not need, its argument is how much memory may be used,
and descriptor 3 a socket to the tool with the same requests and answers, each
behind {u32 length, u32 type}, little-endian. The source is parsed and never run;
it needs Python 3.9 or later and its standard library, neither Triton nor a GPU.

    {"command": "list"}
    {"command": "find", "source": TEXT, "kernel": FUNCTION, "facts": FACTS,
     "only": [NAMES]}
    {"command": "apply", "source": TEXT, "facts": FACTS, "site": SITE,
     "args": {NAME: VALUE}}

FACTS are the trees of the kernel file and of its op in one map: launches,
parameters, constraints, scratch; axes, constants, inputs, inouts, outputs; and
`rounding`: whether results may change by rounding. Without `kernel` all functions
that a launch names are looked at. `list` answers {"rules": [...]}, `find`
{"sites": [...], "refusals": [...]}, `apply` {"edits": [{"offset", "length",
"text"}], "changes": [{"path", "yaml"}], "source": TEXT, "words"}; offsets and
lengths are bytes of the source in UTF-8. A site is what `find` gave, whole; it is
found again, so that one that is not there any more is an error. Whatever goes
wrong is {"error": WORDS}, and the helper goes on with the next line.
"""
import ast
import importlib
import json
import os
import resource
import socket
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from xform_triton.model import Kernel, is_jit  # noqa: E402
from xform_triton.rule import Refusal, Refused  # noqa: E402
from xform_triton.text import Edits, Source, splice  # noqa: E402

REQUEST, ANSWER = 120, 121  # types of messages
MAX_BYTES = 1 << 20
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "xform_triton")
SHARED = ("__init__", "model", "rule", "text")


class Wrong(Exception):
    """A request that cannot be answered."""


def rules():
    """The members: every file of the folder but what they share."""
    names = sorted(f[:-3] for f in os.listdir(FOLDER) if f.endswith(".py"))
    return [importlib.import_module(f"xform_triton.{n}").RULE for n in names
            if n not in SHARED]


def parse(text):
    if not isinstance(text, str):
        raise Wrong("the request has no source")
    try:
        if len(text.encode("utf-8")) > MAX_BYTES:
            raise Wrong(f"the source has more than {MAX_BYTES} bytes")
        return Source(text)
    except SyntaxError as e:
        raise Wrong(f"the source is no Python: line {e.lineno}: {e.msg}") from None
    except (ValueError, RecursionError, MemoryError) as e:
        raise Wrong(f"the source cannot be read: {e}") from None


def functions(source):
    return {n.name: n for n in source.tree.body
            if isinstance(n, ast.FunctionDef) and is_jit(n)}


def kernels(source, facts, name):
    found = functions(source)
    if name is not None:
        if name not in found:
            have = ", ".join(found) or "none"
            raise Wrong(f"the source has no function '{name}' with @triton.jit "
                        f"(it has: {have})")
        return [Kernel(source, found[name], facts)]
    named = []
    for launch in facts.get("launches", []):
        entry = launch.get("entry")
        if entry not in found:
            raise Wrong(f"a launch names '{entry}', which the source does not have")
        if entry not in named:
            named.append(entry)
    if not named:
        raise Wrong("name a kernel, or give launches that do")
    return [Kernel(source, found[n], facts) for n in named]


def facts_of(request):
    facts = request.get("facts", {})
    if not isinstance(facts, dict):
        raise Wrong("'facts' is no map")
    for key, kind in (("launches", list), ("parameters", dict), ("axes", dict),
                      ("inputs", dict), ("inouts", dict), ("outputs", dict),
                      ("scratch", dict), ("constants", dict), ("constraints", list)):
        if not isinstance(facts.get(key, kind()), kind):
            raise Wrong(f"'{key}' of the facts is no {kind.__name__}")
    for launch in facts.get("launches", []):
        if not isinstance(launch, dict) or not isinstance(launch.get("entry"), str):
            raise Wrong("a launch of the facts has no entry")
    return facts


def place(source, node):
    line = node.lineno
    if isinstance(node, ast.FunctionDef):  # where `def` is, not its decorator
        return {"line": line, "column": node.col_offset, "end_line": line}
    return {"line": line, "column": node.col_offset, "end_line": node.end_lineno}


def describe(rule, kernel, found):
    out = {"rule": rule.name, "function": kernel.name,
           **place(kernel.source, found.node)}
    if isinstance(found, Refusal):
        return {**out, "why": found.why}
    args = {**rule.defaults(), **found.args}
    return {**out, "args": args, "words": found.words,
            "unproven": rule.unproven + found.unproven}


def found_by(rule, kernel):
    """Everything that a rule says of a kernel; a Refused from deep inside is a
    refusal of the whole."""
    out = []
    if not kernel.tl:
        return [Refusal(kernel.fn, "the source has no name for triton.language")]
    try:
        for found in rule.sites(kernel):
            out.append(found)
    except Refused as e:
        out.append(Refusal(kernel.fn, str(e)))
    return out


def find(request):
    source, facts = parse(request.get("source")), facts_of(request)
    only = request.get("only")
    sites, refusals = [], []
    for kernel in kernels(source, facts, request.get("kernel")):
        for rule in rules():
            if only is not None and rule.name not in only:
                continue
            for found in found_by(rule, kernel):
                said = describe(rule, kernel, found)
                (refusals if isinstance(found, Refusal) else sites).append(said)
    return {"sites": sites, "refusals": refusals}


def checked_args(rule, site, given):
    """The arguments of an edit: the site's, and what the caller wants else."""
    args = {**rule.defaults(), **site.args}
    for name, value in given.items():
        if name not in rule.args:
            known = ", ".join(rule.args) or "none"
            raise Wrong(f"'{rule.name}' has no argument '{name}' (it has: {known})")
        allowed = rule.args[name]["values"]
        if value not in allowed or type(value) not in {type(v) for v in allowed}:
            raise Wrong(f"'{name}' of '{rule.name}' is one of {allowed}")
        args[name] = value
    return args


def wanted(request):
    site = request.get("site")
    if not isinstance(site, dict):
        raise Wrong("the request has no site")
    rule = [r for r in rules() if r.name == site.get("rule")]
    if not rule:
        raise Wrong(f"there is no transformation '{site.get('rule')}'")
    given = {**(site.get("args") or {}), **(request.get("args") or {})}
    return rule[0], site, given


def apply(request):
    source, facts = parse(request.get("source")), facts_of(request)
    rule, want, given = wanted(request)
    kernel = kernels(source, facts, want.get("function"))[0]
    if rule.rounding and not facts.get("rounding"):
        raise Wrong(f"'{rule.name}' changes rounding, which the facts do not allow")
    for found in found_by(rule, kernel):
        if isinstance(found, Refusal):
            continue
        said = describe(rule, kernel, found)
        if all(said[k] == want.get(k) for k in ("line", "column", "words")):
            return result(rule, kernel, found, checked_args(rule, found, given))
    raise Wrong(f"the source has no such place for '{rule.name}'")


def result(rule, kernel, site, args):
    source, out = kernel.source, Edits(kernel.source)
    rule.edit(kernel, site, args, out)
    edits = sorted(out.edits, key=lambda e: (e[0], e[1]))
    try:
        text = splice(source.raw, edits).decode("utf-8")
        compile(text, "<changed>", "exec", dont_inherit=True)
    except (ValueError, SyntaxError) as e:
        raise Wrong(f"'{rule.name}' would break this source: {e}") from None
    if not edits and not out.changes:
        raise Wrong(f"'{rule.name}' has nothing to change here")
    return {
        "edits": [{"offset": o, "length": n, "text": t} for o, n, t in edits],
        "changes": out.changes, "source": text, "words": site.words,
    }


def answer(line):
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as e:
        raise Wrong(f"the request is no JSON: {e}") from None
    if not isinstance(request, dict):
        raise Wrong("the request is no map")
    command = request.get("command")
    if command == "list":
        return {"rules": [r.declare() for r in rules()]}
    if command == "find":
        return find(request)
    if command == "apply":
        return apply(request)
    raise Wrong(f"there is no command '{command}': list, find, apply")


def reply(line):
    try:
        return answer(line)
    except (Wrong, Refused) as e:
        return {"error": str(e)}
    except RecursionError:
        return {"error": "the source is nested too deeply"}
    except Exception as e:  # a source that a rule does not cope with
        return {"error": f"cannot read this source: {type(e).__name__}: {e}"}


# ---- who asks ------------------------------------------------------------------


def exactly(sock, n):
    data = bytearray()
    while len(data) < n:
        part = sock.recv(min(n - len(data), 1 << 20))
        if not part:
            sys.exit(0)
        data += part
    return bytes(data)


def serve(sock):
    """Until the socket ends."""
    while True:
        length, kind = struct.unpack("<II", exactly(sock, 8))
        line = exactly(sock, length)
        said = reply(line) if kind == REQUEST else {"error": "this is no request"}
        raw = json.dumps(said).encode()
        sock.sendall(struct.pack("<II", len(raw), ANSWER) + raw)


def limit_memory(wanted):
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or hard > wanted:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))


def main():
    if sys.version_info < (3, 9):
        sys.exit("Error: this is Python " + sys.version.split()[0])
    if len(sys.argv) > 1:
        limit_memory(int(sys.argv[1]))
        serve(socket.socket(fileno=3))
    for line in sys.stdin:
        if line.strip():
            sys.stdout.write(json.dumps(reply(line)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
