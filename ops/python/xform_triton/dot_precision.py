"""dot_precision.py: float32 products on the matrix units."""
import ast

from .rule import Refusal, Rule, Site


class DotPrecision(Rule):
    name = "dot_precision"
    about = ("tl.dot of float32 that was asked for in full precision takes tf32: one "
             "product of 11 bits, or three that come close to float32")
    symptoms = ["no_tensor", "fma", "near_compute_floor", "mostly_fma"]
    holds = ["the call asks for 'ieee' or allow_tf32=False",
             "both operands are float32"]
    unproven = ["whether the op's tolerance bears the precision"]
    args = {"precision": {"values": ["tf32x3", "tf32"], "default": "tf32x3",
                          "about": "input_precision of tl.dot"}}
    gain = 3.0
    deltas = [("fma_busy", 0.0, 0.5), ("time", 0.1, 0.8)]
    gates = ["values"]
    rounding = True

    def sites(self, kernel):
        for dot in kernel.calls("dot"):
            given = {k.arg: k.value for k in dot.keywords}
            types = [self.dtype(kernel, a) for a in dot.args[:2]]
            asked = self.asked(given)
            if any(t is not None and t != "float32" for t in types):
                yield Refusal(dot, f"the operands are {types[0]}: their precision is "
                                   "no choice")
            elif asked is None:
                yield Refusal(dot, "without input_precision Triton takes tf32 already")
            elif None in types:
                yield Refusal(dot, "the types of the operands are not known")
            elif not kernel.facts.get("rounding"):
                yield Refusal(dot, "rounding may not change")
            else:
                yield Site(dot, "the product is made of float32 in full precision",
                           {}, (), asked)

    def asked(self, given):
        """The keyword that asks for full precision, or None."""
        value = given.get("input_precision")
        if isinstance(value, ast.Constant) and value.value == "ieee":
            return "input_precision"
        value = given.get("allow_tf32")
        if isinstance(value, ast.Constant) and value.value is False:
            return "allow_tf32"
        return None

    def dtype(self, kernel, node, depth=0):
        """The element type of an operand, from the op's tensors."""
        node = kernel.resolve(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "to":
                to = node.args[0] if node.args else None
                return to.attr if isinstance(to, ast.Attribute) else None
        if kernel.call(node, "dot", "zeros"):
            return "float32"
        if kernel.call(node, "trans"):
            return self.dtype(kernel, node.args[0])
        if kernel.call(node, "load"):
            found = kernel.dtypes(kernel.base(node.args[0]))
            return found.pop() if len(found) == 1 else None
        if isinstance(node, ast.Name):
            found = {self.dtype(kernel, v) for v in kernel.values_of(node)}
            return found.pop() if len(found) == 1 else None
        # what is computed from float32 blocks is float32
        parts = [n for n in ast.walk(node) if kernel.call(n, "load", "dot", "zeros")
                 or isinstance(n, ast.Name) and n.id in kernel.assigned]
        if depth < 20 and parts and kernel.kind(node) == "float":
            found = {self.dtype(kernel, p, depth + 1) for p in parts if p is not node
                     and kernel.kind(p) == "float"}
            return found.pop() if found == {"float32"} else None
        return None

    def edit(self, kernel, site, args, out):
        for k in site.node.keywords:
            if k.arg == site.data:
                start = kernel.source.start(k)
                out.cut(start, kernel.source.end(k.value),
                        f'input_precision="{args["precision"]}"')


RULE = DotPrecision()
