"""contiguous_hint.py: wrapped indices are said to be neighbours all the same."""
import ast

from .rule import RAGGED, Refusal, Refused, Rule, Site, need_launch
from .text import flow


class ContiguousHint(Rule):
    name = "contiguous_hint"
    about = ("the index of a block that wraps around its axis (% M) is said to be a "
             "run of neighbours, so that loads become wide")
    symptoms = ["uncoalesced_loads", "wait_lg", "wait_memory", "mostly_tensor",
                "narrow_mma"]
    holds = ["the index is (place * BLOCK + tl.arange(0, BLOCK)) % M",
             "a constraint allows only shapes that BLOCK divides, where nothing wraps"]
    gain = 1.2
    deltas = [("load_sectors", 0.25, 1.0), ("lg_throttle", 0.2, 1.0),
              ("time", 0.6, 1.0)]
    gates = RAGGED

    def sites(self, kernel):
        need_launch(kernel)
        for node in kernel.nodes:
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mod):
                continue
            if not any(kernel.call(n, "arange") for n in self.parts(kernel, node.left)):
                continue
            try:
                width, words = self.run_of(kernel, node)
            except Refused as e:
                yield Refusal(node, str(e))
                continue
            yield Site(node, f"'{kernel.source.of(node)}' wraps nowhere where "
                       f"{words}", {}, (), (width, words))

    def parts(self, kernel, node):
        node = kernel.resolve(node)
        for part in ast.walk(node):
            yield part
            if isinstance(part, ast.Name):
                yield from ast.walk(kernel.resolve(part))

    def run_of(self, kernel, node):
        up = kernel.parent[node]
        named = up.targets[0].id if isinstance(up, ast.Assign) and isinstance(
            up.targets[0], ast.Name) else None
        if kernel.call(up, "max_contiguous", "multiple_of") or any(
                isinstance(c.args[0], ast.Name) and c.args[0].id == named
                for c in kernel.calls("max_contiguous", "multiple_of")):
            raise Refused("the index has a hint already")
        parts = kernel.linear(node.left)
        arange = [m for m in parts if m[:1] and m[0].startswith("arange@")]
        if len(arange) != 1 or len(arange[0]) != 1 or parts[arange[0]] != 1:
            raise Refused("the index is not a run of neighbours")
        length = kernel.find_atom(arange[0][0]).args[1]
        width = kernel.linear(length)
        rest = [(m, f) for m, f in parts.items() if m != arange[0]]
        for m, f in rest:
            atoms = [a for a in list(width)[0] if a not in m]
            if len(width) != 1 or atoms or f % list(width.values())[0]:
                raise Refused("the run does not begin at a multiple of its length")
        bound, block = kernel.words(node.right), kernel.words(length)
        if bound is None or block is None:
            raise Refused("the kernel file does not say what it wraps at")
        bound = bound if bound.isidentifier() else f"({bound})"
        return kernel.source.of(length), f"{bound} % {block} == 0"

    def edit(self, kernel, site, args, out):
        (width, words), tl = site.data, sorted(kernel.tl)[0]
        source, up = kernel.source, kernel.parent[site.node]
        hint = f"{tl}.max_contiguous({tl}.multiple_of("
        if isinstance(up, ast.Assign) and isinstance(up.targets[0], ast.Name) and (
                source.alone(up)):
            name = up.targets[0].id
            out.after(up, f"{name} = {hint}{name}, {width}), {width})")
        else:
            out.insert(source.start(site.node), hint)
            out.insert(source.end(site.node), f", {width}), {width})")
        out.change("constraints[+]", flow({
            "require": words, "about": "no block wraps around"}))


RULE = ContiguousHint()
