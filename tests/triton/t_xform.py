"""t_xform.py [--accept]: the helper that changes sources in Triton. TAP.

Every transformation on two practice kernels against tests/triton/golden, and two
look-alikes that it refuses; what edits leave alone; requests that are wrong.
--accept writes the golden files anew.
"""
import difflib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402
import practice  # noqa: E402

GOLDEN = os.path.join(HERE, "golden")
ACCEPT = "--accept" in sys.argv
count = bad = 0


def ok(what, good, why=""):
    global count, bad
    count += 1
    bad += not good
    print(f"{'ok' if good else 'not ok'} {count} - {what}" + (f": {why}" if not good else ""))


def spliced(source, edits):
    """The source with the edits made, as any other program would make them."""
    raw, shift = bytearray(source.encode()), 0
    for e in edits:
        at = e["offset"] + shift
        raw[at : at + e["length"]] = e["text"].encode()
        shift += len(e["text"].encode()) - e["length"]
    return raw.decode()


def comments(text):
    return sorted(n.strip() for n in text.split("\n") if n.strip().startswith("#"))


def asked(helper, rule, source, facts):
    found = helper.ask(command="find", source=source, facts=facts, only=[rule])
    return found.get("sites", []), found.get("refusals", []), found.get("error")


def applies(helper, rule, kernel, which):
    source, facts = practice.load(kernel)
    sites, _, error = asked(helper, rule, source, facts)
    what = f"{rule} on {kernel}"
    if len(sites) <= which:
        ok(what, False, error or "no site")
        return
    site = sites[which]
    got = helper.ask(command="apply", source=source, facts=facts, site=site)
    ok(f"{what} applies", "error" not in got, got.get("error"))
    if "error" in got:
        return
    ok(f"{what}: edits are the text", spliced(source, got["edits"]) == got["source"])
    kept = set(comments(source)) <= set(comments(got["source"]))
    ok(f"{what}: comments stay", kept)
    golden(what, f"{rule}-{kernel}" + (f"-{which}" if which else ""), source, got)
    again = asked(helper, rule, got["source"],
                  {**facts, **practice.changed(facts, got["changes"])})
    ok(f"{what}: the result can be read again", again[2] is None, again[2])


def golden(what, name, source, got):
    lines = list(difflib.unified_diff(
        source.splitlines(), got["source"].splitlines(), "before", "after", lineterm=""))
    lines += [f"{c['path']} <- {c['yaml']}" for c in got["changes"]]
    text = "\n".join([f"# {got['words']}", *lines]) + "\n"
    path = os.path.join(GOLDEN, name + ".diff")
    if ACCEPT:
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    have = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    diff = "\n# ".join(difflib.unified_diff(have.split("\n"), text.split("\n"), n=0))
    ok(f"{what}: the expected text", have == text, diff)


def refuses(helper, rule, kernel, edits, changes, words):
    source, facts = practice.load(kernel)
    for old, new in edits:
        if old not in source:
            ok(f"{rule} refuses {kernel}", False, f"no '{old}' in it")
            return
        source = source.replace(old, new)
    facts = practice.changed(facts, [{"path": p, "yaml": y} for p, y in changes])
    sites, refusals, error = asked(helper, rule, source, facts)
    said = [r["why"] for r in refusals if words in r["why"]]
    where = {r["line"] for r in refusals if words in r["why"]}
    where &= {s["line"] for s in sites}
    whole = rule in ("divisible_args", "constant_axis")  # one place for all arguments
    ok(f"{rule} refuses {kernel}, where {words}", said and (whole or not where),
       error or f"{[r['why'] for r in refusals]}, sites {[s['line'] for s in sites]}")


def declared(helper):
    rules = helper.ask(command="list")["rules"]
    with open(os.path.join(practice.ROOT, "src/profile/rules.c"), encoding="utf-8") as f:
        symptoms = f.read()
    with open(os.path.join(practice.ROOT, "src/profile/profile.h"), encoding="utf-8") as f:
        facts = f.read()
    ok("every transformation has its cases",
       {r["name"] for r in rules} == set(cases.APPLIES) == set(cases.REFUSES))
    for r in rules:
        unknown = [s for s in r["symptoms"] if f'{{"{s}",' not in symptoms]
        ok(f"{r['name']}: symptoms are ids of the diagnosis", not unknown, str(unknown))
        unknown = [d["fact"] for d in r["deltas"] if f'"{d["fact"]}"' not in facts]
        ok(f"{r['name']}: deltas are of facts", not unknown and r["deltas"], str(unknown))
        ok(f"{r['name']}: says what and when", r["about"] and r["holds"])
        fastest = 1 / min(d["low"] for d in r["deltas"] if d["fact"] == "time")
        ok(f"{r['name']}: a gain that its time allows", 1 < r["gain"] <= fastest)
        ranges = [d for d in r["deltas"] if not 0 <= d["low"] <= d["high"]]
        ok(f"{r['name']}: factors are a range", not ranges, str(ranges))
        for name, a in r["args"].items():
            ok(f"{r['name']}: the default of {name}", a["default"] in a["values"])
        ok(f"{r['name']}: two refusals", len(cases.REFUSES[r["name"]]) >= 2)
        known = {"shapes", "values", "sanitizer", "state"}
        ok(f"{r['name']}: gates", set(r["gates"]) <= known, str(r["gates"]))


