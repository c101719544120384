"""reciprocal.py: a loop multiplies by a reciprocal where it divided by one number."""
import ast

from .rule import Refusal, Rule, Site


class Reciprocal(Rule):
    name = "reciprocal"
    about = "a loop that divides by one number multiplies by its reciprocal instead"
    symptoms = ["wait_fixed", "wait_units", "fma", "special", "wait_shared"]
    holds = ["the divisor is a number of floating point that the loop does not change"]
    unproven = ["its reciprocal is no infinity: it is not a denormal number"]
    gain = 1.05
    deltas = [("fma_busy", 0.5, 1.0), ("time", 0.8, 1.02)]
    gates = ["values"]
    rounding = True

    def sites(self, kernel):
        for node in kernel.nodes:
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
                continue
            loops = kernel.loops(node)
            if not loops or not kernel.shape(node.left):  # outside, or of numbers
                continue
            why = self.why_not(kernel, loops[0], node.right)
            if why:
                yield Refusal(node, why)
            else:
                yield Site(node, f"'{kernel.source.of(node)}' divides in every step",
                           {}, (), loops[0])

    def why_not(self, kernel, loop, divisor):
        if not isinstance(divisor, ast.Name):
            return "the divisor is not a name"
        if kernel.shape(divisor) != () or kernel.kind(divisor) != "float":
            return f"'{divisor.id}' is not one number of floating point"
        if any(loop in kernel.ancestors(m) for m in kernel.assigned[divisor.id]):
            return f"the loop changes '{divisor.id}'"
        if not kernel.source.alone(loop):
            return "the loop shares its line with a statement"
        if not kernel.facts.get("rounding"):
            return "rounding may not change"
        return None

    def edit(self, kernel, site, args, out):
        source, divide = kernel.source, site.node
        name = kernel.fresh(f"inverse_{divide.right.id}")
        out.before(site.data, f"{name} = 1.0 / {divide.right.id}")
        dividend = source.of(divide.left)
        between = source.between(source.end(divide.left), source.start(divide.right))
        if "#" in between or "\n" in between or ")" in between:
            out.replace(divide, f"({dividend}) * {name}")
        else:
            out.cut(source.end(divide.left), source.end(divide.right),
                    between.replace("/", "*") + name)


RULE = Reciprocal()
