"""make_jobs.py OUT [RULE...]: jobs for run_kernels.py: every practice kernel, and
what every site of every transformation (or of those named) makes of it."""
import json
import os
import sys

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import practice  # noqa: E402


def trees(name):
    at = os.path.join(practice.FOLDER, name)
    read = lambda *p: yaml.safe_load(open(os.path.join(at, *p), encoding="utf-8"))
    return read("op.yaml"), read("kernels", f"{name}.yaml"), read("workloads.yaml")


def main():
    out, only = sys.argv[1], sys.argv[2:]
    helper, jobs = practice.Helper(), []
    for name in practice.names():
        source, facts = practice.load(name)
        op, tree, workloads = trees(name)
        common = {"function": name, "op": op, "workloads": workloads}
        jobs.append({"name": name, **common, "sides": [
            {"source": source, "tree": tree}]})
        request = {"only": only} if only else {}
        found = helper.ask(command="find", source=source, facts=facts, **request)
        for site in found["sites"]:
            got = helper.ask(command="apply", source=source, facts=facts, site=site)
            if "error" in got:
                sys.exit(f"{name}: {site['rule']}: {got['error']}")
            jobs.append({
                "name": f"{name} {site['rule']}:{site['line']}", **common,
                "sides": [{"source": got["source"],
                           "tree": practice.changed(tree, got["changes"])}]})
    with open(out, "w", encoding="utf-8") as f:
        json.dump(jobs, f)
    helper.close()


if __name__ == "__main__":
    main()
