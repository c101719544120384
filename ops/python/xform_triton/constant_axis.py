"""constant_axis.py: a size becomes a constant of the compiled kernel."""
import ast

from .divisible_args import scalar
from .rule import Refusal, Rule, Site, is_called, need_launch
from .rule import set_constexpr
from .text import flow


class ConstantAxis(Rule):
    name = "constant_axis"
    about = ("a size that a loop or a mask ends at is compiled in: loops of one step "
             "become plain code, masks and index arithmetic fold")
    symptoms = ["wait_fixed", "wait_memory", "waste", "wait_lg", "mostly_dram"]
    holds = ["the parameter is a whole number that a loop's range or a mask reads",
             "the function never assigns it and asks it for nothing but its value"]
    unproven = ["each value is compiled by itself: shapes to come need "
                "'wavesmith compile' again"]
    gain = 1.15
    deltas = [("waste", 0.5, 1.0), ("time", 0.5, 1.05)]
    gates = ["shapes"]

    def sites(self, kernel):
        need_launch(kernel)
        for arg in kernel.fn.args.posonlyargs + kernel.fn.args.args:
            name = arg.arg
            said = {launch.text(name) for launch in kernel.launches}
            if name not in kernel.runtime or None in said:
                continue
            why = self.why_not(kernel, arg, name)
            if why:
                yield Refusal(arg, why)
            else:
                yield Site(arg, f"'{name}' is {', '.join(sorted(said))}", {}, (), name)

    def why_not(self, kernel, arg, name):
        if arg.annotation is not None:
            return f"'{name}' has an annotation of its own"
        if name in kernel.assigned:
            return f"'{name}' is assigned in the function"
        if is_called(kernel):
            return "another function of the source calls this one"
        for use in kernel.uses.get(name, []):
            up = kernel.parent[use]
            if isinstance(up, ast.Attribute):
                return f"'{kernel.source.of(up)}' asks for more than a value"
        if not self.bounds(kernel, name):
            return f"neither a loop nor a mask ends at '{name}'"
        return None

    def bounds(self, kernel, name):
        for loop in kernel.all_loops():
            if name in kernel.depends(loop.iter):
                return True
        for call in kernel.calls("load", "store"):
            mask = kernel.mask(call)
            if mask is not None and name in kernel.depends(mask):
                return True
        return False

    def edit(self, kernel, site, args, out):
        name, tl = site.data, sorted(kernel.tl)[0]
        out.insert(kernel.source.end(site.node), f": {tl}.constexpr")
        for launch in kernel.launches:
            at = launch.arg[name]
            left = [a for i, a in enumerate(launch.args) if i != at]
            out.change(f"launches[{launch.index}].args", flow(left))
        for launch in kernel.launches:
            kind, value = scalar(launch.args[launch.arg[name]])
        set_constexpr(kernel, out, name, value)


RULE = ConstantAxis()
