"""launch_block.py: the length of a block becomes a parameter."""
import ast
import re

from .even_mask import conjuncts, room
from .rule import Refusal, Refused, Rule, Site, need_launch, parameter_values
from .rule import set_constexpr, set_parameter
from .text import flow


class LaunchBlock(Rule):
    name = "launch_block"
    about = "the length of a block (tl.arange(0, BLOCK)) becomes a parameter"
    symptoms = ["few_warps_registers", "few_warps_blocks", "few_warps_shared",
                "spills", "tail", "small_grid", "wait_memory", "wait_fixed", "waste",
                "mostly_dram", "wait_shared", "mostly_tensor", "narrow_mma",
                "one_launch", "wait_barrier", "dram"]
    holds = ["the length is a number of the kernel file, not computed from a shape",
             "the grid is written with the same number or parameter",
             "where one block must hold an axis, a constraint says so"]
    args = {"times": {"values": ["1/4", "1/2", "1", "2", "4", "8"], "default": "1",
                      "about": "what the parameter begins with, by what it was"}}
    gain = 1.3
    deltas = [("waves", 0.25, 4.0), ("time", 0.4, 1.0)]
    gates = ["shapes"]

    def sites(self, kernel):
        need_launch(kernel)
        for name in sorted(kernel.constexpr):
            ranges = [c for c in kernel.calls("arange")
                      if isinstance(c.args[1], ast.Name) and c.args[1].id == name]
            if not ranges:
                continue
            try:
                yield self.site(kernel, name, ranges)
            except Refused as e:
                yield Refusal(ranges[0], str(e))

    def site(self, kernel, name, ranges):
        said = {str(launch.constexprs.get(name)) for launch in kernel.launches}
        if len(said) != 1:
            raise Refused(f"launches give '{name}' different values")
        text = said.pop()
        known = parameter_values(kernel.facts, text)
        if known and len(known[0]) > 1:
            raise Refused(f"'{name}' is a parameter with {len(known[0])} values already")
        if not known and not text.isdigit():
            raise Refused(f"'{name}' is '{text}', which is computed")
        now = known[1] if known else int(text)
        if not known:
            self.grid_with(kernel, text, name)
        values = self.values(kernel, now)
        if len(values) < 2:
            raise Refused(f"'{name}' is {now}: no other power of two is sensible")
        return Site(ranges[0], f"'{name}' is {now} alone", {}, (),
                    (name, text, bool(known), now, values))

    def values(self, kernel, now):
        dot = bool(kernel.calls("dot"))
        low, high, most = (16, 256, 2) if dot else (16, 16384, 8)
        if not dot and len(kernel.calls("arange")) > 1 and self.two_dimensional(kernel):
            low, high, most = 1, 1024, 4
        found, v = {now}, now
        for by in (2, 4, 8):
            if by <= most and now * by <= high:
                found.add(now * by)
            if by <= min(most, 4) and now % by == 0 and now // by >= low:
                found.add(now // by)
        return sorted(found)

    def two_dimensional(self, kernel):
        return any(len(kernel.shape(c.args[0]) or ()) > 1
                   for c in kernel.calls("load"))

    def grid_with(self, kernel, text, name):
        """Raises where it is not clear which numbers of the grid mean this."""
        for launch in kernel.launches:
            twins = [n for n, v in launch.constexprs.items()
                     if str(v) == text and n != name]
            if twins:
                raise Refused(f"'{name}' and '{twins[0]}' are {text} both: the grid "
                              "does not say which is meant")

    def whole(self, kernel, name):
        """Words of the axes that one block of this length must hold."""
        found = []
        for call in kernel.calls("load", "store"):
            mask = kernel.mask(call)
            for part in conjuncts(kernel, mask) if mask is not None else []:
                left = room(kernel, part) or {}
                index = [m for m, f in left.items() if f < 0]
                if len(index) != 1 or not index[0][0].startswith("arange@"):
                    continue
                length = kernel.find_atom(index[0][0]).args[1]
                bound = [m[0] for m, f in left.items() if f > 0 and len(m) == 1]
                if isinstance(length, ast.Name) and length.id == name and bound:
                    words = kernel.words(ast.Name(bound[0]))
                    if words and words not in found:
                        found.append(words)
        return found

    def edit(self, kernel, site, args, out):
        now, values = site.data[3:]
        up, _, down = args["times"].partition("/")
        begin = now * int(up) // int(down or 1)
        if begin not in values:
            raise Refused(f"{begin} is none of {values}")
        edit_block(self, kernel, site.data, begin, out)


def edit_block(rule, kernel, data, begin, out):
    """A block's length becomes a parameter that begins with `begin`."""
    name, text, known, now, values = data
    parameter = text
    if not known:
        parameter = name
        if name in (kernel.facts.get("parameters") or {}):
            parameter = kernel.fresh(name)
        set_constexpr(kernel, out, name, parameter)
        for launch in kernel.launches:
            grid = [re.sub(rf"(?<!\w){text}(?!\w)", parameter, g)
                    for g in launch.grid]
            if grid != launch.grid:
                out.change(f"launches[{launch.index}].grid", flow(grid))
    set_parameter(out, parameter, sorted({*values, begin}), begin, "elements a block")
    for words in rule.whole(kernel, name):
        out.change("constraints[+]", flow({
            "require": f"{words} <= {parameter}", "about": "a block holds it"}))


RULE = LaunchBlock()
