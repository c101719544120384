"""model.py: what is known of one Triton kernel: its code beside its launches.

The code is read, never run. A name that is assigned once stands for its value;
whole-number expressions become sums of products of atoms, in which an index is
recognised whatever names it went through. An atom is a text: a parameter, '@pid0'
(a program's place in the grid), 'arange@line:column' or 'loop@line' (a loop's
variable). Shapes that broadcasting adds (x[:, None]) do not matter there.

The kernel file's words for a parameter come from the launches; where launches of
one function differ in what is asked, the answer is None: not known.
"""
import ast
import hashlib
import re

REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "reduce", "xor_sum")
VIEWS = ("expand_dims", "broadcast_to", "reshape", "view", "ravel", "cast",
         "multiple_of", "max_contiguous", "max_constancy", "trans")


def squeeze(text):
    return re.sub(r"\s+", "", str(text))


def same_text(a, b):
    """Whether two expressions of the kernel file read the same."""
    try:
        return ast.dump(ast.parse(str(a), mode="eval")) == ast.dump(
            ast.parse(str(b), mode="eval"))
    except SyntaxError:
        return squeeze(a) == squeeze(b)


def as_list(value):
    return value if isinstance(value, list) else [value]


class Launch:
    """A launch of the kernel file: texts of the function's parameters."""

    def __init__(self, index, tree, params, facts):
        self.index, self.tree, self.facts = index, tree, facts
        consts = tree.get("constexprs", {})
        if isinstance(consts, list):
            consts = {str(name): str(name) for name in consts}
        self.constexprs = {k: v for k, v in consts.items()}
        self.grid = [str(g) for g in as_list(tree.get("grid", 1))]
        self.args = as_list(tree.get("args", []))
        names = [n for n, const in params if not const and n not in self.constexprs]
        self.fits = len(names) == len(self.args)
        self.arg = dict(zip(names, range(len(self.args))))

    def grid_of(self, axis):
        return self.grid[axis] if axis < len(self.grid) else "1"

    def text(self, name):
        """The kernel file's words for a number, or None."""
        if name in self.constexprs:
            return str(self.constexprs[name])
        if name not in self.arg:
            return None
        arg = self.args[self.arg[name]]
        if isinstance(arg, dict):
            for kind, value in arg.items():
                if kind != "divisible" and (kind.startswith("int") or kind == "uint8"):
                    return str(value)
        return None

    def tensor(self, name):
        """(role, facts) of the op's tensor that a parameter is, or None."""
        if name not in self.arg:
            return None
        arg = self.args[self.arg[name]]
        for role in ("inputs", "inouts", "outputs"):
            if isinstance(arg, str) and arg in self.facts.get(role, {}):
                return role, dict(self.facts[role][arg], name=arg)
        return None


def kept(method):
    """Of an expression asked for again the answer is kept: values that are used
    twice in a chain of assignments would be looked at a power of two times."""

    def ask(self, node, *more):
        key = (method.__name__, node)
        if key not in self.memo:
            self.memo[key] = method(self, node, *more)
        return self.memo[key]

    return ask


