"""one_pass_softmax.py: the largest value and the sum of exponentials in one pass."""
import ast

from .model import mentions
from .rule import Refusal, Refused, Rule, Site
from .rule import carried_sum, changed_before, lines_of


def pairs(kernel):
    """Loops of one block with nothing but plain assignments between them."""
    for first in kernel.all_loops():
        block = kernel.siblings(first)
        for s in block[block.index(first) + 1:]:
            if isinstance(s, ast.For):
                yield first, s, block[block.index(first) + 1: block.index(s)]
                break
            if not isinstance(s, ast.Assign):
                break


def same_range(kernel, a, b):
    return (kernel.span(a) is not None and kernel.span(b) is not None
            and ast.dump(a.target) == ast.dump(b.target)
            and ast.dump(a.iter) == ast.dump(b.iter))


def extras(first, second):
    """Statements of the second loop that the first does not have."""
    have = {ast.dump(s) for s in first.body}
    return [s for s in second.body if ast.dump(s) not in have]


def plain_bodies(kernel, *loops):
    for loop in loops:
        for s in loop.body:
            if not isinstance(s, (ast.Assign, ast.AugAssign)):
                raise Refused(f"line {s.lineno} is no plain assignment")
            if not kernel.source.alone(s):
                raise Refused(f"line {s.lineno} holds several statements")
        if kernel.source.long_strings(loop.lineno, loop.end_lineno):
            raise Refused("the code has a text of several lines")


def constants_between(between, name):
    """The statement `name = number` of those between two loops."""
    found = [s for s in between if isinstance(s.targets[0], ast.Name)
             and s.targets[0].id == name and isinstance(s.value, ast.Constant)]
    if len(found) != 1 or found[0].value.value != 0:
        raise Refused(f"'{name}' does not begin as 0 between the loops")
    return found[0]


