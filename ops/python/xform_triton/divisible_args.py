"""divisible_args.py: sizes that 16 divides are said to be so, by shape."""
from .rule import RAGGED, Refusal, Rule, Site, need_launch
from .text import flow


def scalar(arg):
    """(kind, value) of a whole-number argument of a launch, or None."""
    if isinstance(arg, dict):
        for kind, value in arg.items():
            if kind.startswith("int") or kind == "uint8":
                return kind, value
    return None


def where_used(kernel):
    """The runtime parameters that addresses or masks depend on."""
    found = set()
    for call in kernel.calls("load", "store", "atomic_add", "make_block_ptr"):
        for part in [call.args[0] if call.args else None, kernel.mask(call)]:
            if part is not None:
                found |= kernel.depends(part) & kernel.runtime
    return found


class DivisibleArgs(Rule):
    name = "divisible_args"
    about = ("whole numbers in addresses and bounds are compiled as multiples of 16 "
             "where the shape makes them so: accesses become wide")
    symptoms = ["wait_lg", "wait_memory", "uncoalesced_loads", "uncoalesced_stores",
                "mostly_dram"]
    holds = ["the argument is a whole number that an address or a mask depends on",
             "the promise is made for shapes that keep it alone"]
    gain = 1.2
    deltas = [("lg_throttle", 0.25, 1.0), ("time", 0.6, 1.01)]
    gates = RAGGED

    def sites(self, kernel):
        need_launch(kernel)
        used = where_used(kernel)
        made = []
        for launch in kernel.launches:
            for name, at in launch.arg.items():
                arg = launch.args[at]
                self.look(kernel, launch, name, arg, at, used, made)
                yield from self.refuse(kernel, launch, name, arg, used)
        if made:
            said = ", ".join(sorted({str(v) for _, _, _, v in made}))
            yield Site(kernel.fn, f"16 divides {said} for some shapes", {}, (), made)

    def look(self, kernel, launch, name, arg, at, used, made):
        found = scalar(arg)
        if found and name in used and "divisible" not in arg:
            kind, value = found
            if not str(value).isdigit() or int(value) % 16 == 0:
                made.append((launch.index, at, kind, value))

    def refuse(self, kernel, launch, name, arg, used):
        found = scalar(arg)
        node = kernel.fn
        if found and "divisible" in arg:
            yield Refusal(node, f"'{name}' is promised to be divisible already")
        elif found and name not in used:
            yield Refusal(node, f"neither an address nor a mask depends on '{name}'")
        elif found and str(found[1]).isdigit() and int(found[1]) % 16:
            yield Refusal(node, f"'{name}' is {found[1]}, which 16 does not divide")
        tensor = launch.tensor(name)
        if tensor and tensor[1].get("align", 1) % 16:
            yield Refusal(node, f"the op does not align '{tensor[1]['name']}' to 16 "
                                "bytes: nothing can be promised of it")

    def edit(self, kernel, site, args, out):
        for index, at, kind, value in site.data:
            text = str(value)
            if text.isdigit():
                by = 16
            else:
                text = text if text.isidentifier() else f"({text})"
                by = f"16 if {text} % 16 == 0 else 1"
            out.change(f"launches[{index}].args[{at}]",
                       flow({kind: value, "divisible": by}))


RULE = DivisibleArgs()