class Kernel:
    def __init__(self, source, fn, facts):
        self.source, self.fn, self.facts = source, fn, facts
        self.name, self.memo = fn.name, {}
        self.tl = language_names(source.tree)
        self.read_params()
        self.parent = {}
        for node in ast.walk(fn):
            for child in ast.iter_child_nodes(node):
                self.parent[child] = node
        self.nodes = [n for s in fn.body for n in ast.walk(s)]
        self.read_names()
        self.launches = [
            Launch(i, tree, [(n, c) for n, c, _ in self.params], facts)
            for i, tree in enumerate(facts.get("launches", []))
            if tree.get("entry") == fn.name
        ]

    # ---- names ----------------------------------------------------------

    def read_params(self):
        args = self.fn.args
        plain = args.posonlyargs + args.args
        defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
        self.params = [
            (a.arg, is_constexpr(a.annotation, self.tl), d)
            for a, d in zip(plain, defaults)
        ]
        self.constexpr = {n for n, const, _ in self.params if const}
        self.runtime = {n for n, const, _ in self.params if not const}

    def read_names(self):
        self.assigned, self.index = {}, {}
        for node in self.nodes:
            targets = []
            if isinstance(node, ast.Assign):
                targets = node.targets
            elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For)):
                targets = [node.target]
            elif isinstance(node, ast.NamedExpr):
                targets = [node.target]
            for t in targets:
                for name in ast.walk(t):
                    if isinstance(name, ast.Name):
                        self.assigned.setdefault(name.id, []).append(node)
        self.uses = {}
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.uses.setdefault(node.id, []).append(node)

    def names_of_module(self):
        nodes = list(ast.walk(self.source.tree))
        return ({n.id for n in nodes if isinstance(n, ast.Name)}
                | {n.arg for n in nodes if isinstance(n, ast.arg)}
                | {n.name for n in nodes
                   if isinstance(n, (ast.FunctionDef, ast.ClassDef))})

    def fresh(self, *names):
        """The first of the names, or one like it, that means nothing yet."""
        taken = self.names_of_module() | set(self.facts.get("parameters", {}))
        for kind in ("axes", "constants", "inputs", "outputs", "inouts", "scratch"):
            taken |= set(self.facts.get(kind, {}) or {})
        for name in names:
            if name not in taken:
                return name
        n = 2
        while f"{names[0]}{n}" in taken:
            n += 1
        return f"{names[0]}{n}"

    def definition(self, node):
        """The statement that gave a name the value it has where `node` stands;
        None: a parameter, or more than one may have."""
        made = self.assigned.get(node.id, [])
        if node not in self.parent:  # asked without a place
            return made[0] if len(made) == 1 else None
        inside = [self.ancestors(m) for m in made]
        s = self.statement(node)
        while True:
            block = self.siblings(s)
            for p in reversed(block[: block.index(s)] if s in block else []):
                if p in made and not isinstance(p, ast.For):
                    return p
                if any(p in up for up in inside):
                    return None
            up = self.parent.get(s)
            if up is None or up is self.fn:
                return None
            if isinstance(up, (ast.For, ast.While)) and s in up.body:
                if isinstance(up, ast.For) and up in made:
                    return up
                if any(up in u for u in inside):
                    return None
            s = up

    def ancestors(self, node):
        """The node and all that it stands in."""
        found = {node}
        while node in self.parent:
            node = self.parent[node]
            found.add(node)
        return found

    def value(self, name):
        """What a name was given, where one plain assignment says so, or None.
        `name` is a use of it, or a text where one assignment is all."""
        node = ast.Name(name) if isinstance(name, str) else name
        made = self.definition(node)
        if isinstance(made, ast.AnnAssign):
            return made.value
        if not isinstance(made, ast.Assign) or len(made.targets) != 1:
            return None
        target = made.targets[0]
        if isinstance(target, ast.Name):
            return made.value
        if isinstance(target, ast.Tuple) and isinstance(made.value, ast.Tuple):
            if len(target.elts) == len(made.value.elts):
                for t, v in zip(target.elts, made.value.elts):
                    if isinstance(t, ast.Name) and t.id == node.id:
                        return v
        return None

    def resolve(self, node):
        """Follows names that are assigned once."""
        for _ in range(32):
            if not isinstance(node, ast.Name):
                return node
            value = self.value(node)
            if value is None:
                return node
            node = value
        return node

    # ---- calls and places ------------------------------------------------

    def call(self, node, *names):
        """The name of a call tl.NAME(...) among the names (any, if none)."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            base = node.func.value
            if isinstance(base, ast.Name) and base.id in self.tl:
                if not names or node.func.attr in names:
                    return node.func.attr
        return None

    def calls(self, *names, within=None):
        nodes = self.nodes if within is None else ast.walk(within)
        found = [n for n in nodes if self.call(n, *names)]
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))

    def argument(self, call, position, name):
        for k in call.keywords:
            if k.arg == name:
                return k.value
        if position is not None and position < len(call.args):
            if not any(isinstance(a, ast.Starred) for a in call.args):
                return call.args[position]
        return None

    def mask(self, call):
        return self.argument(call, 1 if self.call(call) == "load" else 2, "mask")

    def statement(self, node):
        while not isinstance(node, ast.stmt):
            node = self.parent[node]
        return node

    def loops(self, node):
        """The for loops around a node, the innermost first."""
        found = []
        while node is not self.fn:
            up = self.parent[node]
            if isinstance(up, ast.For) and node in up.body:
                found.append(up)
            node = up
        return found

    def siblings(self, statement):
        """The list of statements that a statement stands in."""
        up = self.parent[statement]
        for field in ("body", "orelse", "finalbody"):
            if statement in (getattr(up, field, None) or []):
                return getattr(up, field)
        return []

    def all_loops(self):
        found = [n for n in self.nodes if isinstance(n, ast.For)]
        return sorted(found, key=lambda n: n.lineno)

    def span(self, loop):
        """(kind, start, stop, step) of a loop over a range, or None."""
        it = loop.iter
        if not isinstance(loop.target, ast.Name) or loop.orelse:
            return None
        kind = self.call(it, "range", "static_range")
        if not kind:
            if isinstance(it, ast.Call) and isinstance(it.func, ast.Name) and (
                    it.func.id == "range"):
                kind = "plain"
            else:
                return None
        zero, one = ast.Constant(0), ast.Constant(1)
        args = it.args
        if len(args) == 1:
            return kind, zero, args[0], one
        if len(args) == 2:
            return kind, args[0], args[1], one
        return (kind, *args) if len(args) == 3 else None

    # ---- whole numbers -----------------------------------------------------

    @kept
    def linear(self, node, depth=0):
        """A sum of products: {(atoms, sorted): factor}."""
        node = self.resolve(node)
        if depth > 40:
            return {(f"expr@{node.lineno}:{node.col_offset}",): 1}
        again = lambda n: self.linear(n, depth + 1)
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return {(): node.value} if node.value else {}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return add({}, again(node.operand), -1)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Add):
                return add(again(node.left), again(node.right))
            if isinstance(node.op, ast.Sub):
                return add(again(node.left), again(node.right), -1)
            left, right = again(node.left), again(node.right)
            if isinstance(node.op, ast.Mult) and len(left) * len(right) <= 64:
                return times(left, right)
        if isinstance(node, ast.Subscript):
            return again(node.value)
        if self.call(node, *VIEWS) and node.args:
            return again(node.args[0])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "to" and not self.call(node):
                return again(node.func.value)
        return {(self.atom(node),): 1}

    def atom(self, node):
        if isinstance(node, ast.Name):
            made = self.definition(node)
            if isinstance(made, ast.For):
                return f"loop@{made.lineno}"
            lost = made is None and node in self.parent and node.id in self.assigned
            return f"{node.id}?" if lost else node.id
        if self.call(node, "program_id"):
            axis = self.argument(node, 0, "axis")
            if isinstance(axis, ast.Constant):
                return f"@pid{axis.value}"
        if self.call(node, "arange"):
            return f"arange@{node.lineno}:{node.col_offset}"
        return "expr:" + self.canonical(node)

    @kept
    def canonical(self, node, depth=0):
        """A text that is the same for expressions of the same value."""
        node = self.resolve(node) if depth < 40 else node
        if isinstance(node, ast.Name):
            return self.atom(node)
        if isinstance(node, ast.Constant):
            return repr(node.value)
        parts = [self.canonical(c, depth + 1) for c in ast.iter_child_nodes(node)
                 if isinstance(c, (ast.expr, ast.keyword, ast.slice))]
        kind = type(node).__name__
        for field in ("op", "attr", "arg"):
            of = getattr(node, field, None)
            if of is not None:
                kind += ":" + (of if isinstance(of, str) else type(of).__name__)
        if isinstance(node, ast.Compare):
            kind += ":" + ",".join(type(o).__name__ for o in node.ops)
        text = f"{kind}({','.join(parts)})"
        if len(text) > 200:  # it would double with every use
            text = hashlib.sha256(text.encode()).hexdigest()
        return text

    def find_atom(self, atom):
        """The call or loop that an atom 'arange@...' or 'loop@...' names."""
        place = atom.partition("@")[2]
        for node in self.nodes:
            if atom.startswith("arange") and self.call(node, "arange"):
                if place == f"{node.lineno}:{node.col_offset}":
                    return node
            if atom.startswith("loop") and isinstance(node, ast.For):
                if place == str(node.lineno):
                    return node
        return None

    # ---- words of the kernel file --------------------------------------------

    def words(self, node):
        """An expression over axes and parameters, as each launch has it."""
        said = {self.words_in(node, launch) for launch in self.launches}
        return said.pop() if len(said) == 1 else None

    def words_in(self, node, launch, depth=0):
        node = self.resolve(node)
        again = lambda n: self.words_in(n, launch, depth + 1) if depth < 8 else None
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return str(node.value)
        if isinstance(node, ast.Name):
            return None if node.id in self.assigned else launch.text(node.id)
        if isinstance(node, ast.BinOp):
            op = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//",
                  ast.Mod: "%"}.get(type(node.op))
            left, right = again(node.left), again(node.right)
            if op and left and right:
                return f"{wrap(left)} {op} {wrap(right)}"
        name = self.call(node, "cdiv", "minimum", "maximum", "num_programs")
        if name == "num_programs" and isinstance(node.args[0], ast.Constant):
            return launch.grid_of(node.args[0].value)
        if name in ("cdiv", "minimum", "maximum") and len(node.args) == 2:
            a, b = again(node.args[0]), again(node.args[1])
            f = {"cdiv": "ceil_div", "minimum": "min", "maximum": "max"}[name]
            return f"{f}({a}, {b})" if a and b else None
        return None

    def tiles(self, node):
        """How many values an index has (0 to that, less one), in words."""
        said = {self.tiles_in(node, launch) for launch in self.launches}
        return said.pop() if len(said) == 1 else None

    def tiles_in(self, node, launch):
        if isinstance(node, ast.Name):
            made = self.assigned.get(node.id, [])
            last = made[-1] if made else None
            if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Tuple):
                part = [t.id for t in last.targets[0].elts if isinstance(t, ast.Name)]
                if self.call(last.value, "swizzle2d") and node.id in part[:2]:
                    n = last.value.args[2 + part.index(node.id)]
                    return self.words_in(n, launch)
            if isinstance(last, ast.For) and len(made) == 1 and self.span(last):
                kind, start, stop, step = self.span(last)
                return self.words_in(stop, launch)
        node = self.resolve(node)
        if self.call(node, "program_id") and self.axis(node) is not None:
            return launch.grid_of(self.axis(node))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return self.words_in(node.right, launch)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            whole = self.tiles_in(node.left, launch)
            part = self.words_in(node.right, launch)
            return quotient(whole, part)
        return None

    def carries(self, loop, name):
        """Whether a step of a loop may read what an earlier one, or what was
        before, left in a name."""
        for use in self.uses.get(name, []):
            if loop not in self.ancestors(use) or use in ast.walk(loop.iter):
                continue
            made = self.definition(use)
            if made is None or loop not in self.ancestors(made):
                return True
        for made in self.assigned.get(name, []):
            if isinstance(made, ast.AugAssign) and loop in self.ancestors(made):
                place = self.definition_before(made, name)
                if place is None or loop not in self.ancestors(place):
                    return True
        return False

    def definition_before(self, statement, name):
        """What gave a name its value before a statement that changes it."""
        probe = ast.Name(name)
        self.parent[probe] = statement
        found = self.definition(probe)
        del self.parent[probe]
        return found

    @kept
    def kind(self, node, depth=0):
        """What a value is made of: 'float' (32 bits or fewer), 'double', 'int',
        or None if not known."""
        if depth > 60:
            return None
        again = lambda n: self.kind(n, depth + 1)
        if isinstance(node, ast.Constant):
            return {float: "float", int: "int", bool: "int"}.get(type(node.value))
        if isinstance(node, ast.Name) and node.id not in self.assigned:
            return self.kind_of_parameter(node.id)
        if isinstance(node, ast.Name):
            values = self.values_of(node)
            found = {again(v) for v in values}
            return found.pop() if len(found) == 1 else None
        if isinstance(node, (ast.BinOp, ast.IfExp)):
            sides = ([node.left, node.right] if isinstance(node, ast.BinOp)
                     else [node.body, node.orelse])
            return wider([again(n) for n in sides])
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            return "int"
        if isinstance(node, (ast.UnaryOp, ast.Subscript)):
            return again(node.operand if isinstance(node, ast.UnaryOp) else node.value)
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to" and (
                not self.call(node) and node.args):
            return self.kind_of_type(node.args[0])
        if isinstance(node.func, ast.Name):
            return "float" if node.func.id == "float" else None
        name = self.call(node)
        if name == "load":
            return self.kind_of_tensor(self.base(node.args[0]))
        if name in ("zeros", "full"):
            n = 1 if name == "zeros" else 2
            return self.kind_of_type(self.argument(node, n, "dtype"))
        if name in ("arange", "program_id", "cdiv", "argmax", "argmin"):
            return "int"
        if name == "dot":
            return "float"
        if name == "where":
            return wider([again(n) for n in node.args[1:3]])
        if name in ("maximum", "minimum", "fma"):
            return wider([again(n) for n in node.args])
        return again(node.args[0]) if name and node.args else None

    def kind_of_parameter(self, name):
        """Of a number that launches pass; 'int' for a constant."""
        if name in self.constexpr:
            return "int"
        found = set()
        for launch in self.launches:
            arg = launch.args[launch.arg[name]] if name in launch.arg else None
            types = [k for k in arg if k != "divisible"] if isinstance(arg, dict) else []
            found |= {kind_of_dtype(t) for t in types}
        return found.pop() if len(found) == 1 else None

    def values_of(self, node):
        """What a name may have been given, whatever way was taken."""
        one = self.definition(node)
        if one is not None and self.value(node) is not None:
            return [self.value(node)]
        found = []
        for m in self.assigned.get(node.id, []) if one is None else [one]:
            if isinstance(m, ast.For) or getattr(m, "value", None) is None:
                return [ast.Constant(0)] if isinstance(m, ast.For) else []
            if not (isinstance(m, ast.AugAssign) or mentions(m.value, node.id)):
                found.append(m.value)
        return found

    def kind_of_type(self, node):
        name = node.attr if isinstance(node, ast.Attribute) else ""
        return kind_of_dtype(name)

    def dtypes(self, name):
        """The element types of the tensor that a parameter is; float64 in a type
        axis that begins with another is there for references."""
        found = set()
        for launch in self.launches:
            tensor = launch.tensor(name) if name else None
            if tensor is None:
                return set()
            dtype = tensor[1].get("dtype")
            axis = (self.facts.get("axes") or {}).get(dtype)
            types = axis.get("types", []) if isinstance(axis, dict) else [dtype]
            found |= {t for t in types if t == types[0] or t != "float64"}
        return found

    def kind_of_tensor(self, name):
        found = {kind_of_dtype(t) for t in self.dtypes(name)}
        return found.pop() if len(found) == 1 else None

    def axis(self, call):
        axis = self.argument(call, 0, "axis")
        return axis.value if isinstance(axis, ast.Constant) else None

    # ---- what depends on what -----------------------------------------------

    def depends(self, node, seen=None):
        """Names, '@pidN' and 'loop@L' that a value comes from, through all
        assignments; a name assigned in a loop comes from the loop, too."""
        seen = set() if seen is None else seen
        found = set()
        for part in ast.walk(node):
            if self.call(part, "program_id"):
                found.add(f"@pid{self.axis(part)}")
            if not isinstance(part, ast.Name):
                continue
            found.add(part.id)
            one = self.definition(part)
            for made in [one] if one is not None else self.assigned.get(part.id, []):
                if made in seen:
                    continue
                seen.add(made)
                if isinstance(made, ast.For):
                    found.add(f"loop@{made.lineno}")
                    found |= self.depends(made.iter, seen)
                    continue
                if made.value is not None:
                    found |= self.depends(made.value, seen)
                if isinstance(made, ast.AugAssign):
                    found |= self.depends(made.target, seen)
                    found |= {f"loop@{f.lineno}" for f in self.loops(made)[:1]}
        return found

    def roots(self, node):
        """The pointer parameters that an address may come from."""
        return {n for n in self.depends(node) if n in self.runtime
                and any(launch.text(n) is None for launch in self.launches)}

    def base(self, node):
        """The one parameter that an address is built on by + and -, or None."""
        node = self.resolve(node)
        if isinstance(node, ast.Name):
            if node.id in self.runtime:
                return node.id
            made = self.assigned.get(node.id, [])
            first = made[0] if made else None
            if isinstance(first, ast.Assign) and len(first.targets) == 1 and all(
                    isinstance(m, ast.AugAssign) for m in made[1:]):
                return self.base(first.value)
            return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self.base(node.left) or (
                self.base(node.right) if isinstance(node.op, ast.Add) else None)
        if isinstance(node, ast.Subscript):
            return self.base(node.value)
        if self.call(node, *VIEWS) and node.args:
            return self.base(node.args[0])
        return None

    # ---- shapes ----------------------------------------------------------------

    @kept
    def shape(self, node, depth=0):
        """The lengths of a block, as texts of the source; () of a number; None
        if not known."""
        if depth > 60:
            return None
        again = lambda n: self.shape(n, depth + 1)
        if isinstance(node, ast.Name):
            if node.id in self.runtime | self.constexpr:
                return ()
            one = self.definition(node)
            made = self.assigned.get(node.id, []) if one is None else [one]
            if not made:
                return None
            if isinstance(made[0], ast.For):
                return ()
            if isinstance(made[0], ast.AugAssign):
                return broadcast([again(made[0].value), again(made[0].target)])
            if one is not None:
                value = self.value(node)
            else:
                value = first_value(made[0])
            return again(value) if value is not None else None
        if isinstance(node, ast.Constant):
            return ()
        if isinstance(node, ast.Subscript):
            return subscript_shape(again(node.value), node.slice)
        if isinstance(node, (ast.BinOp, ast.Compare, ast.BoolOp)):
            parts = ([node.left, node.right] if isinstance(node, ast.BinOp) else
                     [node.left, *node.comparators] if isinstance(node, ast.Compare)
                     else node.values)
            return broadcast([again(p) for p in parts])
        if isinstance(node, ast.UnaryOp):
            return again(node.operand)
        if not isinstance(node, ast.Call):
            return None
        return self.shape_of_call(node, self.call(node), again)

    def shape_of_call(self, node, name, again):
        if name is None:
            if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
                return again(node.func.value)
            if isinstance(node.func, ast.Name) and node.func.id == "float":
                return ()
            return None
        if name in ("program_id", "num_programs", "cdiv"):
            return ()
        if name == "arange":
            start, end = node.args[0], node.args[1]
            zero = isinstance(start, ast.Constant) and start.value == 0
            return (self.source.of(end),) if zero else None
        if name in ("zeros", "full"):
            dims = self.argument(node, 0, "shape")
            if isinstance(dims, (ast.Tuple, ast.List)):
                return tuple(self.source.of(d) for d in dims.elts)
            return None
        if name in REDUCTIONS:
            return reduce_shape(again(node.args[0]), self.argument(node, 1, "axis"))
        if name == "dot":
            a, b = again(node.args[0]), again(node.args[1])
            return (a[0], b[1]) if a and b and len(a) == len(b) == 2 else None
        if name == "trans" and len(node.args) == 1:
            inner = again(node.args[0])
            return inner[::-1] if inner else inner
        if name in ("load", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs",
                    "sin", "cos", "erf", "sigmoid", "softmax", "cast"):
            return again(node.args[0])
        if name in ("where", "maximum", "minimum", "fma"):
            return broadcast([again(a) for a in node.args])
        return None


def first_value(made):
    """What an assignment gives to its one plain name, or None."""
    if isinstance(made, ast.AnnAssign):
        return made.value
    if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name):
        return made.value
    return None


def language_names(tree):
    """The names that mean triton.language in a module."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.asname for a in node.names
                      if a.name == "triton.language" and a.asname}
        if isinstance(node, ast.ImportFrom) and node.module == "triton":
            found |= {a.asname or a.name for a in node.names if a.name == "language"}
    return found


