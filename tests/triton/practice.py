"""practice.py: the kernels of a folder as the helper wants them told."""
import json
import os
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