def movable(kernel, first, second, between, keep=()):
    """Raises unless what stands between two loops may stand before both, and
    leaves alone what they go through."""
    made = {n.id for s in ast.walk(first) for n in ast.walk(s)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    kept = {t.id for s in keep for t in s.targets if isinstance(t, ast.Name)}
    for s in between:
        if s in keep:
            continue
        reads = {n.id for n in ast.walk(s.value) if isinstance(n, ast.Name)}
        if reads & (made | kept):
            raise Refused(f"line {s.lineno} needs '{sorted(reads & (made | kept))[0]}' "
                          "of the first loop")
        if not isinstance(s.targets[0], ast.Name) or not kernel.source.alone(s):
            raise Refused(f"line {s.lineno} is no plain assignment")
        name = s.targets[0].id
        if any(mentions(n, name) for n in [first]) or mentions(second.iter, name):
            raise Refused(f"'{name}' changes between the loops")


def move_between(kernel, out, first, second, keep, extra=()):
    """Removes the second loop and what stands between, and puts that before the
    first loop, but for statements that are not to be kept."""
    source = kernel.source
    gone = {n for s in keep for n in range(s.lineno, s.end_lineno + 1)}
    lines = [source.line_text(n) for n in range(first.end_lineno + 1, second.lineno)
             if n not in gone]
    text = "".join(n + "\n" for n in [*lines, *extra])
    out.insert(source.line_start(first.lineno), text)
    out.delete_lines(first.end_lineno + 1, second.end_lineno)


class OnePassSoftmax(Rule):
    name = "one_pass_softmax"
    about = ("a loop for the largest value and one for the sum of exponentials become "
             "one, which scales the sum as the largest value grows")
    symptoms = ["waste", "dram", "mostly_dram", "wait_memory", "wait_barrier"]
    holds = ["both loops go over the same range and load the same",
             "the first keeps a running maximum alone, the second a sum of exp(x - it)",
             "-inf in a whole block stays without effect"]
    gain = 1.2
    deltas = [("waste", 0.5, 0.8), ("time", 0.55, 1.05)]
    gates = ["values", "shapes"]
    rounding = True

    def sites(self, kernel):
        for first, second, between in pairs(kernel):
            if not any(kernel.calls("max", "maximum", within=s) for s in first.body):
                continue
            if not kernel.calls("exp", "exp2", within=second):
                continue
            try:
                yield self.site(kernel, first, second, between)
            except Refused as e:
                yield Refusal(first, str(e))

    def site(self, kernel, first, second, between):
        if not kernel.facts.get("rounding"):
            raise Refused("rounding may not change")
        if not same_range(kernel, first, second):
            raise Refused(f"the loop in line {second.lineno} goes over another range")
        plain_bodies(kernel, first, second)
        top, best = self.carried(kernel, first, "max")
        total, summed = self.carried(kernel, second, "sum")
        exp = self.exponential(kernel, second, top)
        more = [s for s in extras(first, second) if s is not summed]
        for s in more:
            if kernel.calls("load", "store", "atomic_add", within=s):
                raise Refused(f"line {s.lineno} loads or stores what the first loop "
                              "does not")
        self.linear_in(kernel, second, summed, exp)
        if best is not first.body[-1]:
            raise Refused("the running maximum is not the end of the first loop")
        start = constants_between(between, total)
        if any(mentions(s, top) for s in between):
            raise Refused(f"'{top}' is used between the loops")
        movable(kernel, first, second, between)
        return Site(first, f"'{top}' and '{total}' are found in two passes over the "
                    "same data", {}, (), (first, second, between, best, summed, more,
                                          exp, top, total, start))

    def carried(self, kernel, loop, want):
        names = changed_before(kernel, loop)
        found = [(carried_sum(kernel, loop, s), s) for n in names for s in names[n]]
        if len(found) != 1 or found[0][0] is None or (
                kernel.call(found[0][0][1]) != want):
            said = {"max": "a running maximum", "sum": "a sum"}[want]
            raise Refused(f"the loop in line {loop.lineno} does not keep {said} alone")
        return found[0][0][0], found[0][1]

    def exponential(self, kernel, loop, top):
        uses = [n for n in kernel.uses.get(top, []) if loop in kernel.ancestors(n)]
        if len(uses) != 1:
            raise Refused(f"the second loop uses '{top}' {len(uses)} times, not once")
        up = kernel.parent[uses[0]]
        exp = kernel.parent.get(up)
        good = isinstance(up, ast.BinOp) and isinstance(up.op, ast.Sub) and (
            up.right is uses[0]) and kernel.call(exp, "exp", "exp2")
        if not good:
            raise Refused(f"'{top}' is not taken off right below an exponential")
        return exp, uses[0]

    def linear_in(self, kernel, loop, summed, exp):
        """Raises unless what is added up is the exponential times something."""
        value = carried_sum(kernel, loop, summed)[1].args[0]
        for _ in range(10):
            if value is exp[0]:
                return
            if isinstance(value, ast.Name):
                value = kernel.value(value)
            elif kernel.call(value, "where") and isinstance(
                    value.args[2], ast.Constant) and value.args[2].value == 0:
                value = value.args[1]
            elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
                left = any(n is exp[0] for n in ast.walk(value.left))
                value = value.left if left else value.right
            else:
                break
        raise Refused("what is added up is not an exponential times something")

    def edit(self, kernel, site, args, out):
        (first, second, between, best, summed, more, (exp, use), top, total,
         start) = site.data
        source, tl = kernel.source, sorted(kernel.tl)[0]
        before, shift = kernel.fresh(f"{top}_before"), kernel.fresh(f"{top}_now")
        pad = source.indent(best)
        lines = [f"{pad}{shift} = {tl}.where({top} == float(\"-inf\"), 0.0, {top})"]
        for s in more:
            inside = any(n is use for n in ast.walk(s))
            lines += lines_of(kernel, s, pad, *((use, shift) if inside else ()))
        call = carried_sum(kernel, second, summed)[1]
        added = source.of(call)
        if any(n is use for n in ast.walk(call)):
            added = (source.between(source.start(call), source.start(use)) + shift
                     + source.between(source.end(use), source.end(call)))
        scale = f"{tl}.{kernel.call(exp)}({before} - {shift})"
        lines.append(f"{pad}{total} = {total} * {scale} + {' '.join(added.split())}")
        out.insert(source.line_start(best.lineno), f"{pad}{before} = {top}\n")
        out.insert(source.line_end(best.end_lineno), "".join(n + "\n" for n in lines))
        move_between(kernel, out, first, second, ())


RULE = OnePassSoftmax()