def documented(helper):
    """The page names every transformation, and its example is the file."""
    with open(os.path.join(practice.ROOT, "docs/triton-changes.md"), encoding="utf-8") as f:
        page = f.read()
    for r in helper.ask(command="list")["rules"]:
        ok(f"{r['name']} is described", f"`{r['name']}`" in page)
    example = page.split("```python\n")[1].split("```")[0]
    file = os.path.join(practice.ROOT, "ops/python/xform_triton/reciprocal.py")
    with open(file, encoding="utf-8") as f:
        ok("the page's example is the file", f.read() == example)


def bytes_count(helper):
    """Characters of more than a byte, other ends of lines, a file without an end."""
    source, facts = practice.load("row_sum")
    odd = source.replace("    row = tl.program_id(0)",
                         '    row = tl.program_id(0)  # Zeile, größer als "№"\n    # größer')
    for name, text in (("utf-8", odd), ("crlf", odd.replace("\n", "\r\n")),
                       ("no end", odd.rstrip("\n"))):
        for rule in ("even_mask", "late_reduce", "loop_stages", "cache_hints", "split_k"):
            sites = asked(helper, rule, text, facts)[0]
            got = helper.ask(command="apply", source=text, facts=facts, site=sites[0])
            good = "error" not in got and spliced(text, got["edits"]) == got["source"]
            ok(f"{name}: {rule}", good and "größer" in got["source"], got.get("error"))


def doubling(helper):
    """Values that are used twice, sixty times over: an answer that is not kept
    would take 2^60 steps."""
    source, facts = practice.load("gelu")
    chain = "".join(f"    {v}{i} = {v}{i - 1} * {v}{i - 1} + {v}{i - 1}\n"
                    for v in "xk" for i in range(1, 60))
    source = source.replace("    y = ", "    x0 = x\n    k0 = n\n" + chain + "    y = ")
    source += ("    for q in range(k59):\n"
               "        tl.store(y_ptr + k59, tl.sum(x59, axis=0) / x59, mask=k59 < n)\n")
    got = helper.ask(command="find", source=source, facts=facts)
    ok("a chain that doubles", "sites" in got, got.get("error"))


def wrong(helper):
    source, facts = practice.load("softmax")
    site = asked(helper, "loop_stages", source, facts)[0][0]
    dot = practice.load("gemm_relu")
    dot_site = asked(helper, "dot_precision", *dot)[0][0]
    for what, request, words in (
        ("no command", {}, "there is no command"),
        ("no source", {"command": "find"}, "no source"),
        ("no Python", {"command": "find", "source": "def f(:", "facts": facts}, "line 1"),
        ("a null byte", {"command": "find", "source": "a\0", "facts": facts}, "source"),
        ("no such function", {"command": "find", "source": source, "kernel": "soft"},
         "no function 'soft'"),
        ("a launch of nothing", {"command": "find", "source": "x = 1", "facts": facts},
         "a launch names 'softmax'"),
        ("facts of another kind", {"command": "find", "source": source, "facts": {
            "launches": 1}}, "'launches' of the facts is no list"),
        ("no transformation", {"command": "apply", "source": source, "facts": facts,
                               "site": {**site, "rule": "magic"}}, "no transformation"),
        ("a site elsewhere", {"command": "apply", "source": source, "facts": facts,
                              "site": {**site, "line": 1}}, "no such place"),
        ("an argument", {"command": "apply", "source": source, "facts": facts,
                         "site": site, "args": {"depth": 2}}, "no argument 'depth'"),
        ("a value", {"command": "apply", "source": source, "facts": facts,
                     "site": site, "args": {"default": 99}}, "is one of"),
        ("rounding", {"command": "apply", "source": dot[0],
                      "facts": {**dot[1], "rounding": False}, "site": dot_site},
         "changes rounding"),
        ("deep nesting", {"command": "find", "facts": facts,
                          "source": "x = " + "(" * 5000 + ")" * 5000}, ""),
    ):
        got = helper.ask(**request)
        ok(f"{what} is told", words in got.get("error", ""), str(got)[:200])
    got = helper.line("{")
    ok("no JSON is told", "no JSON" in got.get("error", ""), str(got))
    got = helper.line("[1]")
    ok("no map is told", "no map" in got.get("error", ""), str(got))
    ok("the helper goes on", "rules" in helper.ask(command="list"))


def main():
    helper = practice.Helper()
    declared(helper)
    for rule, kernels in cases.APPLIES.items():
        for i, kernel in enumerate(kernels):
            applies(helper, rule, kernel, i if kernels[0] == kernels[1] else 0)
    for rule, kinds in cases.REFUSES.items():
        for case in kinds:
            refuses(helper, rule, *case)
    documented(helper)
    doubling(helper)
    bytes_count(helper)
    wrong(helper)
    ok("it ends with its input", helper.close() == 0)
    print(f"1..{count}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
