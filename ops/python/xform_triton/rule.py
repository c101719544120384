"""rule.py: what every transformation declares, and what they share.

A member is a module with one object RULE. `sites` yields Site and Refusal objects
for a kernel; `edit` makes the edits and changes of a site. Nothing is kept between
the two: a site is found again before it is edited, so that a caller can hand in
nothing but what was found.
"""
import ast

from .text import Edits, Refused, flow, quote

SANITIZED = ["sanitizer", "state"]
RAGGED = ["shapes"]


class Site:
    """A place that can be changed: `data` is the rule's own and not told."""

    def __init__(self, node, words, args=None, unproven=(), data=None):
        self.node, self.words = node, words
        self.args, self.unproven, self.data = args or {}, list(unproven), data


class Refusal:
    """A place that looks alike and must not be changed."""

    def __init__(self, node, why):
        self.node, self.why = node, why


class Rule:
    name = about = ""
    symptoms = []  # ids of rules of the diagnosis
    holds = []  # what must hold, and is checked
    unproven = []  # what cannot be proven here, and is left to the verdict
    args = {}  # name: {"values": [...], "default": ..., "about": ...}
    gain = 1.0  # factor of the speed to be expected, knowing nothing
    deltas = []  # (fact, lowest factor, highest factor)
    gates = []  # gates that a result must pass, beside the plain verdict
    rounding = False  # results may differ by rounding

    def declare(self):
        return {
            "name": self.name, "about": self.about, "symptoms": self.symptoms,
            "holds": self.holds, "unproven": self.unproven, "args": self.args,
            "gain": self.gain,
            "deltas": [{"fact": f, "low": a, "high": b} for f, a, b in self.deltas],
            "gates": self.gates, "rounding": self.rounding,
        }

    def sites(self, kernel):
        raise NotImplementedError

    def edit(self, kernel, site, args, out):
        raise NotImplementedError

    def defaults(self):
        return {k: v["default"] for k, v in self.args.items()}


# ---- signatures and calls ------------------------------------------------------


def add_parameters(kernel, out, *decls):
    """Adds parameters behind the last. With their defaults the function does what
    it did; where that cannot be, the default is None, which does not compile."""
    source, args = kernel.source, kernel.fn.args
    if args.vararg or args.kwarg or args.kwonlyargs:
        raise Refused("the function takes *args, **kwargs or keywords only")
    plain = args.posonlyargs + args.args
    end = max(source.end(a) for a in plain)
    end = max([end, *(source.end(d) for d in args.defaults)])
    line = source.line_text(max(a.end_lineno for a in plain))
    own = source.line_text(plain[-1].lineno)[: plain[-1].col_offset]
    new = "".join(", " + d for d in decls)
    if not own.strip():  # one parameter a line
        new = "".join(f",\n{own}{d}" for d in decls)
    elif len(line) + len(new) > 88:
        line = source.line_text(plain[-1].lineno)
        pad = line[: len(line) - len(line.lstrip())]
        if plain[-1].lineno == kernel.fn.lineno:
            pad = " " * plain[0].col_offset
        new = f",\n{pad}" + ", ".join(decls)
    out.insert(end, new)


def set_keyword(kernel, out, call, text):
    """Adds `name=value` as a call's last argument, in a line of its own where the
    line would get long."""
    source = kernel.source
    node, _, end = source.arguments(call)[-1]
    if len(source.line_text(node.end_lineno)) + len(text) + 2 > 88:
        pad = " " * call.args[0].col_offset if call.args else "    "
        out.insert(end, f",\n{pad}{text}")
    else:
        out.insert(end, ", " + text)


