"""cache_hints.py: which data a cache should keep, and which pass through."""
from .rule import Refusal, Rule, Site, need_launch, set_keyword

HINTS = ("eviction_policy", "cache_modifier", "volatile")


class CacheHints(Rule):
    name = "cache_hints"
    about = ("loads that every program repeats, or that a program repeats, ask the "
             "cache to keep them; data that is used once asks to go first")
    symptoms = ["dram", "waste", "mostly_dram", "wait_memory"]
    holds = ["no hint stands there already", "results cannot change"]
    args = {"keep": {"values": [True, False], "default": True,
                     "about": "whether data that is read again asks to stay"}}
    gain = 1.03
    deltas = [("l2_hit", 1.0, 1.3), ("waste", 0.7, 1.0), ("time", 0.85, 1.03)]

    def sites(self, kernel):
        need_launch(kernel)
        loads, stores = kernel.calls("load"), kernel.calls("store")
        plan = []
        for call in loads + stores:
            policy = self.policy(kernel, call, loads)
            if policy.startswith("evict"):
                plan.append((call, policy))
            else:
                yield Refusal(call, policy)
        if plan:
            last = sum(p == "evict_last" for _, p in plan)
            yield Site(kernel.statement(plan[0][0]),
                       f"{len(plan) - last} accesses are the last of their data, "
                       f"{last} are not", {}, (), plan)

    def policy(self, kernel, call, loads):
        """A policy, or why there is none."""
        if any(k.arg in HINTS for k in call.keywords):
            return "it has a hint already"
        used = kernel.depends(call.args[0])
        base = kernel.base(call.args[0])
        if base is None:
            return "it is not known where it points to"
        if kernel.call(call) == "store":
            again = any(kernel.base(c.args[0]) == base for c in loads)
            return "what is stored is read again" if again else "evict_first"
        axes = {f"@pid{a}" for launch in kernel.launches
                for a, size in enumerate(launch.grid) if size != "1"}
        later = [c for c in loads if c is not call and kernel.base(c.args[0]) == base
                 and c.lineno > call.lineno]
        if later or not used & axes:
            return "evict_last"
        if axes <= used:
            return "evict_first"
        other = ", ".join(a.removeprefix("@pid") for a in sorted(axes - used))
        return (f"programs along axis {other} of the grid read it, too, in an order "
                "that nobody knows")

    def edit(self, kernel, site, args, out):
        for call, policy in site.data:
            if policy == "evict_first" or args["keep"]:
                set_keyword(kernel, out, call, f'eviction_policy="{policy}"')


RULE = CacheHints()
