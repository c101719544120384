"""even_mask.py: no masks where blocks fill their axis, the masked code beside."""
import ast

from .model import add, same_text
from .rule import RAGGED, Refusal, Refused, Rule, Site
from .rule import add_parameters, need_launch, set_constexpr


def conjuncts(kernel, node, depth=0):
    """The comparisons that a mask is the 'and' of, names followed."""
    node = kernel.resolve(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd) and depth < 20:
        return (conjuncts(kernel, node.left, depth + 1)
                + conjuncts(kernel, node.right, depth + 1))
    if isinstance(node, ast.Subscript) and depth < 20:  # mask[None, :]
        inner = kernel.resolve(node.value)
        if isinstance(inner, (ast.BinOp, ast.Compare, ast.Subscript)):
            return conjuncts(kernel, inner, depth + 1)
    return [node]


def room(kernel, node):
    """(bound, what is left of it above the index) of a comparison a < b."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, right = node.left, node.comparators[0]
    if isinstance(node.ops[0], ast.Gt):
        left, right = right, left
    elif not isinstance(node.ops[0], ast.Lt):
        return None
    return add(kernel.linear(right), kernel.linear(left), -1)


def holds_when(kernel, node):
    """The condition of the kernel file under which a comparison holds in every
    lane ("" : always); raises where none is known."""
    seen = kernel.source.of(node)
    left = room(kernel, node)
    if left is None:
        raise Refused(f"'{seen}' is no comparison of an index with its bound")
    arange = [m for m in left if any(a.startswith("arange@") for a in m)]
    if len(arange) > 1 or any(left[m] != -1 or len(m) != 1 for m in arange):
        raise Refused(f"the index in '{seen}' is not a run of neighbours")
    width, width_words = {(): 1}, "1"
    if arange:
        call = kernel.find_atom(arange[0][0])
        if kernel.linear(call.args[0]):
            raise Refused(f"the index in '{seen}' does not begin at 0")
        width = kernel.linear(call.args[1])
        width_words = kernel.words(call.args[1])
    rest = {m: f for m, f in left.items() if m not in arange}
    return axis_condition(kernel, rest, width, width_words, seen)


def axis_condition(kernel, rest, width, width_words, seen):
    bound = {m: f for m, f in rest.items() if f > 0}
    index = {m: -f for m, f in rest.items() if f < 0}
    if len(bound) != 1 or list(bound.values()) != [1] or len(list(bound)[0]) != 1:
        raise Refused(f"the bound in '{seen}' is not a parameter")
    atom = list(bound)[0][0]
    limit = kernel.words(ast.Name(atom))
    if limit is None or width_words is None:
        raise Refused(f"the kernel file does not say what bounds '{seen}'")
    even = f"{limit if limit.isidentifier() else f'({limit})'} % {width_words} == 0"
    if not index:  # one block holds the axis
        return even
    if len(index) != 1:
        raise Refused(f"the index in '{seen}' has more than one part")
    (monomial, factor), = index.items()
    place = [a for a in monomial if a.startswith(("@pid", "loop@", "expr:"))
             or (a not in kernel.runtime and a not in kernel.constexpr)]
    if len(place) != 1:
        raise Refused(f"the index in '{seen}' has no place in the grid or loop")
    rest_of = list(monomial)
    rest_of.remove(place[0])
    step = {tuple(rest_of): factor}
    if place[0].startswith("loop@") and loop_covers(
            kernel, place[0], step, width, bound):
        return even
    if step != width:
        raise Refused(f"blocks in '{seen}' do not lie one behind the other")
    tiles = grid_tiles(kernel, place[0])
    want = f"ceil_div({limit}, {width_words})"
    if tiles is None:
        raise Refused(f"it is not known how many blocks '{seen}' goes through")
    if width_words == "1" and same_text(tiles, limit):
        return ""
    if same_text(tiles, want) or same_text(
            tiles, f"({limit} + {width_words} - 1) // {width_words}"):
        return even
    raise Refused(f"'{seen}' goes through {tiles} blocks, not {want}")


def loop_covers(kernel, atom, step, width, bound):
    """Whether a loop's variable is a multiple of the width below the bound."""
    span = kernel.span(kernel.find_atom(atom))
    if span is None:
        return False
    _, start, stop, by = span
    if step == {(): 1}:  # for k in range(a, N, B): N - k - arange(B)
        whole = all(divides(width, m, f) for e in (start, by)
                    for m, f in kernel.linear(e).items())
        return whole and kernel.linear(stop) == bound and (
            kernel.linear(by) != {(): 1} or width == {(): 1})
    # for k in range(0, cdiv(N, B)): N - k * B - arange(B)
    stop = kernel.resolve(stop)
    return step == width and kernel.call(stop, "cdiv") and (
        kernel.linear(stop.args[0]) == bound and kernel.linear(stop.args[1]) == width)


def divides(width, monomial, factor):
    (m, f), = width.items() if len(width) == 1 else (((), 0),)
    left = list(monomial)
    for a in m:
        if a not in left:
            return False
        left.remove(a)
    return f != 0 and factor % f == 0