def is_called(kernel):
    """Whether another function of the source calls this one."""
    for node in ast.walk(kernel.source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == kernel.name:
                return True
    return False


# ---- the kernel file ---------------------------------------------------------------


def set_constexpr(kernel, out, name, text):
    """A constant of the function, in all its launches."""
    for launch in kernel.launches:
        path = f"launches[{launch.index}].constexprs"
        if isinstance(launch.tree.get("constexprs"), list):
            out.change(path, flow({**launch.constexprs, name: str(text)}))
        else:
            out.change(f"{path}.{name}", quote(text))


def set_parameter(out, name, values, default, about):
    out.change(f"parameters.{name}",
               flow({"values": list(values), "default": default, "about": about}))


def parameter_values(facts, name):
    """(values, default) of a parameter whose values are a plain list, or None."""
    tree = (facts.get("parameters") or {}).get(name)
    if isinstance(tree, list):
        tree = {"values": tree}
    if not isinstance(tree, dict) or not isinstance(tree.get("values"), list):
        return None
    values = tree["values"]
    default = tree.get("default", values[0])
    if isinstance(default, dict):
        default = default.get("gpu", values[0])
    return values, default


def need_launch(kernel):
    """Raises unless the kernel file says how the function is launched."""
    if not kernel.launches:
        raise Refused(f"no launch of '{kernel.name}' in the kernel file")
    if not all(launch.fits for launch in kernel.launches):
        raise Refused(f"the launch's args are not the parameters of '{kernel.name}'")


# ---- blocks of code ------------------------------------------------------------------


def body_lines(kernel):
    """(first, last) line of a function's body, its docstring left out; comments
    before the first statement are of it."""
    body = kernel.fn.body
    first = body[0]
    before = kernel.fn.body[0].lineno
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        if len(body) == 1:
            raise Refused("the function does nothing")
        before, first = first.end_lineno + 1, body[1]
        start = before
    else:
        start = first.lineno
        while kernel.source.line_text(start - 1).strip().startswith("#"):
            start -= 1
    while not kernel.source.line_text(start).strip():
        start += 1
    return start, body[-1].end_lineno


def can_indent(kernel, first, last):
    if kernel.source.long_strings(first, last):
        raise Refused("a text of several lines would change with its indentation")
    for n in range(first, last + 1):
        if "\t" in kernel.source.line_text(n)[:8]:
            raise Refused("the function is indented by tabs")


def copy_lines(kernel, first, last, by="    "):
    """Lines of the source, indented further."""
    lines = [kernel.source.line_text(n) for n in range(first, last + 1)]
    return [by + line if line.strip() else line for line in lines]




def carried_sum(kernel, loop, s):
    """(name, call) of `name += tl.sum(x, axis)` or `name = name + tl.sum(...)`, or
    of tl.maximum(name, tl.max(x, axis)) with "max"; None for other statements."""
    if isinstance(s, ast.AugAssign) and isinstance(s.op, ast.Add):
        if isinstance(s.target, ast.Name) and kernel.call(s.value, "sum"):
            return s.target.id, s.value
        return None
    if not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name):
        return None
    name, v = s.targets[0].id, s.value
    sides = []
    if isinstance(v, ast.BinOp) and isinstance(v.op, ast.Add):
        sides, want = [v.left, v.right], "sum"
    elif kernel.call(v, "maximum") and len(v.args) == 2:
        sides, want = v.args, "max"
    for a, b in (sides, sides[::-1]) if sides else ():
        if isinstance(a, ast.Name) and a.id == name and kernel.call(b, want):
            return name, b
    return None


def changed_before(kernel, loop):
    """Names that a loop changes and that were there before it, with the
    statements of the loop that do so."""
    found = {}
    for s in ast.walk(loop):
        if s is loop or not isinstance(s, (ast.Assign, ast.AugAssign)):
            continue
        for t in s.targets if isinstance(s, ast.Assign) else [s.target]:
            for n in ast.walk(t):
                if isinstance(n, ast.Name) and any(
                        m.lineno < loop.lineno for m in kernel.assigned[n.id]):
                    if kernel.carries(loop, n.id):
                        found.setdefault(n.id, []).append(s)
    return found


def lines_of(kernel, node, pad, old=None, new=""):
    """A statement's lines, indented by `pad`; `old` (a node) reads `new`."""
    source = kernel.source
    start, end = source.start(node), source.end(node)
    text = source.between(start, end)
    if old is not None:
        text = (source.between(start, source.start(old)) + new
                + source.between(source.end(old), end))
    own = " " * node.col_offset
    lines = text.split("\n")
    return [pad + lines[0]] + [
        pad + (n[len(own):] if n.startswith(own) else n.lstrip()) for n in lines[1:]]
