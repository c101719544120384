"""persistent_grid.py: as many programs as the device holds, each with many tiles."""
import ast

from .rule import RAGGED, SANITIZED, Refusal, Refused, Rule, Site
from .rule import add_parameters, body_lines, can_indent, is_called, need_launch
from .rule import set_parameter
from .text import flow, quote


def whole_body(kernel):
    """Raises where a function's body cannot become that of a loop."""
    for node in ast.walk(kernel.fn):
        if isinstance(node, ast.Return):
            raise Refused(f"line {node.lineno} returns early")
        if isinstance(node, (ast.FunctionDef, ast.Global)) and node is not kernel.fn:
            raise Refused("the function has functions of its own")
    for name in kernel.assigned:
        if name in kernel.runtime:
            raise Refused(f"'{name}' is a parameter and changes: the next tile would "
                          "begin with it")
    for s in kernel.fn.body:
        if kernel.source.indent(s) is None:
            raise Refused("statements share a line")
    can_indent(kernel, *body_lines(kernel))


def one_dimension(kernel):
    """The calls of program_id of a grid of one dimension; raises for others."""
    need_launch(kernel)
    if is_called(kernel) or len(kernel.launches) != 1:
        raise Refused("the function is not launched once and called by none")
    if kernel.calls("num_programs"):
        raise Refused("the function reads the size of its grid")
    calls = kernel.calls("program_id")
    if not calls:
        raise Refused("the function reads no place in the grid")
    axes = {kernel.axis(c) for c in calls}
    if None in axes:
        raise Refused("an axis of the grid is not a number")
    return calls, axes


class PersistentGrid(Rule):
    name = "persistent_grid"
    about = ("the grid is what the device holds at once; each program goes through "
             "tiles, a grid's width apart")
    symptoms = ["tail", "imbalance", "few_warps_blocks", "wait_drain"]
    holds = ["the whole function depends on its place in the grid and on nothing that "
             "an earlier tile leaves behind", "no early return"]
    args = {"default": {"values": [1, 2, 4, 8, 16], "default": 4,
                        "about": "programs a unit that the parameter begins with"}}
    gain = 1.05
    deltas = [("tail_loss", 0.0, 1.0), ("time", 0.8, 1.1)]
    gates = RAGGED + SANITIZED

    def sites(self, kernel):
        if not kernel.calls("program_id"):
            return
        try:
            calls, axes = one_dimension(kernel)
            whole_body(kernel)
            if len(kernel.launches[0].grid) > 2 or not axes <= {0, 1}:
                raise Refused("the grid has three dimensions")
            if "device_units" in "".join(kernel.launches[0].grid):
                raise Refused("the grid is what the device holds already")
            if any(isinstance(n, (ast.For, ast.While)) and any(
                    c in list(ast.walk(n)) for c in calls) for n in kernel.fn.body):
                raise Refused("a loop of the function reads the place in the grid")
        except Refused as e:
            yield Refusal(kernel.fn, str(e))
            return
        yield Site(kernel.fn, f"one tile a program, {self.tiles(kernel)} of them", {},
                   (), calls)

    def tiles(self, kernel):
        grid = kernel.launches[0].grid
        parts = [g if g.isidentifier() or g.endswith(")") and g.count("(") == 1
                 else f"({g})" for g in grid]
        return " * ".join(parts) if len(grid) > 1 else grid[0]

    def edit(self, kernel, site, args, out):
        launch, tl = kernel.launches[0], sorted(kernel.tl)[0]
        plane = len(launch.grid) == 2
        tile, tiles = kernel.fresh("tile"), kernel.fresh("tiles")
        across = kernel.fresh("tiles_x")
        first, last = body_lines(kernel)
        pad = kernel.source.indent(kernel.fn.body[-1])
        at = kernel.source.line_start(first)
        out.insert(at, f"{pad}for {tile} in range({tl}.program_id(0), {tiles}, "
                       f"{tl}.num_programs(0)):\n")
        out.indent_lines(first, last)
        for call in site.data:
            new = tile
            if plane:
                new = f"{tile} % {across}" if kernel.axis(call) == 0 else (
                    f"{tile} // {across}")
                if not isinstance(kernel.parent[call], ast.Assign):
                    new = f"({new})"
            out.replace(call, new)
        n = len(launch.args)
        decls = [f"{tiles}=None"] + ([f"{across}=None"] if plane else [])
        add_parameters(kernel, out, *decls)
        where = f"launches[{launch.index}]"
        out.change(f"{where}.args[{n}]", flow({"int32": self.tiles(kernel)}))
        if plane:
            out.change(f"{where}.args[{n + 1}]", flow({"int32": launch.grid[0]}))
        name = kernel.fresh("PER_UNIT")
        set_parameter(out, name, [1, 2, 4, 8, 16], args["default"], "programs a unit")
        out.change(f"{where}.grid",
                   quote(f"min({self.tiles(kernel)}, device_units * {name})"))


RULE = PersistentGrid()
