"""one_pass_variance.py: mean and variance in one pass, block by block.

Each block's own mean and sum of squared differences are merged into those of the
blocks before it (Chan, Golub and LeVeque, 1979), which keeps the digits that the
difference of two large sums would lose.
"""
import ast

from .one_pass_softmax import constants_between, extras, movable, move_between
from .one_pass_softmax import pairs, plain_bodies, same_range
from .rule import Refusal, Refused, Rule, Site
from .rule import carried_sum, changed_before, lines_of


class OnePassVariance(Rule):
    name = "one_pass_variance"
    about = ("a loop for the mean and one for the squared differences become one, "
             "which merges the mean and the squares of each block")
    symptoms = ["waste", "dram", "mostly_dram", "wait_memory"]
    holds = ["both loops go over the same range, from 0 by blocks, and load the same",
             "the mean is the sum over the length and used for the differences",
             "lanes behind the end count for nothing"]
    gain = 1.2
    deltas = [("waste", 0.5, 0.8), ("time", 0.55, 1.05)]
    gates = ["values", "shapes"]
    rounding = True

    def sites(self, kernel):
        for first, second, between in pairs(kernel):
            names = changed_before(kernel, first), changed_before(kernel, second)
            found = [[carried_sum(kernel, p, s) for n in f for s in f[n]]
                     for p, f in zip((first, second), names)]
            if not all(f and f[0] and kernel.call(f[0][1]) == "sum" for f in found):
                continue
            try:
                yield self.site(kernel, first, second, between, names)
            except Refused as e:
                yield Refusal(first, str(e))

    def site(self, kernel, first, second, between, names):
        if not kernel.facts.get("rounding"):
            raise Refused("rounding may not change")
        if not same_range(kernel, first, second):
            raise Refused(f"the loop in line {second.lineno} goes over another range")
        plain_bodies(kernel, first, second)
        if any(len(n) != 1 for n in names):
            raise Refused("a loop keeps more than one sum")
        (total, (added,)), = names[0].items()
        (square, (squared,)), = names[1].items()
        value = carried_sum(kernel, first, added)[1].args[0]
        mean = self.mean_of(kernel, first, between, total)
        start = constants_between(between, square)
        use, gap = self.differences(kernel, second, squared, mean)
        more = [s for s in extras(first, second) if s is not squared]
        for s in more:
            if kernel.calls("load", "store", within=s):
                raise Refused(f"line {s.lineno} loads or stores what the first loop "
                              "does not")
        if kernel.source.of(gap.left) != kernel.source.of(value):
            raise Refused("the differences are of something else than the sum")
        if added is not first.body[-1]:
            raise Refused("the sum is not the end of the first loop")
        self.blocks(kernel, first, value)
        self.masked(kernel, first, gap, kernel.statement(use))
        begin = self.begin(kernel, first, total)
        movable(kernel, first, second, between, [mean])
        return Site(first, f"'{mean.targets[0].id}' and '{square}' are found in two "
                    "passes over the same data", {}, (),
                    (first, second, added, squared, more, use, mean, begin, square))

    def mean_of(self, kernel, loop, between, total):
        """The statement mean = total / n, n the end of the loop's range."""
        uses = [n for n in kernel.uses.get(total, [])
                if loop not in kernel.ancestors(n)]
        found = [s for s in between if isinstance(s.value, ast.BinOp)
                 and isinstance(s.value.op, ast.Div)
                 and isinstance(s.value.left, ast.Name) and s.value.left.id == total]
        if len(found) != 1 or len(uses) != 1 or not isinstance(
                found[0].targets[0], ast.Name):
            raise Refused(f"'{total}' is not used for a mean alone")
        stop = kernel.span(loop)[2]
        if kernel.linear(found[0].value.right) != kernel.linear(stop):
            raise Refused("the mean is not over the length of the loop")
        return found[0]

    def differences(self, kernel, loop, squared, mean):
        """(the one use of the mean in the loop, the difference it stands in)."""
        name = mean.targets[0].id
        uses = [n for n in kernel.uses.get(name, []) if loop in kernel.ancestors(n)]
        if len(uses) != 1 or len(kernel.assigned[name]) != 1:
            raise Refused(f"the second loop does not use '{name}' once")
        gap = kernel.parent[uses[0]]
        if not (isinstance(gap, ast.BinOp) and isinstance(gap.op, ast.Sub)
                and gap.right is uses[0]):
            raise Refused(f"'{name}' is not taken off the values")
        product = carried_sum(kernel, loop, squared)[1].args[0]
        product = kernel.resolve(product)
        if not (isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)
                and isinstance(product.left, ast.Name)
                and ast.dump(product.left) == ast.dump(product.right)):
            raise Refused("what is added up is not a difference times itself")
        made = kernel.value(product.left)
        if made is not gap and not (kernel.call(made, "where")
                                    and made.args[1] is gap
                                    and isinstance(made.args[2], ast.Constant)
                                    and made.args[2].value == 0):
            raise Refused("what is squared is not the difference from the mean")
        return uses[0], gap

    def blocks(self, kernel, loop, value):
        _, start, stop, step = kernel.span(loop)
        shape = kernel.shape(value)
        if kernel.linear(start) or shape != (kernel.source.of(step),):
            raise Refused("the loop does not go from 0 by the length of a block")
        if kernel.kind(value) != "float":
            raise Refused("the values are not of floating point with 32 bits or fewer")

    def masked(self, kernel, loop, gap, statement):
        """Raises where a lane behind the end would count."""
        loads = kernel.calls("load", within=loop)
        has = any(kernel.mask(c) is not None for c in loads)
        if has and not kernel.calls("where", within=statement):
            raise Refused("lanes behind the end add the square of the mean here, which "
                          "the change would take away")

    def begin(self, kernel, loop, total):
        block = kernel.siblings(loop)
        found = [s for s in block[: block.index(loop)]
                 if s in kernel.assigned[total] and isinstance(s, ast.Assign)]
        if len(found) != 1 or not isinstance(found[0].value, ast.Constant) or (
                found[0].value.value != 0 or len(kernel.assigned[total]) != 2):
            raise Refused(f"'{total}' does not begin as 0")
        return found[0]

    def edit(self, kernel, site, args, out):
        first, second, added, squared, more, use, mean, begin, square = site.data
        source, tl = kernel.source, sorted(kernel.tl)[0]
        _, _, stop, step = kernel.span(first)
        k, name = first.target.id, mean.targets[0].id
        count, part = kernel.fresh("count"), kernel.fresh(f"{name}_part")
        gap = kernel.fresh("step", "mean_step")
        pad = source.indent(added)
        call = carried_sum(kernel, first, added)[1]
        lines = [f"{pad}{count} = {tl}.minimum({source.of(stop)} - {k}, "
                 f"{source.of(step)})",
                 f"{pad}{part} = {' '.join(source.of(call).split())} / {count}"]
        for s in more:
            inside = any(n is use for n in ast.walk(s))
            lines += lines_of(kernel, s, pad, *((use, part) if inside else ()))
        summed = source.of(carried_sum(kernel, second, squared)[1])
        lines += [f"{pad}{gap} = {part} - {name}",
                  f"{pad}{square} += {' '.join(summed.split())}",
                  f"{pad}{square} += {gap} * {gap} * {k} * ({count} / ({k} + {count}))",
                  f"{pad}{name} += {gap} * ({count} / ({k} + {count}))"]
        start = source.line_start(added.lineno)
        out.cut(start, source.line_end(added.end_lineno),
                "".join(n + "\n" for n in lines))
        out.replace(begin.targets[0], name)
        move_between(kernel, out, first, second, [mean])


RULE = OnePassVariance()
