"""sum_to_dot.py: a product of matrices that is written as a broadcast and a sum."""
import ast

from .rule import Refusal, Refused, Rule, Site, parameter_values


def expanded(node):
    """(block, axes added) of x[:, :, None], or None."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    new = []
    for i, e in enumerate(node.slice.elts):
        if isinstance(e, ast.Constant) and e.value is None:
            new.append(i)
        elif not isinstance(e, ast.Slice):
            return None
    return node.value, tuple(new)


class SumToDot(Rule):
    name = "sum_to_dot"
    about = ("tl.sum(a[:, :, None] * b[None, :, :], axis=1) becomes tl.dot(a, b), on "
             "the matrix units")
    symptoms = ["no_tensor", "spills", "few_warps_registers", "fma", "mostly_fma",
                "wait_shared", "wait_barrier", "near_compute_floor"]
    holds = ["one factor misses the last axis, the other the first, and the sum is "
             "over the one between", "all three lengths are 16 or more"]
    unproven = ["whether the op's tolerance bears the precision"]
    args = {"precision": {"values": ["ieee", "tf32x3", "tf32"], "default": "tf32x3",
                          "about": "of operands in float32"}}
    gain = 4.0
    deltas = [("tensor_busy", 1.0, 100.0), ("spill_bytes", 0.0, 1.0),
              ("time", 0.05, 0.8)]
    gates = ["values"]
    rounding = True

    def sites(self, kernel):
        for call in kernel.calls("sum"):
            product = kernel.resolve(call.args[0])
            if not isinstance(product, ast.BinOp) or not isinstance(
                    product.op, ast.Mult):
                continue
            sides = [expanded(product.left), expanded(product.right)]
            if None in sides:
                continue
            try:
                yield self.site(kernel, call, sides)
            except Refused as e:
                yield Refusal(call, str(e))

    def site(self, kernel, call, sides):
        by = {new: block for block, new in sides}
        axis = kernel.argument(call, 1, "axis")
        if set(by) != {(2,), (0,)} or not isinstance(axis, ast.Constant) or (
                axis.value != 1):
            raise Refused("this is a matrix and a vector, or a sum over another axis "
                          "than the one between")
        if not kernel.facts.get("rounding"):
            raise Refused("rounding may not change")
        a, b = by[(2,)], by[(0,)]
        left, right = kernel.shape(a), kernel.shape(b)
        if not left or not right or len(left) != 2 or len(right) != 2:
            raise Refused("the shapes of the factors are not known")
        for length in (*left, right[1]):
            if self.least(kernel, length) < 16:
                raise Refused(f"'{length}' is under 16, which matrix units do not take")
        if kernel.kind(a) != "float" or kernel.kind(b) != "float":
            raise Refused("the factors are not of floating point with 32 bits or fewer")
        for n in (a, b):
            if not isinstance(n, ast.Name):
                raise Refused("a factor is not a name")
        return Site(call, f"a product of ({', '.join(left)}) and "
                    f"({', '.join(right)}) is made on the float32 units", {}, (), (a, b))

    def least(self, kernel, length):
        if length.isdigit():
            return int(length)
        found = []
        for launch in kernel.launches:
            text = str(launch.constexprs.get(length, ""))
            axis = (kernel.facts.get("axes") or {}).get(text)
            if axis is not None:  # a constant axis
                text = str(axis.get("value", "") if isinstance(axis, dict) else axis)
            known = parameter_values(kernel.facts, text)
            if text.isdigit():
                found.append(int(text))
            elif known:
                found.append(min(known[0]))
            else:
                raise Refused(f"'{length}' is not a number of the kernel file")
        return min(found, default=0)

    def edit(self, kernel, site, args, out):
        a, b = site.data
        tl = sorted(kernel.tl)[0]
        out.replace(site.node, f"{tl}.dot({a.id}, {b.id}, "
                    f'input_precision="{args["precision"]}")')


RULE = SumToDot()
