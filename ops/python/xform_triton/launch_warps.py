"""launch_warps.py: the number of warps of a launch becomes a parameter."""
from .rule import Refusal, Rule, Site, parameter_values, set_parameter


def widen(kernel, launch, key, values, name, about):
    """A Site or Refusal for `warps` or `stages` of a launch that is one number."""
    text = str(launch.tree.get(key, ""))
    if text.isdigit():
        return Site(kernel.fn, f"{key} is {text} in launch {launch.index}", {}, (),
                    (launch, name, None, values, int(text), about))
    known = parameter_values(kernel.facts, text)
    if known and len(known[0]) == 1:
        return Site(kernel.fn, f"{key} is '{text}', which is {known[0][0]} alone", {},
                    (), (launch, text, text, values, known[1], about))
    if known:
        return Refusal(kernel.fn, f"{key} is '{text}', a parameter with "
                                  f"{len(known[0])} values already")
    return Refusal(kernel.fn, f"{key} is '{text}', which is computed")


def edit_widened(kernel, data, key, out, begin=0):
    launch, name, old, values, default, about = data
    default = begin or default
    values = sorted(set(values) | {default})
    if old is None:
        name = kernel.fresh(name)
        out.change(f"launches[{launch.index}].{key}", name)
    set_parameter(out, name, values, default, about)


class LaunchWarps(Rule):
    name = "launch_warps"
    about = "the number of warps of a program becomes a parameter"
    symptoms = ["few_warps_blocks", "few_warps_registers", "wait_barrier",
                "wait_memory", "wait_fixed", "spills", "mostly_dram", "waste",
                "small_grid", "wait_shared", "dram"]
    holds = ["the launch has one fixed number of warps"]
    args = {"default": {"values": [0, 1, 2, 4, 8, 16], "default": 0,
                        "about": "what the parameter begins with; 0: what it was"}}
    gain = 1.15
    deltas = [("occupancy", 0.5, 2.0), ("barrier", 0.2, 1.5), ("time", 0.6, 1.0)]

    def sites(self, kernel):
        for launch in kernel.launches:
            yield widen(kernel, launch, "warps", [1, 2, 4, 8, 16], "WARPS",
                        "warps a program")

    def edit(self, kernel, site, args, out):
        edit_widened(kernel, site.data, "warps", out, args["default"])


RULE = LaunchWarps()
