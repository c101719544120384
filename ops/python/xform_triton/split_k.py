"""split_k.py: a long sum is cut into parts that programs of their own make.

The parts go to scratch memory in float32, and a second launch adds them up: the
same result in every run, and nothing to zero. With one part the kernel is what it
was, and there is no second launch.
"""
import ast

from .even_mask import const
from .model import mentions
from .rule import RAGGED, SANITIZED, Refusal, Refused, Rule, Site
from .rule import add_parameters, is_called, need_launch, set_constexpr
from .rule import set_parameter
from .text import flow

MERGE = '''

@triton.jit
def {name}(partial_ptr, out_ptr, size, PARTS: {const}, BLOCK: {const}):
    # adds the parts of {of}, in their order
    i = {tl}.program_id(0).to({tl}.int64) * BLOCK + {tl}.arange(0, BLOCK)
    total = {tl}.zeros((BLOCK,), dtype={tl}.float32)
    for part in range(PARTS):
        total += {tl}.load(partial_ptr + i, mask=i < size, other=0.0)
        partial_ptr += size
    {tl}.store(out_ptr + i, total.to(out_ptr.dtype.element_ty), mask=i < size)
'''


def carried(kernel, loop):
    """Statements of a loop that change what was there before it: (sums, others)."""
    sums, others = [], []
    for s in ast.walk(loop):
        if s is loop or not isinstance(s, (ast.Assign, ast.AugAssign, ast.For)):
            continue
        if isinstance(s, ast.For):
            others.append(s)
            continue
        target = s.targets[0] if isinstance(s, ast.Assign) else s.target
        if not isinstance(target, ast.Name):
            others.append(s)
            continue
        before = [m for m in kernel.assigned[target.id]
                  if m.lineno < loop.lineno]
        reads = isinstance(s, ast.AugAssign) or any(
            isinstance(n, ast.Name) and n.id == target.id for n in ast.walk(s.value))
        if reads and before:
            (sums if is_sum(kernel, s, target.id) else others).append(s)
        elif reads:
            others.append(s)
    return sums, others


def is_sum(kernel, s, name):
    """acc += x, acc = acc + x, acc = tl.dot(a, b, acc)."""
    if isinstance(s, ast.AugAssign):
        return isinstance(s.op, ast.Add) and not mentions(s.value, name)
    v = s.value
    if isinstance(v, ast.BinOp) and isinstance(v.op, ast.Add):
        sides = [v.left, v.right]
        return [isinstance(x, ast.Name) and x.id == name for x in sides].count(
            True) == 1 and sum(mentions(x, name) for x in sides) == 1
    if kernel.call(v, "dot"):
        acc = kernel.argument(v, 2, "acc")
        return isinstance(acc, ast.Name) and acc.id == name and not any(
            mentions(a, name) for a in v.args[:2])
    return False