def grid_tiles(kernel, atom):
    if atom.startswith("@pid"):
        said = {launch.grid_of(int(atom[4:])) for launch in kernel.launches}
        return said.pop() if len(said) == 1 else None
    if atom.startswith("loop@"):
        loop = kernel.find_atom(atom)
        return kernel.tiles(loop.target)
    if atom in kernel.assigned:
        return kernel.tiles(ast.Name(atom))
    for name in kernel.assigned:  # an expression: find who is called so
        value = kernel.value(name)
        if value is not None and kernel.atom(kernel.resolve(value)) == atom:
            return kernel.tiles(value)
    return None


def masked(kernel):
    """Loads and stores that have a mask."""
    return [c for c in kernel.calls("load", "store")
            if kernel.mask(c) is not None]


def runs_of(kernel, calls):
    """Statements of the calls, neighbours of one block together."""
    statements = []
    for c in calls:
        s = kernel.statement(c)
        if s not in statements:
            statements.append(s)
    runs = []
    for s in statements:
        block = kernel.siblings(s)
        at = block.index(s)
        if runs and runs[-1][-1] in block and block.index(runs[-1][-1]) == at - 1:
            runs[-1].append(s)
        else:
            runs.append([s])
    return runs


def mask_cuts(kernel, call):
    """(start, end) of the mask and what stands for masked lanes, commas included."""
    spans, cuts = kernel.source.arguments(call), []
    first = 1 if kernel.call(call) == "load" else 2
    for i, (node, start, end) in enumerate(spans):
        name = node.arg if isinstance(node, ast.keyword) else None
        if name in ("mask", "other") or name is None and i >= first and i <= first + 1:
            if i:
                cuts.append((spans[i - 1][2], end))
            elif len(spans) > 1:
                cuts.append((start, spans[1][1]))
    return cuts


def unmasked(kernel, run, calls):
    """The lines of statements without their masks."""
    source = kernel.source
    first, last = source.start(run[0]), source.end(run[-1])
    out, at = [], first
    for start, end in sorted(c for call in calls for c in mask_cuts(kernel, call)):
        if first <= start < last:
            out.append(source.between(at, start))
            at = end
    text = "".join(out) + source.between(at, last)
    pad = source.indent(run[0])
    lines = [line[len(pad):] if line.startswith(pad) else line
             for line in text.replace("\r\n", "\n").split("\n")]
    return [line for line in lines if not line.strip().startswith("#")]


class EvenMask(Rule):
    name = "even_mask"
    about = ("loads and stores lose their mask where the blocks fill the axis; the "
             "masked code stays, as the other branch of a constant")
    symptoms = ["wait_lg", "wait_fixed", "mostly_dram", "dram", "divergence",
                "wait_memory"]
    holds = ["every comparison of a mask is of a block's index and its bound",
             "the grid or the loop goes through ceil_div(bound, block) blocks",
             "the constant is true only where the block divides the bound"]
    gain = 1.1
    deltas = [("lg_throttle", 0.3, 1.0), ("time", 0.75, 1.02)]
    gates = RAGGED

    def sites(self, kernel):
        calls = masked(kernel)
        if not calls:
            return
        try:
            need_launch(kernel)
        except Refused as e:
            yield Refusal(kernel.fn, str(e))
            return
        good, conditions = [], []
        for c in calls:
            try:
                found = self.conditions(kernel, c)
            except Refused as e:
                yield Refusal(c, str(e))
                continue
            good.append(c)
            conditions += [f for f in found if f not in conditions]
        if not good:
            return
        runs = runs_of(kernel, good)
        when = " and ".join(conditions) or "true"
        yield Site(
            kernel.statement(good[0]),
            f"{len(good)} of {len(calls)} masks are true in every lane where "
            f"{when}", {}, (), (runs, good, when))

    def conditions(self, kernel, call):
        statement = kernel.statement(call)
        if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign,
                                      ast.Expr)):
            raise Refused("the access is part of a condition or loop header")
        if not kernel.source.alone(statement):
            raise Refused("the statement shares its line with another")
        if kernel.source.long_strings(statement.lineno, statement.end_lineno):
            raise Refused("the statement has a text of several lines")
        if kernel.fn.body and self.guarded(kernel, statement):
            raise Refused("the access is in a branch of a constant already")
        found = [holds_when(kernel, c) for c in conjuncts(kernel, kernel.mask(call))]
        return [f for f in found if f]

    def guarded(self, kernel, node):
        while node is not kernel.fn:
            up = kernel.parent[node]
            if isinstance(up, ast.If) and isinstance(up.test, ast.Name):
                if up.test.id.startswith("EVEN"):
                    return True
            node = up
        return False

    def edit(self, kernel, site, args, out):
        runs, calls, when = site.data
        name = kernel.fresh("EVEN", "EVEN_BLOCKS")
        always = when == "true"
        for run in runs:
            lines = unmasked(kernel, run, calls)
            if always:
                for c in calls:
                    for start, end in mask_cuts(kernel, c):
                        if kernel.statement(c) in run:
                            out.cut(start, end)
                continue
            out.before(run[0], f"if {name}:", *("    " + n for n in lines), "else:")
            out.indent_lines(run[0].lineno, run[-1].end_lineno)
        if not always:
            add_parameters(kernel, out, f"{name}: {const(kernel)} = False")
            set_constexpr(kernel, out, name, when)


def const(kernel):
    return sorted(kernel.tl)[0] + ".constexpr" if kernel.tl else "constexpr"


RULE = EvenMask()
