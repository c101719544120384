"""group_order.py: tiles in groups of rows, so that what they share stays cached."""
import ast

from .even_mask import const
from .rule import RAGGED, Refusal, Refused, Rule, Site
from .rule import add_parameters, need_launch, set_constexpr, set_parameter


def only_use(kernel, axis):
    """The one call of program_id for an axis and the name that it gets."""
    calls = [c for c in kernel.calls("program_id") if kernel.axis(c) == axis]
    if len(calls) != 1:
        return None
    statement = kernel.statement(calls[0])
    if statement not in kernel.fn.body or not isinstance(statement, ast.Assign):
        return None
    target = statement.targets[0]
    value = calls[0] is statement.value
    if isinstance(target, ast.Name) and value and len(statement.targets) == 1 and (
            len(kernel.assigned[target.id]) == 1):
        return target.id, statement
    return None


class GroupOrder(Rule):
    name = "group_order"
    about = ("programs go through the tiles of a matrix in groups of rows, so that "
             "both operands are found in the last cache")
    symptoms = ["waste", "dram", "mostly_dram", "wait_memory", "wait_tensor"]
    holds = ["some loads depend on the tile's row alone, some on its column alone",
             "each place in the grid is read once and given a name",
             "the grid is what the new order numbers"]
    gain = 1.1
    deltas = [("l2_hit", 1.0, 1.6), ("waste", 0.4, 1.0), ("time", 0.7, 1.02)]
    args = {"default": {"values": [1, 2, 4, 8, 16], "default": 8,
                        "about": "rows of a group that the parameter begins with"}}
    gates = RAGGED

    def sites(self, kernel):
        need_launch(kernel)
        if kernel.calls("swizzle2d"):
            yield Refusal(kernel.fn, "the tiles are in an order of their own already")
            return
        plane = all(len(launch.grid) > 1 and "1" not in launch.grid[:2]
                    for launch in kernel.launches)
        try:
            if plane:
                yield self.plane(kernel)
            elif kernel.calls("program_id"):
                yield from self.line(kernel)
        except Refused as e:
            yield Refusal(kernel.fn, str(e))

    def shared(self, kernel, first, second):
        """Raises unless loads are shared along both directions."""
        alone = [0, 0]
        for load in kernel.calls("load"):
            used = kernel.depends(load.args[0])
            alone[0] += first in used and second not in used
            alone[1] += second in used and first not in used
        if not all(alone):
            raise Refused("no load is shared along both directions of the grid: the "
                          "order of tiles changes no reuse")

    def plane(self, kernel):
        names = [only_use(kernel, axis) for axis in (0, 1)]
        if None in names or kernel.calls("num_programs"):
            raise Refused("the places in the grid are not read once each, by a name")
        (first, a), (second, b) = names
        self.shared(kernel, first, second)
        last = max(a, b, key=lambda s: s.lineno)
        used = [n for name in (first, second) for n in kernel.uses.get(name, [])]
        if any(n.lineno <= last.lineno for n in used):
            raise Refused("a place in the grid is used before both are known")
        return Site(last, f"'{first}' and '{second}' walk the tiles row by row", {},
                    (), ("plane", first, second, last))

    def line(self, kernel):
        """p // n and p % n of a grid of one dimension."""
        one = only_use(kernel, 0)
        if one is None:
            return
        pid, _ = one
        pair = {}
        for s in kernel.fn.body:
            v = s.value if isinstance(s, ast.Assign) else None
            if isinstance(v, ast.BinOp) and isinstance(v.left, ast.Name) and (
                    v.left.id == pid and isinstance(s.targets[0], ast.Name)):
                pair.setdefault(type(v.op), s)
        if ast.FloorDiv not in pair or ast.Mod not in pair:
            return
        div, mod = pair[ast.FloorDiv], pair[ast.Mod]
        by = div.value.right
        if kernel.canonical(by) != kernel.canonical(mod.value.right):
            raise Refused("the place in the grid is divided by two different numbers")
        outer, inner = div.targets[0].id, mod.targets[0].id
        if any(len(kernel.assigned[n]) != 1 for n in (outer, inner)):
            raise Refused("the tile's place is assigned more than once")
        self.shared(kernel, outer, inner)
        count, width = kernel.tiles(div.value), kernel.words(by)
        grid = {launch.grid_of(0) for launch in kernel.launches}
        if count is None or width is None or len(grid) != 1:
            raise Refused("the grid is not the product of the tiles' counts")
        last = max(div, mod, key=lambda s: s.lineno)
        source = kernel.source
        yield Site(last, f"'{outer}' and '{inner}' walk the tiles row by row", {}, (),
                   ("line", outer, inner, last, pid, source.of(by)))

    def edit(self, kernel, site, args, out):
        kind, first, second, last = site.data[:4]
        tl = sorted(kernel.tl)[0]
        name = kernel.fresh("GROUP", "GROUP_ROWS")
        if kind == "plane":
            order = kernel.fresh("order", "tile_order")
            out.after(
                last,
                f"{order} = {second} * {tl}.num_programs(0) + {first}",
                f"{first}, {second} = {tl}.swizzle2d(",
                f"    {order} // {tl}.num_programs(1), {order} % {tl}.num_programs(1),",
                f"    {tl}.num_programs(0), {tl}.num_programs(1), {name})")
        else:
            pid, by = site.data[4:]
            wrapped = by if by.replace("_", "").isalnum() else f"({by})"
            out.after(
                last,
                f"{first}, {second} = {tl}.swizzle2d(",
                f"    {first}, {second}, {tl}.num_programs(0) // {wrapped}, {wrapped},"
                f" {name})")
        add_parameters(kernel, out, f"{name}: {const(kernel)} = 1")
        set_constexpr(kernel, out, name, name)
        set_parameter(out, name, [1, 2, 4, 8, 16], args["default"],
                      "rows of tiles that are walked together")


RULE = GroupOrder()
