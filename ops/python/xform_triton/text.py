"""text.py: a source as bytes, places in it, and edits of it.

Python's ast counts lines and utf-8 columns; everything outside counts bytes. An
edit is (offset, length, new text); edits of one change never overlap, and what
no edit covers stays as it was, comments and blanks too.
"""
import ast


class Refused(Exception):
    """Why a place that looks right must not be changed, or a request is wrong."""


class Source:
    def __init__(self, text):
        self.text = text
        self.raw = text.encode("utf-8")
        self.tree = ast.parse(text)
        self.lines = [0]
        # What ast calls a line ends in \n, \r\n or \r; a form feed ends none.
        at = 0
        while at < len(self.raw):
            if self.raw[at : at + 2] == b"\r\n":
                at += 1
            if self.raw[at : at + 1] in (b"\n", b"\r"):
                self.lines.append(at + 1)
            at += 1

    def at(self, line, column):
        return self.lines[line - 1] + column

    def start(self, node):
        return self.at(node.lineno, node.col_offset)

    def end(self, node):
        return self.at(node.end_lineno, node.end_col_offset)

    def of(self, node):
        return self.raw[self.start(node) : self.end(node)].decode("utf-8")

    def between(self, start, end):
        return self.raw[start:end].decode("utf-8")

    def line_start(self, line):
        return self.lines[line - 1]

    def line_end(self, line):
        """Offset behind the line's end."""
        return self.lines[line] if line < len(self.lines) else len(self.raw)

    def line_text(self, line):
        return self.between(self.line_start(line), self.line_end(line)).rstrip("\r\n")

    def indent(self, node):
        """The blanks before a statement that begins its line, or None."""
        head = self.line_text(node.lineno).encode()[: node.col_offset]
        return head.decode() if not head.strip() else None

    def arguments(self, call):
        """(node, start, end) of a call's arguments in their order, parentheses
        around them included."""
        at = self.raw.index(b"(", self.end(call.func)) + 1
        found = []
        for node in sorted(call.args + call.keywords, key=self.start):
            start, end = self.start(node), self.end(node)
            opened = code_of(self.between(at, start)).count("(")
            for _ in range(opened):
                end = self.raw.index(b")", end) + 1
            if opened:
                start = self.raw.index(b"(", at)
            found.append((node, start, end))
            at = end
        return found

    def alone(self, node):
        """A statement that shares its lines with no other (comments may follow)."""
        if self.indent(node) is None:
            return False
        rest = self.between(self.end(node), self.line_end(node.end_lineno)).strip()
        return not rest or rest.startswith("#")

    def long_strings(self, first, last):
        """Whether a text of several lines lies within these lines."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Constant, ast.JoinedStr)):
                if node.lineno != node.end_lineno:
                    if node.lineno <= last and node.end_lineno >= first:
                        if isinstance(getattr(node, "value", ""), (str, bytes)):
                            return True
        return False


def code_of(text):
    """A text between two arguments without its comments."""
    return "\n".join(line.partition("#")[0] for line in text.split("\n"))


def splice(raw, edits):
    """The bytes with the edits made; raises ValueError where two overlap."""
    out, at = [], 0
    for offset, length, new in sorted(edits, key=lambda e: (e[0], e[1])):
        if offset < at or offset + length > len(raw):
            raise ValueError(f"edits overlap at byte {offset}")
        out += [raw[at:offset], new.encode("utf-8")]
        at = offset + length
    return b"".join(out + [raw[at:]])


class Edits:
    """Collects the edits and changes of one site."""

    def __init__(self, source):
        self.source, self.edits, self.changes = source, [], []

    def replace(self, node, new):
        start = self.source.start(node)
        self.edits.append((start, self.source.end(node) - start, new))

    def cut(self, start, end, new=""):
        self.edits.append((start, end - start, new))

    def insert(self, offset, new):
        """Inserts at one offset are joined in the order of their calls."""
        for i, (at, length, text) in enumerate(self.edits):
            if at == offset and length == 0:
                self.edits[i] = (at, 0, text + new)
                return
        self.edits.append((offset, 0, new))

    def before(self, statement, *lines):
        """Whole lines before a statement, indented as it is."""
        pad = self.source.indent(statement)
        at = self.source.line_start(statement.lineno)
        self.insert(at, "".join(f"{pad}{line}\n" if line else "\n" for line in lines))

    def after(self, statement, *lines):
        pad = self.source.indent(statement)
        at = self.source.line_end(statement.end_lineno)
        new = "".join(f"{pad}{line}\n" if line else "\n" for line in lines)
        if not self.source.raw[:at].endswith((b"\n", b"\r")):
            new = "\n" + new
        self.insert(at, new)

    def delete_lines(self, first, last):
        start = self.source.line_start(first)
        self.edits.append((start, self.source.line_end(last) - start, ""))

    def indent_lines(self, first, last, by="    "):
        for line in range(first, last + 1):
            if self.source.line_text(line).strip():
                self.insert(self.source.line_start(line), by)

    def change(self, path, yaml):
        self.changes.append({"path": path, "yaml": yaml})


def quote(text):
    """A text as a YAML scalar: plain where that reads the same, else quoted."""
    text = str(text)
    plain = all(c.isalnum() or c in "_ +-*/().<>=%" for c in text)
    if plain and text and (text[0].isalnum() or text[0] == "_"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def flow(value):
    """A tree of maps, lists and scalars as YAML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow_item(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_item(v) for v in value) + "]"
    return quote(value)


def flow_item(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (dict, list)):
        return flow(value)
    text = quote(value)
    return text
