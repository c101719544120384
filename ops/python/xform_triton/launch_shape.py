"""launch_shape.py: blocks, warps and stages become parameters together.

Alone they often lose: a larger tile wants more warps. So the whole shape is set to
one that suits, and every part of it can be tuned from there.
"""
from .launch_block import RULE as BLOCK
from .launch_block import edit_block
from .launch_stages import RULE as STAGES
from .launch_warps import RULE as WARPS
from .launch_warps import edit_widened
from .rule import Refusal, Rule, Site, need_launch

# (rows, columns, depth) of a tile, warps, stages: shapes that are among the best of
# the timing matrix of an H200 in tests/data/h200, for small and for large products.
TILES = {"small": ((64, 64, 64), 4, 4), "medium": ((128, 128, 64), 8, 3),
         "large": ((128, 256, 64), 8, 3)}
# elements of a block of one dimension, warps
RUNS = {"small": (256, 1), "medium": (1024, 4), "large": (4096, 8)}


class LaunchShape(Rule):
    name = "launch_shape"
    about = ("block lengths, warps and stages become parameters together, and begin "
             "with a shape that suits")
    symptoms = ["narrow_mma", "wait_tensor", "mostly_tensor", "wait_memory", "waste",
                "wait_shared", "few_warps_registers", "few_warps_blocks", "wait_fixed",
                "no_tensor", "wait_barrier", "mostly_dram", "wait_mio", "tail"]
    holds = ["at least two of block, warps and stages are numbers of the kernel file",
             "where one block must hold an axis, a constraint says so"]
    args = {"shape": {"values": ["small", "medium", "large"], "default": "medium",
                      "about": "what the parameters begin with"}}
    gain = 2.0
    deltas = [("waves", 0.1, 4.0), ("time", 0.2, 1.0)]
    gates = ["shapes"]

    def sites(self, kernel):
        need_launch(kernel)
        if len(kernel.launches) != 1:
            yield Refusal(kernel.fn, "the function is launched more than once")
            return
        blocks = self.blocks(kernel)
        parts = [next((f.data for f in rule.sites(kernel) if isinstance(f, Site)), None)
                 for rule in (WARPS, STAGES)]
        free = len(blocks) + sum(p is not None for p in parts)
        if free < 2 or not blocks:
            yield Refusal(kernel.fn, "there are not two parts of the launch's shape "
                                     "that are fixed numbers")
            return
        names = [b[0] for b in blocks.values()]
        yield Site(kernel.fn, f"{', '.join(names)} and the warps are fixed", {}, (),
                   (blocks, *parts))

    def blocks(self, kernel):
        """Of each free block (by what it is of a tile): what launch_block knows."""
        found = {}
        roles = self.roles(kernel)
        for site in BLOCK.sites(kernel):
            if isinstance(site, Site):
                name = site.data[0]
                if not roles and not BLOCK.two_dimensional(kernel):
                    found.setdefault("run", site.data)
                elif name in roles:
                    found.setdefault(roles[name], site.data)
        return found

    def roles(self, kernel):
        """Which name is rows (0), columns (1), depth (2) of a product's tile."""
        for dot in kernel.calls("dot"):
            left, right = kernel.shape(dot.args[0]), kernel.shape(dot.args[1])
            if left and right and len(left) == len(right) == 2:
                return {left[1]: 2, right[1]: 1, left[0]: 0}
        return {}

    def edit(self, kernel, site, args, out):
        blocks, warps, stages = site.data
        if "run" in blocks:
            length, n = RUNS[args["shape"]]
            edit_block(BLOCK, kernel, blocks["run"], length, out)
            depth = 0
        else:
            lengths, n, depth = TILES[args["shape"]]
            for role, data in blocks.items():
                edit_block(BLOCK, kernel, data, lengths[role], out)
        if warps:
            edit_widened(kernel, warps, "warps", out, n)
        if stages:
            edit_widened(kernel, stages, "stages", out, depth)


RULE = LaunchShape()
