"""Reads Python launchers by their syntax tree: os.environ in its many forms, env dictionaries,
commands given as lists or strings. Nothing is evaluated; what is no literal stays unresolved."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from console.nccl.finding import Severity
from console.nccl.importing.found import NAME, PAIR, Context, Found, Item, Problem, State, restate
from console.nccl.importing.prose import scan
from console.nccl.importing.shell import Script, read_shell
from console.nccl.importing.shell_text import Piece, Word

_SETTERS = frozenset({"setdefault", "putenv", "setenv", "set_env", "add_env", "setitem"})
_REMOVERS = frozenset({"pop", "unsetenv", "delenv", "delitem"})
_RUNNERS = frozenset(
    {"system", "run", "Popen", "call", "check_call", "check_output", "getoutput", "popen"}
    | {"execute", "sudo", "local"}
)
_INIT = frozenset({"init_process_group", "init_distributed", "new_group"})
_LINE = re.compile(
    r"(?:environ|env)\w*\[\s*[\"'](NCCL_[A-Z0-9_]+)[\"']\s*\]\s*=(?!=)\s*(.+?)\s*(?:#.*)?$"
)


class Reader:
    """A walk over one module, in the order of its lines."""

    def __init__(self, text: str, first: int, context: Context) -> None:
        self.text = text
        self.rows = text.split("\n")
        self.offset = first - 1
        self.context = context
        self.started = False

    def line(self, node: ast.AST) -> int:
        """The line of a node in the whole source."""
        return int(getattr(node, "lineno", 1)) + self.offset

    def walk(self, node: ast.AST, conditional: bool = False) -> Iterator[Item]:
        """Items of a node and what is inside it, without recursion."""
        stack: list[tuple[ast.AST, bool]] = [(node, conditional)]
        while stack:
            now, inside = stack.pop()
            used: list[ast.AST] = []
            for item in self._node(now, used):
                if isinstance(item, Found) and inside:
                    item = _conditional(item)
                yield item
            branch = inside or isinstance(now, ast.If | ast.For | ast.While | ast.Try)
            below = [child for child in ast.iter_child_nodes(now) if child not in used]
            stack.extend((child, branch) for child in reversed(below))

    def _node(self, node: ast.AST, used: list[ast.AST]) -> Iterator[Item]:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Subscript):
                        yield from self._place(target.slice, value, checked=_is_environ(target))
                    elif isinstance(target, ast.Name) and _text(value) is not None:
                        yield from self._string(value, used, loose=True)
            case ast.AnnAssign(target=ast.Subscript() as target, value=ast.expr() as value):
                yield from self._place(target.slice, value, checked=_is_environ(target))
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if key is not None:
                        yield from self._place(key, value)
            case ast.Delete(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Subscript) and (name := _name(target.slice)):
                        yield Found(name, State.UNSET, (self.line(target),))
            case ast.Call():
                yield from self._call(node, used)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                yield from self._argv(elements, used)

    def _call(self, node: ast.Call, used: list[ast.AST]) -> Iterator[Item]:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        called = node.func.id if isinstance(node.func, ast.Name) else called
        if called in _INIT:
            self.started = True
        for keyword in node.keywords:
            if keyword.arg and NAME.fullmatch(keyword.arg):
                yield from self._value(keyword.arg, keyword.value, self.line(keyword.value))
        if called in _SETTERS and len(node.args) >= 2:
            yield from self._place(node.args[-2], node.args[-1])
        elif called in _REMOVERS and node.args and (name := _name(node.args[0])):
            yield Found(name, State.UNSET, (self.line(node),))
        elif called in _RUNNERS and node.args:
            yield from self._string(node.args[0], used, loose=False)

    def _place(self, key: ast.expr, value: ast.expr, *, checked: bool = False) -> Iterator[Item]:
        name = _name(key)
        if not name:
            return
        line = self.line(key)
        yield from self._value(name, value, line)
        number = isinstance(value, ast.Constant) and not isinstance(value.value, str)
        if checked and number:
            why = "os.environ takes text only: Python raises TypeError here"
            yield Problem(Severity.ERROR, (name,), (line,), why)
        elif checked and self.started:
            why = "set after the process group started: NCCL has read it by then"
            yield Problem(Severity.WARNING, (name,), (line,), why)

    def _value(self, name: str, value: ast.expr, line: int) -> Iterator[Item]:
        if isinstance(value, ast.Constant) and value.value is None:
            yield Found(name, State.UNSET, (line,))
        elif isinstance(value, ast.Constant) and not isinstance(value.value, bytes):
            yield Found(name, State.SET, (line,), value=str(value.value))
        else:
            raw = self._source(value)
            default = self._default(value)
            yield Found(name, State.UNRESOLVED, (line,), raw=raw, default=default)

    def _source(self, node: ast.expr) -> str:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if first != last or first >= len(self.rows):
            return ast.unparse(node)
        row = self.rows[first].encode()
        return row[node.col_offset : node.end_col_offset].decode("utf-8", "replace")

    @staticmethod
    def _default(node: ast.expr) -> str | None:
        """The fallback of os.environ.get(name, fallback), os.getenv(...) or `x or "text"`."""
        if isinstance(node, ast.BoolOp):
            node = node.values[-1]
            return str(node.value) if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Call) and len(node.args) == 2:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            last = node.args[1]
            if called in ("get", "getenv") and isinstance(last, ast.Constant):
                return str(last.value)
        return None

    def _string(self, node: ast.expr, used: list[ast.AST], *, loose: bool) -> Iterator[Item]:
        """A command given as text; loose where it is only kept for later."""
        text = _text(node)
        if text is None or not PAIR.search(text):
            return
        used.append(node)
        inner = self.context.deeper(loose=loose, via="python")
        yield from read_shell(text, self.line(node), inner)

    def _argv(self, elements: list[ast.expr], used: list[ast.AST]) -> Iterator[Item]:
        texts = [_text(element) for element in elements]
        if not any(text is not None and PAIR.search(text) for text in texts):
            return
        words = []
        for element, text in zip(elements, texts, strict=True):
            kind = "quoted" if isinstance(element, ast.Constant) else "expansion"
            body = text if text is not None else self._source(element)
            if kind == "expansion" and body.startswith("NCCL_") and "=" in body:
                name, _, rest = body.partition("=")
                pieces = [Piece(name + "=", "quoted"), Piece(rest, "expansion")]
            else:
                pieces = [Piece(body, kind)]
            words.append(Word(self.line(element), pieces))
            used.append(element)
        if all(NAME.match(text or "") for text in texts):
            words.insert(0, Word(words[0].line, [Piece("env", "quoted")]))
        yield from Script(self.context.deeper()).read_words(words)


def _conditional(item: Found) -> Found:
    return Found(
        item.name,
        item.state,
        item.lines,
        item.value,
        item.raw,
        item.default,
        item.scope,
        item.why,
        via=item.via,
        from_caller=item.from_caller,
        conditional=True,
    )


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value if NAME.fullmatch(node.value) else ""
    return ""


def _is_environ(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "environ"


def _text(node: ast.expr) -> str | None:
    """A literal string, or an f-string with its fields shown as ${...}."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
            elif isinstance(part, ast.FormattedValue):
                parts.append("${" + ast.unparse(part.value) + "}")
        return "".join(parts)
    return None


def read_python(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of Python text; where it does not parse, only plain assignments are seen."""
    if "NCCL_" not in text:
        return
    plain = text.replace("\r\n", "\n")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is not None:
        yield from Reader(plain, first, context).walk(tree)
    for at, row in enumerate(plain.split("\n")):
        if "NCCL_" not in row:
            continue
        _, hashed, comment = row.partition("#")
        found = _LINE.search(comment if hashed else row)
        if hashed and found is not None and not _in_string(row):
            yield from restate([_plain(found, first + at)], State.COMMENTED)
        elif hashed and row.lstrip().startswith("#"):
            yield from restate(scan(comment, first + at), State.COMMENTED)
        elif tree is None and found is not None and not hashed:
            yield _plain(found, first + at)


def _in_string(row: str) -> bool:
    before = row.partition("#")[0]
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1


def _plain(found: re.Match[str], line: int) -> Found:
    text = found[2]
    literal = re.fullmatch(r"([\"'])((?:(?!\1).)*)\1", text)
    if literal is not None:
        return Found(found[1], State.SET, (line,), value=literal[2])
    return Found(found[1], State.UNRESOLVED, (line,), raw=text)
