"""practice.py: the kernels of a folder as the helper wants them told."""
import json
import os
import re
import subprocess
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "practice-triton")
OP = ("axes", "constants", "inputs", "inouts", "outputs", "tolerance")


def load(name):
    """(source, facts) of a practice kernel."""
    at = os.path.join(FOLDER, name)
    with open(os.path.join(at, "op.yaml"), encoding="utf-8") as f:
        op = yaml.safe_load(f)
    with open(os.path.join(at, "kernels", f"{name}.yaml"), encoding="utf-8") as f:
        facts = yaml.safe_load(f)
    with open(os.path.join(at, "kernels", facts["source"]), encoding="utf-8",
              newline="") as f:
        source = f.read()
    return source, {**facts, **{k: op[k] for k in OP if k in op}, "rounding": True}


def names():
    return sorted(n for n in os.listdir(FOLDER)
                  if os.path.exists(os.path.join(FOLDER, n, "op.yaml")))


class Helper:
    """The helper as a process, asked by lines of JSON."""

    def __init__(self, python=sys.executable):
        self.process = subprocess.Popen(
            [python, "-I", os.path.join(ROOT, "ops/python/ws_triton_xform.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def line(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, **request):
        return self.line(json.dumps(request))

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def set_path(tree, path, text):
    """Makes a change in a kernel file's tree: maps and lists are made where they
    are missing, a scalar counts as a list of one."""
    steps = [int(s[1:-1]) if s[1:-1].isdigit() else s
             for s in re.findall(r"\[\d+\]|\[\+\]|[^.\[\]]+", path)]
    steps = ["+" if s == "[+]" else s for s in steps]
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        value = yaml.safe_load(text) if last else None
        if step == "+":
            tree.append(value)
            return
        if isinstance(step, int):
            tree.extend([None] * (step + 1 - len(tree)))
        if last:
            tree[step] = value
            return
        below = tree[step] if isinstance(step, int) else tree.get(step)
        wants_list = isinstance(steps[i + 1], int) or steps[i + 1] == "+"
        if wants_list and not isinstance(below, list):
            below = [] if below is None else [below]
        elif not wants_list and not isinstance(below, dict):
            below = {}
        tree[step] = below
        tree = below


def changed(tree, changes):
    """A kernel file's tree with changes made; the one given stays."""
    tree = json.loads(json.dumps(tree))
    for c in changes:
        set_path(tree, c["path"], c["yaml"])
    return tree