class SplitK(Rule):
    name = "split_k"
    about = ("the sum over a long axis is cut into parts, made by more programs and "
             "added by a second launch")
    symptoms = ["small_grid", "tail", "imbalance", "wait_memory"]
    holds = ["one loop adds up one block of float32 from zero and carries nothing else",
             "what follows it is sums and a change of type, then one store",
             "the store covers one output of the op, which nothing reads",
             "the grid has a dimension left"]
    unproven = ["the store's addresses lie within the output"]
    args = {"default": {"values": [1, 2, 4, 8, 16], "default": 4,
                        "about": "parts that the parameter begins with"}}
    gain = 1.5
    deltas = [("waves", 2.0, 16.0), ("time", 0.3, 1.1)]
    gates = RAGGED + SANITIZED
    rounding = True

    def sites(self, kernel):
        for loop in [n for n in kernel.fn.body if isinstance(n, ast.For)]:
            sums, others = carried(kernel, loop)
            if not sums and not (others and kernel.calls("dot", "sum", within=loop)):
                continue
            try:
                yield self.site(kernel, loop, sums, others)
            except Refused as e:
                yield Refusal(loop, str(e))

    def site(self, kernel, loop, sums, others):
        need_launch(kernel)
        if not kernel.facts.get("rounding"):
            raise Refused("rounding may not change")
        if is_called(kernel) or len(kernel.launches) != 1:
            raise Refused("the function is not launched once and called by none")
        pointers = self.pointers(kernel, loop, sums)
        sums = [s for s in sums if s not in pointers]
        if len(sums) != 1 or others:
            other = (others or sums)[-1]
            raise Refused(f"the loop carries more than one plain sum (line "
                          f"{other.lineno}): parts could not be added up")
        if kernel.span(loop) is None or kernel.span(loop)[0] == "static_range":
            raise Refused("the loop is not over a range")
        if kernel.calls("store", "atomic_add", within=loop):
            raise Refused("the loop stores")
        acc = self.target(sums[0])
        self.from_zero(kernel, acc, loop)
        store, value, drop = self.epilogue(kernel, acc, loop)
        axis = self.free_axis(kernel)
        tensor, size = self.output(kernel, store)
        return Site(loop, f"the sum '{acc}' runs over all of "
                    f"'{kernel.source.of(kernel.span(loop)[2])}' in one program", {},
                    (), (loop, pointers, store, value, axis, tensor, size))

    def target(self, s):
        return (s.targets[0] if isinstance(s, ast.Assign) else s.target).id

    def pointers(self, kernel, loop, sums):
        """Statements p += step, of addresses that the loop walks along."""
        found = []
        for s in sums:
            name = self.target(s)
            first = kernel.assigned[name][0]
            if isinstance(s, ast.AugAssign) and isinstance(first, ast.Assign) and (
                    kernel.base(first.value)):
                if any(mentions(s.value, n) for n in self.made_in(kernel, loop)):
                    raise Refused("an address moves by steps of its own")
                found.append(s)
        return found

    def made_in(self, kernel, loop):
        inner = {id(n) for n in ast.walk(loop)}
        return [n for n, made in kernel.assigned.items()
                if any(id(m) in inner for m in made)]

    def from_zero(self, kernel, acc, loop):
        first = kernel.assigned[acc][0]
        value = first.value if isinstance(first, ast.Assign) else None
        zero = isinstance(value, ast.Constant) and value.value == 0
        if kernel.call(value, "zeros"):
            dtype = kernel.argument(value, 1, "dtype")
            zero = isinstance(dtype, ast.Attribute) and dtype.attr == "float32"
        if not zero or first not in kernel.fn.body or len(kernel.assigned[acc]) != 2:
            raise Refused(f"'{acc}' does not begin as zeros of float32")

    def epilogue(self, kernel, acc, loop):
        """(store, value in float32, None) of what follows the loop."""
        after = kernel.fn.body[kernel.fn.body.index(loop) + 1:]
        stores = [c for c in kernel.calls("store") if kernel.statement(c) in after]
        if len(stores) != 1 or len(stores) != len(kernel.calls("store")):
            raise Refused("there is not one store, behind the loop")
        for s in after:
            if kernel.statement(stores[0]) is not s and not isinstance(s, ast.Assign):
                raise Refused(f"line {s.lineno} is neither a sum nor the store")
        value = kernel.argument(stores[0], 1, "value")
        text = self.plain(kernel, value, acc, 0)
        if text is None:
            raise Refused("what is stored is more than the sum in another type: parts "
                          "could not be added up")
        if any(mentions(a, acc) for a in stores[0].args[:1]):
            raise Refused("the address depends on the sum")
        return stores[0], text, None

    def plain(self, kernel, node, acc, depth):
        """The text of a value that is linear in the sum, without its type."""
        if depth > 8:
            return None
        if isinstance(node, ast.Name):
            if node.id == acc:
                return acc
            made = kernel.value(node)
            if made is None or not mentions_any(kernel, made, acc):
                return None
            inner = self.plain(kernel, made, acc, depth + 1)
            # what is a sum by itself keeps its name; a cast is gone through
            return node.id if inner and kernel.call(made, "sum") else inner
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "to" and not kernel.call(node):
                return self.plain(kernel, node.func.value, acc, depth + 1)
        if kernel.call(node, "sum"):
            inner = self.plain(kernel, node.args[0], acc, depth + 1)
            return kernel.source.of(node) if inner == acc else None
        return None

    def free_axis(self, kernel):
        launch = kernel.launches[0]
        if len(launch.grid) > 2:
            raise Refused("the grid has three dimensions already")
        return len(launch.grid)

    def output(self, kernel, store):
        base = kernel.base(store.args[0])
        launch = kernel.launches[0]
        found = launch.tensor(base) if base else None
        if found is None or found[0] != "outputs":
            raise Refused("the store does not go to an output of the op")
        if found[1].get("strides"):
            raise Refused("the output has strides of its own")
        if any(kernel.base(c.args[0]) == base for c in kernel.calls("load")):
            raise Refused("the kernel reads its output")
        tree = launch.tree
        if tree.get("when"):
            raise Refused("the launch has a condition of its own")
        shape = found[1].get("shape", [])
        size = " * ".join(str(s) if str(s).isidentifier() else f"({s})" for s in shape)
        return (base, found[1]["name"]), size

    def edit(self, kernel, site, args, out):
        loop, pointers, store, value, axis, (base, tensor), size = site.data
        tl, parts = sorted(kernel.tl)[0], kernel.fresh("SPLIT_K")
        part = kernel.fresh("part", "part_k")
        partial = kernel.fresh("partial_ptr")
        self.edit_loop(kernel, out, loop, pointers, part, parts, axis)
        size_name = kernel.fresh("partial_size")
        self.edit_store(kernel, out, store, value, base, part, parts,
                        (partial, size_name))
        add_parameters(kernel, out, f"{parts}: {const(kernel)} = 1",
                       f"{partial}=None", f"{size_name}=0")
        merge = kernel.fresh(f"{kernel.name}_merge")
        out.insert(kernel.source.line_end(kernel.fn.end_lineno), MERGE.format(
            name=merge, tl=tl, const=const(kernel), of=kernel.name))
        self.edit_launches(kernel, out, merge, tensor, size, parts, axis,
                           args["default"])

    def edit_loop(self, kernel, out, loop, pointers, part, parts, axis):
        source, tl = kernel.source, sorted(kernel.tl)[0]
        _, start, stop, step = kernel.span(loop)
        of = lambda n: source.of(n) if hasattr(n, "lineno") else str(n.value)
        wrap = lambda t: t if t.replace("_", "").isalnum() else f"({t})"
        by = wrap(of(step))
        first = part if by == "1" else f"{part} * {by}"
        if of(start) != "0":
            first = f"{of(start)} + {first}"
        stride = parts if by == "1" else f"{by} * {parts}"
        call = loop.iter
        out.cut(source.start(call.args[0]), source.end(call.args[-1]),
                f"{first}, {of(stop)}, {stride}")
        lines = [f"{part} = {tl}.program_id({axis})"]
        for s in pointers:
            lines.append(f"{s.target.id} += {part} * {wrap(source.of(s.value))}")
            out.replace(s.value, f"{parts} * {wrap(source.of(s.value))}")
        out.before(loop, *lines)

    def edit_store(self, kernel, out, store, value, base, part, parts, partial):
        source, tl = kernel.source, sorted(kernel.tl)[0]
        statement = kernel.statement(store)
        (partial, size), mask = partial, kernel.mask(store)
        lines = [f"{partial} += {part}.to({tl}.int64) * {size}",
                 f"{tl}.store({self.pointer_text(kernel, store, base, partial)}, "
                 f"{' '.join(value.split())}" + ("," if mask else ")")]
        if mask:
            words = " ".join(source.of(mask).split())
            lines.append(" " * len(f"{tl}.store(") + f"mask={words})")
        out.before(statement, f"if {parts} == 1:")
        out.indent_lines(statement.lineno, statement.end_lineno)
        out.after(statement, "else:", *("    " + n for n in lines))

    def pointer_text(self, kernel, store, base, partial):
        """The address with the output's name replaced; names on the way to it are
        written out."""
        source = kernel.source

        def text(node, depth=0):
            if isinstance(node, ast.Name):
                if node.id == base:
                    return partial
                value = kernel.value(node)
                if value is None or depth > 8:
                    raise Refused("the store's address is not one expression")
                return text(value, depth + 1)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                left = kernel.base(node.left)
                if left == base:
                    return f"{text(node.left, depth + 1)} + {self.term(kernel, node.right)}"
                return f"{self.term(kernel, node.left)} + {text(node.right, depth + 1)}"
            raise Refused("the store's address is not a sum")

        return text(store.args[0])

    def term(self, kernel, node):
        """The text of one side of a sum."""
        text = " ".join(kernel.source.of(node).split())
        low = isinstance(node, (ast.IfExp, ast.Compare, ast.BoolOp, ast.Lambda)) or (
            isinstance(node, ast.BinOp) and isinstance(
                node.op, (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)))
        return f"({text})" if low else text

    def edit_launches(self, kernel, out, merge, tensor, size, parts, axis, default):
        launch = kernel.launches[0]
        at = f"launches[{launch.index}]"
        scratch = kernel.fresh("partial")
        n = len(launch.args)
        values = [1, 2, 4, 8, 16] + ([] if kernel.calls("dot") else [32, 64])
        set_parameter(out, parts, values, default, "parts of the sum")
        set_constexpr(kernel, out, parts, parts)
        out.change(f"{at}.grid[{axis}]", parts)
        out.change(f"{at}.args[{n}]", flow({"float32": scratch}))
        out.change(f"{at}.args[{n + 1}]", flow({"int64": size}))
        out.change(f"scratch.{scratch}", flow({
            "bytes": f"4 * {parts} * {size}", "when": f"{parts} > 1"}))
        after = len(kernel.facts["launches"])
        if launch.index != after - 1:
            raise Refused("another launch follows, which reads the result")
        out.change("launches[+]", flow({
            "entry": merge, "when": f"{parts} > 1",
            "constexprs": {"PARTS": parts, "BLOCK": 1024}, "warps": 4, "stages": 1,
            "grid": f"ceil_div({size}, 1024)",
            "args": [{"float32": scratch}, tensor, {"int64": size}]}))


def mentions_any(kernel, node, name):
    return name in kernel.depends(node)


RULE = SplitK()