def is_constexpr(annotation, tl):
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.endswith("constexpr")
    if isinstance(annotation, ast.Name):
        return annotation.id == "constexpr"
    return (isinstance(annotation, ast.Attribute) and annotation.attr == "constexpr"
            and isinstance(annotation.value, ast.Name) and annotation.value.id in tl)


def is_jit(fn):
    for d in fn.decorator_list:
        d = d.func if isinstance(d, ast.Call) else d
        name = d.attr if isinstance(d, ast.Attribute) else getattr(d, "id", "")
        if name == "jit":
            return True
    return False


def mentions(node, name):
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def kind_of_dtype(name):
    if name in ("float16", "bfloat16", "float32"):
        return "float"
    if name == "float64":
        return "double"
    return "int" if re.fullmatch(r"u?int\d+|int1|bool", str(name)) else None


def wider(kinds):
    if None in kinds:
        return None
    return max(kinds, key=("int", "float", "double").index)


def add(a, b, sign=1):
    out = dict(a)
    for k, v in b.items():
        out[k] = out.get(k, 0) + sign * v
    return {k: v for k, v in out.items() if v}


def times(a, b):
    out = {}
    for k, v in a.items():
        for m, w in b.items():
            key = tuple(sorted(k + m))
            out[key] = out.get(key, 0) + v * w
    return {k: v for k, v in out.items() if v}


