"""Files in the formats of flashinfer-bench before its own data models.

    flashinfer_validate.py trace|solution|definition FILE...

Exit code 1 and the finding if one is refused. The package's own __init__
imports torch and more, which the models do not need: it is passed over.
"""
import importlib
import importlib.util
import sys
import types


def models(name):
    root = importlib.util.find_spec("flashinfer_bench").submodule_search_locations
    for package, folder in (("flashinfer_bench", ""), ("flashinfer_bench.data", "/data")):
        module = types.ModuleType(package)
        module.__path__ = [path + folder for path in root]
        sys.modules[package] = module
    return importlib.import_module("flashinfer_bench.data." + name)


def texts(kind, path):
    with open(path, encoding="utf-8") as f:
        if kind != "trace":
            return [f.read()]
        return [line for line in f if line.strip()]


def main():
    kind, files = sys.argv[1], sys.argv[2:]
    model = getattr(models(kind), kind.capitalize())
    n = 0
    for path in files:
        for i, text in enumerate(texts(kind, path), 1):
            try:
                model.model_validate_json(text)
            except ValueError as e:
                sys.exit(f"{path}:{i}: {e}")
            n += 1
    if not n:
        sys.exit("nothing to validate")
    print(f"{n} valid")


main()
