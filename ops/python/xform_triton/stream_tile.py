"""stream_tile.py: a block that holds a whole axis becomes a loop over parts of it.

    cols = tl.arange(0, BLOCK)                acc = tl.zeros((ROWS, CHUNK), ...)
    a = tl.load(a_ptr + ... cols, ...)        for k in range(0, n, CHUNK):
    y = tl.sum(a * x[None, :], axis=1)   ->       cols = k + tl.arange(0, CHUNK)
                                                  a = tl.load(a_ptr + ... cols, ...)
                                                  acc += a * x[None, :]
                                              y = tl.sum(acc, axis=1)
"""
import ast

from .even_mask import conjuncts, const, room
from .rule import RAGGED, Refusal, Refused, Rule, Site
from .rule import add_parameters, lines_of, set_constexpr, set_parameter


def whole_axes(kernel):
    """Statements `cols = tl.arange(0, BLOCK)` whose block holds an axis: with the
    bound that masks compare them with."""
    found = []
    for s in kernel.fn.body:
        if not isinstance(s, ast.Assign) or not kernel.call(s.value, "arange"):
            continue
        length = s.value.args[1]
        if not isinstance(length, ast.Name) or length.id not in kernel.constexpr:
            continue
        atom = f"arange@{s.value.lineno}:{s.value.col_offset}"
        bounds = set()
        for call in kernel.calls("load", "store"):
            mask = kernel.mask(call)
            for part in conjuncts(kernel, mask) if mask is not None else []:
                left = room(kernel, part) or {}
                if left.get((atom,)) == -1 and len(left) == 2:
                    bounds |= {m[0] for m, f in left.items() if f == 1}
        if len(bounds) == 1:
            found.append((s, length.id, bounds.pop()))
    return found