def wrap(text):
    return text if re.fullmatch(r"\w+|\w+\([^()]*\)", text) else f"({text})"


def factors(text):
    """The factors of a product, as texts."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return [text]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return factors(ast.unparse(node.left)) + factors(ast.unparse(node.right))
    return [ast.unparse(node)]


def quotient(whole, part):
    """whole / part where part is one of the factors of whole, else None."""
    if whole is None or part is None:
        return None
    rest, want = factors(whole), factors(part)
    for w in want:
        if w not in rest:
            return None
        rest.remove(w)
    return " * ".join(wrap(r) for r in rest) if rest else "1"


def subscript_shape(inner, index):
    if inner is None:
        return None
    index = index.elts if isinstance(index, ast.Tuple) else [index]
    out, rest = [], list(inner)
    for i in index:
        if isinstance(i, ast.Constant) and i.value is None:
            out.append("1")
        elif isinstance(i, ast.Slice) and i.lower is i.upper is i.step is None and rest:
            out.append(rest.pop(0))
        else:
            return None
    return tuple(out + rest)


def broadcast(shapes):
    if any(s is None for s in shapes):
        return None
    rank = max(len(s) for s in shapes)
    out = []
    for i in range(rank):
        here = {s[i - rank] for s in shapes if len(s) >= rank - i}
        here.discard("1")
        if len(here) > 1:
            return None
        out.append(here.pop() if here else "1")
    return tuple(out)


def reduce_shape(inner, axis):
    if inner is None or axis is None:
        return () if axis is None and inner is not None else None
    if not isinstance(axis, ast.Constant) or not isinstance(axis.value, int):
        return None
    if not -len(inner) <= axis.value < len(inner):
        return None
    return tuple(s for i, s in enumerate(inner) if i != axis.value % len(inner))
