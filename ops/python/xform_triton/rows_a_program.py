"""rows_a_program.py: a program makes several rows, one after the other."""
from .even_mask import const
from .persistent_grid import one_dimension, whole_body
from .rule import RAGGED, Refusal, Refused, Rule, Site
from .rule import add_parameters, body_lines, set_constexpr, set_parameter
from .text import flow, quote


class RowsAProgram(Rule):
    name = "rows_a_program"
    about = ("a program makes several neighbouring rows or blocks, so that launching "
             "it and what it has in common cost less")
    symptoms = ["few_warps_blocks", "one_launch", "wait_fixed", "wait_drain",
                "wait_memory", "tail"]
    holds = ["a grid of one dimension, read once", "no early return",
             "nothing that an earlier row leaves behind"]
    args = {"default": {"values": [1, 2, 4, 8], "default": 2,
                        "about": "rows that the parameter begins with"}}
    gain = 1.1
    deltas = [("waves", 0.12, 1.0), ("time", 0.7, 1.15)]
    gates = RAGGED

    def sites(self, kernel):
        if not kernel.calls("program_id"):
            return
        try:
            calls, axes = one_dimension(kernel)
            whole_body(kernel)
            if axes != {0} or len(kernel.launches[0].grid) > 1:
                raise Refused("the grid has more than one dimension")
            if "device_units" in kernel.launches[0].grid[0]:
                raise Refused("programs go through several rows already")
            if len(calls) != 1 or kernel.loops(calls[0]):
                raise Refused("the place in the grid is read more than once")
            if kernel.calls("dot"):
                raise Refused("tiles of a product of matrices are large enough")
        except Refused as e:
            yield Refusal(kernel.fn, str(e))
            return
        yield Site(kernel.fn, f"one row or block a program, of "
                   f"{kernel.launches[0].grid[0]}", {}, (), calls[0])

    def edit(self, kernel, site, args, out):
        launch, tl = kernel.launches[0], sorted(kernel.tl)[0]
        name, count = kernel.fresh("ROWS"), kernel.fresh("rows", "row_count")
        row, first_row = kernel.fresh("at", "row_at"), kernel.fresh("first", "first_row")
        first, last = body_lines(kernel)
        pad = kernel.source.indent(kernel.fn.body[-1])
        out.insert(kernel.source.line_start(first),
                   f"{pad}{first_row} = {tl}.program_id(0) * {name}\n"
                   f"{pad}for {row} in range({first_row}, "
                   f"{tl}.minimum({first_row} + {name}, {count})):\n")
        out.indent_lines(first, last)
        out.replace(site.data, row)
        add_parameters(kernel, out, f"{name}: {const(kernel)} = 1",
                       f"{count}=2147483647")
        where, grid = f"launches[{launch.index}]", launch.grid[0]
        set_constexpr(kernel, out, name, name)
        set_parameter(out, name, [1, 2, 4, 8], args["default"], "rows a program")
        out.change(f"{where}.args[{len(launch.args)}]", flow({"int32": grid}))
        out.change(f"{where}.grid", quote(f"ceil_div({grid}, {name})"))


RULE = RowsAProgram()
