"""loop_stages.py: loads of a loop without tl.dot are fetched ahead."""
from .even_mask import const
from .rule import SANITIZED, Refusal, Refused, Rule, Site
from .rule import add_parameters, need_launch, set_constexpr, set_parameter


def bases(kernel, calls):
    """The parameters that accesses go to; raises where one is not known."""
    found = set()
    for c in calls:
        base = kernel.base(c.args[0]) if c.args else None
        if base is None:
            raise Refused(f"it is not known where '{kernel.source.of(c)[:40]}' "
                          "points to")
        found.add(base)
    return found


class LoopStages(Rule):
    name = "loop_stages"
    about = ("a loop becomes tl.range with num_stages as a parameter: its loads are "
             "asked for some steps ahead")
    symptoms = ["wait_memory", "mostly_dram", "wait_fixed", "few_warps_registers"]
    holds = ["the loop loads, and has no tl.dot (Triton pipelines those itself)",
             "no store or atomic operation of the loop goes to what it loads from"]
    unproven = ["two arguments of one launch do not overlap"]
    args = {"default": {"values": [1, 2, 3, 4], "default": 3,
                        "about": "stages that the parameter begins with"}}
    gain = 1.1
    deltas = [("long_scoreboard", 0.4, 1.0), ("time", 0.7, 1.05)]
    gates = SANITIZED

    def sites(self, kernel):
        need_launch(kernel)
        for loop in kernel.all_loops():
            loads = [c for c in kernel.calls("load", within=loop)
                     if kernel.loops(c)[0] is loop]
            if not loads:
                continue
            why = self.why_not(kernel, loop, loads)
            if why:
                yield Refusal(loop, why)
            else:
                yield Site(loop, f"{len(loads)} loads a step of the loop over "
                           f"'{kernel.source.of(loop.target)}' wait for memory")

    def why_not(self, kernel, loop, loads):
        span = kernel.span(loop)
        if span is None or span[0] == "static_range":
            return "the loop is not over a range"
        if any(k.arg for k in loop.iter.keywords):
            return "the loop says how it is to be compiled already"
        if kernel.calls("dot", within=loop):
            return "Triton pipelines loops with tl.dot by the launch's stages"
        if kernel.calls("atomic_add", "atomic_max", "atomic_min", "atomic_cas",
                        "atomic_xchg", "debug_barrier", within=loop):
            return "the loop has atomic operations or barriers"
        try:
            common = bases(kernel, loads) & bases(
                kernel, kernel.calls("store", within=loop))
        except Refused as e:
            return str(e)
        if common:
            return f"the loop stores to '{sorted(common)[0]}', which it loads from"
        return None

    def edit(self, kernel, site, args, out):
        name = kernel.fresh("LOOP_STAGES")
        call = site.node.iter
        if kernel.span(site.node)[0] == "plain":
            out.replace(call.func, sorted(kernel.tl)[0] + ".range")
        last = max(kernel.source.end(a) for a in call.args)
        out.insert(last, f", num_stages={name}")
        add_parameters(kernel, out, f"{name}: {const(kernel)} = 1")
        set_constexpr(kernel, out, name, name)
        set_parameter(out, name, [1, 2, 3, 4], args["default"],
                      "steps that loads run ahead")


RULE = LoopStages()
