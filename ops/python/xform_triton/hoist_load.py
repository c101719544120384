"""hoist_load.py: a load that every step of a loop repeats is made once."""
import ast

from .rule import Refusal, Rule, Site


class HoistLoad(Rule):
    name = "hoist_load"
    about = "a load that does not depend on the loop around it moves before the loop"
    symptoms = ["wait_memory", "wait_lg", "waste", "wait_fixed"]
    holds = ["neither address nor mask depends on the loop",
             "the loop does not store, or to other arguments only",
             "the name is assigned nowhere else"]
    unproven = ["where the loop would run no step, the load is made all the same",
                "two arguments of one launch do not overlap"]
    gain = 1.1
    deltas = [("l1_hit", 0.5, 1.0), ("time", 0.7, 1.02)]
    gates = ["shapes"]

    def sites(self, kernel):
        for load in kernel.calls("load"):
            loops = kernel.loops(load)
            statement = kernel.statement(load)
            if not loops or statement not in loops[0].body:
                continue
            if isinstance(statement, ast.Assign) and statement.value is load:
                why = self.why_not(kernel, loops[0], statement, load)
                if why:
                    yield Refusal(statement, why)
                else:
                    yield Site(statement, f"'{kernel.source.of(load)[:60]}' is the "
                               "same in every step", {}, (), loops[0])

    def why_not(self, kernel, loop, statement, load):
        inner = {id(n) for n in ast.walk(loop)}
        inside = [p.id for a in [*load.args, *(k.value for k in load.keywords)]
                  for p in ast.walk(a) if isinstance(p, ast.Name)
                  and any(id(m) in inner for m in kernel.assigned.get(p.id, []))]
        if inside:
            return f"it depends on '{inside[0]}', which the loop changes"
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or len(
                kernel.assigned.get(target.id, [])) != 1:
            return "the name is assigned more than once"
        if not kernel.source.alone(statement) or not kernel.source.alone(loop):
            return "the statement shares its line with another"
        if kernel.source.long_strings(statement.lineno, statement.end_lineno):
            return "the statement has a text of several lines"
        base = kernel.base(load.args[0])
        for store in kernel.calls("store", "atomic_add", "atomic_max", "atomic_min",
                                  "atomic_cas", "atomic_xchg", within=loop):
            if base is None or kernel.base(store.args[0]) in (None, base):
                return "the loop may store where this loads from"
        return None

    def edit(self, kernel, site, args, out):
        source, loop = kernel.source, site.data
        pad, deep = source.indent(loop), source.indent(site.node)
        lines = [source.line_text(n)
                 for n in range(site.node.lineno, site.node.end_lineno + 1)]
        cut = len(deep) - len(pad)
        lines = [line[cut:] if line[:cut].isspace() else line for line in lines]
        out.insert(source.line_start(loop.lineno), "".join(n + "\n" for n in lines))
        if len(loop.body) == 1:
            out.replace(site.node, "pass")
        else:
            out.delete_lines(site.node.lineno, site.node.end_lineno)


RULE = HoistLoad()
