"""launch_stages.py: the stages of a launch's pipelines become a parameter."""
from .launch_warps import edit_widened, widen
from .rule import Refusal, Rule, Site


def pipelined(kernel):
    """Loops with loads and products of matrices: what Triton pipelines itself."""
    return [loop for loop in kernel.all_loops()
            if kernel.calls("dot", within=loop) and kernel.calls("load", within=loop)]


class LaunchStages(Rule):
    name = "launch_stages"
    about = "how many steps ahead loops around tl.dot fetch becomes a parameter"
    symptoms = ["wait_memory", "wait_barrier", "wait_tensor", "mostly_tensor",
                "narrow_mma", "few_warps_shared", "no_tensor", "wait_shared"]
    holds = ["the launch has one fixed number of stages",
             "a loop of the kernel loads what tl.dot multiplies"]
    args = {"default": {"values": [0, 1, 2, 3, 4, 5], "default": 0,
                        "about": "what the parameter begins with; 0: what it was"}}
    gain = 1.2
    deltas = [("long_scoreboard", 0.3, 1.0), ("occupancy", 0.5, 1.0),
              ("time", 0.5, 1.0)]

    def sites(self, kernel):
        for launch in kernel.launches:
            found = widen(kernel, launch, "stages", [1, 2, 3, 4, 5], "STAGES",
                          "steps that loads run ahead of tl.dot")
            if isinstance(found, Site) and not pipelined(kernel):
                found = Refusal(kernel.fn, "no loop loads what tl.dot multiplies: "
                                           "stages of the launch change nothing")
            yield found

    def edit(self, kernel, site, args, out):
        edit_widened(kernel, site.data, "stages", out, args["default"])


RULE = LaunchStages()