class StreamTile(Rule):
    name = "stream_tile"
    about = ("a block that holds a whole axis, is multiplied by broadcasting and then "
             "reduced becomes a loop that adds up parts of it")
    symptoms = ["spills", "few_warps_registers", "wait_memory", "wait_shared",
                "small_grid", "few_warps_shared", "wait_barrier"]
    holds = ["one sum over the axis, and nothing else of the block is used behind it",
             "every load along the axis is masked by its end"]
    args = {"default": {"values": [32, 64, 128, 256, 512], "default": 128,
                        "about": "elements a step that the parameter begins with"}}
    gain = 2.0
    deltas = [("spill_bytes", 0.0, 1.0), ("occupancy", 1.0, 4.0), ("time", 0.3, 1.1)]
    gates = RAGGED + ["values"]
    rounding = True

    def sites(self, kernel):
        for s, length, bound in whole_axes(kernel):
            try:
                yield self.site(kernel, s, length, bound)
            except Refused as e:
                yield Refusal(s, str(e))

    def site(self, kernel, index, length, bound):
        if not kernel.facts.get("rounding"):
            raise Refused("rounding may not change")
        body = kernel.fn.body
        name = index.targets[0].id
        if len(kernel.assigned[name]) != 1:
            raise Refused(f"'{name}' is assigned again")
        along = [s for s in body if s is index or name in self.made_of(kernel, s)]
        sums = [c for c in kernel.calls(*("sum", "max", "min", "argmax"))
                if length in (kernel.shape(c.args[0]) or ())]
        if len(sums) != 1 or kernel.call(sums[0]) != "sum":
            raise Refused(f"the block along '{name}' is reduced {len(sums)} times, not "
                          "by one sum: it has to stay whole")
        call = sums[0]
        last = kernel.statement(call)
        shape, axis = kernel.shape(call.args[0]), kernel.argument(call, 1, "axis")
        at = axis.value if isinstance(axis, ast.Constant) else None
        if at is None or shape[at] != length or shape.count(length) != 1:
            raise Refused("the sum is over another axis")
        if last not in body or kernel.kind(call.args[0]) != "float":
            raise Refused("the sum is in a branch or loop, or not of floating point")
        inside = [s for s in body[: body.index(last)] if s in along]
        self.check(kernel, inside, last, name, length, call)
        sizes = [int(launch.constexprs[length]) for launch in kernel.launches
                 if str(launch.constexprs.get(length)).isdigit()]
        step = max(32, min([128] + [n // 4 for n in sizes if n // 4 in (32, 64)]))
        return Site(last, f"the block along '{name}' holds all of '{bound}'",
                    {"default": step}, (),
                    (index, inside, last, call, length, bound, shape, at))

    def made_of(self, kernel, s):
        """Names that a statement's value comes from, but for what a sum made."""
        return {n.id for n in ast.walk(s) if isinstance(n, ast.Name)
                } | {d for n in ast.walk(s) if isinstance(n, ast.Name)
                     and isinstance(n.ctx, ast.Load) for d in self.behind(kernel, n)}

    def behind(self, kernel, name, depth=0):
        made = kernel.definition(name)
        if depth > 20 or not isinstance(made, (ast.Assign, ast.AnnAssign)):
            return set()
        if kernel.calls("sum", "max", "min", within=made):
            return {name.id}
        found = {name.id}
        for n in ast.walk(made.value):
            if isinstance(n, ast.Name):
                found |= {n.id} | self.behind(kernel, n, depth + 1)
        return found

    def check(self, kernel, inside, last, name, length, call):
        for s in inside + [last]:
            if not isinstance(s, ast.Assign) or not kernel.source.alone(s):
                raise Refused(f"line {s.lineno} is no plain assignment")
            if kernel.source.long_strings(s.lineno, s.end_lineno):
                raise Refused("the code has a text of several lines")
        names = {t.id for s in inside for t in s.targets if isinstance(t, ast.Name)}
        first, end = inside[0].lineno, last.end_lineno
        for n in sorted(names):
            for use in kernel.uses.get(n, []):
                if use.lineno > end:
                    raise Refused(f"'{n}' is used behind the sum, in line {use.lineno}")
        for use in kernel.uses.get(length, []):
            s = kernel.statement(use)
            if s in inside[1:] + [last]:
                raise Refused(f"'{length}' is used in line {use.lineno}, too")
        for c in kernel.calls("load"):
            if kernel.statement(c) in inside and kernel.mask(c) is None:
                if name in self.made_of(kernel, kernel.statement(c)):
                    raise Refused(f"the load in line {c.lineno} has no mask")
        for s in kernel.fn.body:
            if first <= s.lineno <= end and s not in inside and s is not last:
                if not isinstance(s, ast.Assign) or kernel.calls("store", within=s):
                    raise Refused(f"line {s.lineno} stands between, and is no plain "
                                  "assignment")

    def edit(self, kernel, site, args, out):
        index, inside, last, call, length, bound, shape, at = site.data
        source, tl = kernel.source, sorted(kernel.tl)[0]
        chunk, k = kernel.fresh("CHUNK"), kernel.fresh("k", "at")
        acc = kernel.fresh("acc", "parts")
        dims = [chunk if i == at else d for i, d in enumerate(shape)]
        dims = ", ".join(dims) + ("," if len(dims) == 1 else "")
        pad = source.indent(last)
        moved = self.moved_lines(kernel, inside, index, chunk, k, pad + "    ")
        lines = [f"{pad}{acc} = {tl}.zeros(({dims}), dtype={tl}.float32)",
                 f"{pad}for {k} in range(0, {bound}, {chunk}):", *moved,
                 f"{pad}    {acc} += {' '.join(source.of(call.args[0]).split())}"]
        start = source.line_start(self.head(kernel, last))
        out.insert(start, "".join(n + "\n" for n in lines))
        out.replace(call.args[0], acc)
        for s in inside:
            out.delete_lines(self.head(kernel, s), s.end_lineno)
        add_parameters(kernel, out, f"{chunk}: {const(kernel)} = {args['default']}")
        set_constexpr(kernel, out, chunk, chunk)
        set_parameter(out, chunk, [32, 64, 128, 256, 512], args["default"],
                      "elements a step of the sum")

    def head(self, kernel, s):
        """The first line of the comments right above a statement, or its own."""
        line = s.lineno
        while kernel.source.line_text(line - 1).strip().startswith("#"):
            line -= 1
        return line

    def moved_lines(self, kernel, inside, index, chunk, k, pad):
        found = []
        for s in inside:
            for n in range(self.head(kernel, s), s.lineno):
                found.append(pad + kernel.source.line_text(n).strip())
            if s is index:
                tl = sorted(kernel.tl)[0]
                found += lines_of(kernel, s, pad, s.value,
                                  f"{k} + {tl}.arange(0, {chunk})")
            else:
                found += lines_of(kernel, s, pad)
            rest = kernel.source.between(
                kernel.source.end(s), kernel.source.line_end(s.end_lineno)).strip()
            found[-1] += "  " + rest if rest else ""
        return found


RULE = StreamTile()
