"""late_reduce.py: blocks are added up (or compared) in a loop, and reduced behind it."""
import ast

from .model import mentions
from .rule import Refusal, Refused, Rule, Site, carried_sum

FORMS = {
    "sum": ("{tl}.zeros(({shape}), dtype={tl}.float32)", "{block} += {value}",
            "{name} += {tl}.sum({block}, axis={axis})"),
    "max": ("{tl}.full(({shape}), float(\"-inf\"), {tl}.float32)",
            "{block} = {tl}.maximum({block}, {value})",
            "{name} = {tl}.maximum({name}, {tl}.max({block}, axis={axis}))"),
}


class LateReduce(Rule):
    name = "late_reduce"
    about = ("what a loop reduces in every step (tl.sum, tl.max over lanes) is kept as "
             "a block, which is reduced once, behind the loop")
    symptoms = ["wait_barrier", "wait_shared", "wait_fixed", "wait_mio", "wait_memory"]
    holds = ["the loop reads the sum for nothing but adding to it",
             "the block's shape is known, and it is of floating point"]
    gain = 1.3
    deltas = [("barrier", 0.0, 0.6), ("short_scoreboard", 0.1, 1.0),
              ("time", 0.5, 1.05)]
    gates = ["values"]
    rounding = True

    def sites(self, kernel):
        for loop in kernel.all_loops():
            for s in loop.body:
                calls = [c for c in kernel.calls("sum", "max", within=s)
                         if kernel.loops(c) and kernel.loops(c)[0] is loop]
                if not calls or isinstance(s, (ast.For, ast.While, ast.If)):
                    continue
                try:
                    found = self.site(kernel, loop, s)
                except Refused as e:
                    yield Refusal(s, str(e))
                    continue
                yield found

    def site(self, kernel, loop, s):
        found = carried_sum(kernel, loop, s)
        if found is None:
            raise Refused("what is reduced is more than added to a sum, or compared")
        name, call = found
        if not kernel.facts.get("rounding"):
            raise Refused("rounding may not change")
        if kernel.definition_before(s, name) is not None and loop in kernel.ancestors(
                kernel.definition_before(s, name)):
            raise Refused(f"'{name}' begins anew in every step")
        others = [n for n in kernel.uses.get(name, [])
                  if loop in kernel.ancestors(n) and kernel.statement(n) is not s]
        again = [m for m in kernel.assigned[name]
                 if loop in kernel.ancestors(m) and m is not s]
        if others or again:
            line = (others or again)[0].lineno
            raise Refused(f"the loop needs '{name}' in line {line}, too")
        if not (kernel.source.alone(s) and kernel.source.alone(loop)):
            raise Refused("the statement shares its line with another")
        value = call.args[0]
        shape, axis = kernel.shape(value), kernel.argument(call, 1, "axis")
        if not shape or mentions(value, name):
            raise Refused(f"the shape of '{kernel.source.of(value)}' is not known")
        if axis is None and len(shape) > 1 or len(call.args) + len(call.keywords) > 2:
            raise Refused("what is reduced is more than one axis")
        if kernel.kind(value) != "float":
            raise Refused(f"'{kernel.source.of(value)}' is not known to be of "
                          "floating point with 32 bits or fewer")
        text = "0" if axis is None else kernel.source.of(axis)
        return Site(s, f"'{name}' is reduced in every step of the loop", {}, (),
                    (loop, name, call, shape, text))

    def edit(self, kernel, site, args, out):
        loop, name, call, shape, axis = site.data
        tl = sorted(kernel.tl)[0]
        words = {"tl": tl, "name": name, "axis": axis,
                 "shape": ", ".join(shape) + ("," if len(shape) == 1 else ""),
                 "block": kernel.fresh(f"{name}_block"),
                 "value": kernel.source.of(call.args[0])}
        first, step, last = FORMS[kernel.call(call)]
        begin = f"{words['block']} = " + first.format(**words)
        made = self.only_begin(kernel, loop, name, kernel.call(call))
        if made is not None:
            out.replace(made, begin)
            last = f"{{name}} = {{tl}}.{kernel.call(call)}({{block}}, axis={{axis}})"
        else:
            out.before(loop, begin)
        out.replace(site.node, step.format(**words))
        out.after(loop, last.format(**words))

    def only_begin(self, kernel, loop, name, what):
        """The statement before the loop that sets the sum to what changes nothing
        (0, or -inf), if the loop alone reads that."""
        block = kernel.siblings(loop)
        made = [m for m in kernel.assigned[name] if m in block[: block.index(loop)]]
        if len(made) != 1 or not isinstance(made[0], ast.Assign):
            return None
        value, read = made[0].value, [
            n for n in kernel.uses.get(name, [])
            if made[0].lineno <= n.lineno < loop.lineno]
        text = kernel.source.of(value).replace("'", '"').replace(" ", "")
        zero = kernel.call(value, "zeros") or isinstance(
            value, ast.Constant) and value.value == 0
        none = zero if what == "sum" else text == 'float("-inf")'
        alone = kernel.source.alone(made[0]) and isinstance(made[0].targets[0], ast.Name)
        return made[0] if none and alone and not read else None


RULE = LateReduce()
