"""make_jobs.py FOLDER [all]: what the transformations make of practice kernels.

Writes FOLDER/jobs.json for run_kernels.py, and a folder for each result that
'wavesmith compile' takes, with every parameter at its default. With `all` every
site of every kernel, else the cases of cases.py; in any case the kernels as they
are, and pairs of transformations, one on top of the other.
"""
import json
import os
import shutil
import sys

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import practice  # noqa: E402

# (kernel, transformations in their order)
CHAINS = (
    ("softmax", ("one_pass_softmax", "constant_axis", "even_mask", "launch_block")),
    ("layernorm", ("one_pass_variance", "divisible_args", "even_mask", "cache_hints")),
    ("gemm", ("launch_shape", "split_k", "even_mask", "group_order")),
    ("gemm", ("persistent_grid", "even_mask", "cache_hints")),
    ("gemm_relu", ("contiguous_hint", "group_order", "dot_precision", "launch_block")),
    ("gemv", ("stream_tile", "split_k", "loop_stages", "even_mask")),
    ("col_sum", ("late_reduce", "split_k", "even_mask", "loop_stages")),
    ("rotary", ("hoist_load", "hoist_load", "rows_a_program", "launch_warps")),
    ("rmsnorm", ("late_reduce", "even_mask", "rows_a_program")),
    ("batched_gemm", ("sum_to_dot", "even_mask", "persistent_grid")),
)
# Ten rows of tiles: more than a group, more than stand-ins for units.
EXTRA = {name: [{"name": "tiles", "M": 600, "N": 330, "K": 40}]
         for name in ("gemm", "gemm_relu")}


def read(name, *path):
    with open(os.path.join(practice.FOLDER, name, *path), encoding="utf-8") as f:
        return yaml.safe_load(f)


class Result:
    def __init__(self, helper, name):
        self.helper, self.kernel, self.steps = helper, name, []
        self.source, facts = practice.load(name)
        self.tree = read(name, "kernels", f"{name}.yaml")
        self.op = {k: facts[k] for k in (*practice.OP, "rounding") if k in facts}

    def facts(self):
        return {**self.op, **self.tree}

    def sites(self, only=None):
        request = {"only": only} if only else {}
        got = self.helper.ask(command="find", source=self.source, facts=self.facts(),
                              **request)
        if "error" in got:
            sys.exit(f"{self.kernel} {self.steps}: {got['error']}")
        return got["sites"]

    def take(self, site):
        got = self.helper.ask(command="apply", source=self.source, facts=self.facts(),
                              site=site)
        if "error" in got:
            sys.exit(f"{self.kernel}: {site['rule']}: {got['error']}")
        self.source = got["source"]
        self.tree = practice.changed(self.tree, got["changes"])
        self.steps.append(f"{site['rule']}@{site['line']}")
        return self

    def write(self, folder, number):
        """A folder for the compiler: parameters are their defaults."""
        at = os.path.join(folder, f"{number:03}-{self.kernel}")
        shutil.copytree(os.path.join(practice.FOLDER, self.kernel), at,
                        ignore=shutil.ignore_patterns("*.triton"))
        tree = json.loads(json.dumps(self.tree))
        for name, p in (tree.get("parameters") or {}).items():
            tree["parameters"][name] = [p[0] if isinstance(p, list)
                                        else p.get("default", p["values"][0])]
        with open(os.path.join(at, "kernels", f"{self.kernel}.yaml"), "w",
                  encoding="utf-8") as f:
            yaml.safe_dump(tree, f, sort_keys=False)
        with open(os.path.join(at, "kernels", tree["source"]), "w",
                  encoding="utf-8") as f:
            f.write(self.source)

    def job(self):
        return {"name": " ".join([self.kernel, *self.steps]), "function": self.kernel,
                "op": read(self.kernel, "op.yaml"),
                "workloads": read(self.kernel, "workloads.yaml")[:2]
                + EXTRA.get(self.kernel, []),
                "sides": [{"source": self.source, "tree": self.tree}]}


def results(helper, everything):
    for name in practice.names():
        yield Result(helper, name)
    for name in practice.names() if everything else ():
        for site in Result(helper, name).sites():
            yield Result(helper, name).take(site)
    for rule, kernels in cases.APPLIES.items() if not everything else ():
        for i, name in enumerate(kernels):
            found = Result(helper, name).sites([rule])
            yield Result(helper, name).take(found[i if kernels[0] == kernels[1] else 0])
    for name, rules in CHAINS:
        result = Result(helper, name)
        for rule in rules:
            found = result.sites([rule])
            if not found:
                sys.exit(f"{name}: {rule} finds no place behind {result.steps}")
            result.take(found[0])
        yield result


def main():
    folder, everything = sys.argv[1], "all" in sys.argv[2:]
    helper, jobs = practice.Helper(), []
    for number, result in enumerate(results(helper, everything)):
        if not everything and number % 3: # a third is a minute
            continue
        result.write(folder, number)
        jobs.append(result.job())
    with open(os.path.join(folder, "jobs.json"), "w", encoding="utf-8") as f:
        json.dump(jobs, f)
    helper.close()


if __name__ == "__main__":
    main()
