"""Finds settings in a tree read from YAML or JSON, whatever tool it is for: environment maps and
lists, name/value pairs, command lines, files that are written, config maps, build arguments."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import replace

from console.nccl.finding import Severity
from console.nccl.importing.env_values import place_scalar
from console.nccl.importing.found import (
    NAME,
    PAIR,
    Context,
    Elsewhere,
    Found,
    Item,
    Problem,
    State,
    lose,
    refused,
    restate,
)
from console.nccl.importing.shell import Script, read_shell
from console.nccl.importing.shell_text import Piece, Word
from console.nccl.importing.tree import Mapping, Node, Scalar, Sequence
from console.nccl.importing.written import read_written

MAX_DEPTH = 60
_COMMANDS = re.compile(
    r"(ansible\.(builtin|legacy)\.)?(command|shell|raw|script|cmd|args|entrypoint|argv|run|exec"
    r"|postStart|preStop|setup|start|launch|launch_cmd|before_script|containerCommand|free_form"
    r"|source|program|runArgs|postCreateCommand|postStartCommand)$",
    re.IGNORECASE,
)
_ENVIRONMENTS = re.compile(
    r"(env|environment|envs|env_vars|environment_variables|containerEnv|remoteEnv|env_override"
    r"|envVars|extraEnv|extraEnvs|extraEnvVars)$",
    re.IGNORECASE,
)
_FILES = re.compile(r"(env_file|envFile|env_files|configMapRef|secretRef|envFrom)$")
_HOLDERS = re.compile(r"args|arguments|opts|options|flags|env|cmd|command|params|extra|line", re.I)
_PATTERNS = frozenset({"regexp", "search_string", "regex", "insertafter", "insertbefore"})
_ABOUT = frozenset({"labels", "annotations", "matchLabels", "metadata", "tags"})
"""Maps that describe something and set nothing."""

_BLANKS = re.compile(r"\s*(NCCL_[A-Z0-9_]+)(\s*)=(\s*)(.*)", re.DOTALL)
_FILE_NAME = re.compile(r"[\w./-]*\.(conf|env|sh|service|py|bash|json)$|\.?bashrc$|.*/environment$")


class Tree:
    """A walk over nodes for one loader (compose, kubernetes, ansible, json, yaml)."""

    def __init__(self, kind: str, context: Context) -> None:
        self.kind = kind
        self.context = context

    def walk(self, node: Node, path: tuple[str, ...] = ()) -> Iterator[Item]:
        """Items of a node and all below it."""
        if len(path) > MAX_DEPTH:
            return
        if isinstance(node, Mapping):
            yield from self._mapping(node, path)
        elif isinstance(node, Sequence):
            yield from self._sequence(node, path)

    def _context(self, path: tuple[str, ...]) -> Context:
        shared = not path or path[0].startswith("x-") or self.context.scope
        scope = self.context.scope if shared else ".".join(path)
        return replace(self.context, scope=scope)

    def _mapping(self, node: Mapping, path: tuple[str, ...]) -> Iterator[Item]:
        name = node.get("name", "Name", "key", "Key")
        if isinstance(name, Scalar) and NAME.fullmatch(name.text):
            yield from self._pair(node, name, path[:-1])
            return
        used = yield from self._files(node)
        conditional = self.context.conditional
        if node.get("when") is not None:
            self.context = replace(self.context, conditional=True)
        seen: dict[str, int] = {}
        for key, value in node.entries:
            if key.text in used or key.text in _PATTERNS or key.text in _ABOUT:
                continue
            if NAME.fullmatch(key.text):
                yield from self._entry(key, value, path)
                if key.text in seen:
                    why = f"stands twice in one map (line {seen[key.text]}): refused or replaced"
                    yield Problem(Severity.WARNING, (key.text,), (key.line,), why)
                seen[key.text] = key.line
            else:
                yield from self._other(key, value, path)
        self.context = replace(self.context, conditional=conditional)

    def _pair(self, node: Mapping, name: Scalar, path: tuple[str, ...]) -> Iterator[Item]:
        value = node.get("value", "Value")
        source = node.get("valueFrom")
        context = self._context(path)
        if isinstance(value, Scalar):
            lines = tuple(sorted({name.line, value.line}))
            yield from place_scalar(name.text, value, lines, self._pair_kind(), context)
        elif isinstance(source, Mapping):
            lines = tuple(sorted({name.line, source.line}))
            raw = _deepest(source)
            yield Found(name.text, State.UNRESOLVED, lines, raw=raw, scope=context.scope)
        else:
            empty = Scalar("", "plain", name.line)
            yield from place_scalar(name.text, empty, (name.line,), "kubernetes", context)

    def _pair_kind(self) -> str:
        return "json" if self.kind == "json" else "kubernetes"

    def _entry(self, key: Scalar, value: Node, path: tuple[str, ...]) -> Iterator[Item]:
        """A key that is a variable's name."""
        if not isinstance(value, Scalar):
            return
        kind = self.kind
        if kind == "kubernetes" and path[-1:] not in (("data",), ("stringData",)):
            kind = "yaml"
        lines: tuple[int, ...] = (key.line,)
        if value.style not in ("block", "folded") and value.line > key.line:
            lines = (key.line, value.line)
        items = place_scalar(key.text, value, lines, kind, self._context(path))
        yield from self._arguments(path, items)

    def _arguments(self, path: tuple[str, ...], items: Iterator[Item]) -> Iterator[Item]:
        """Build arguments of compose are gone when the image is made."""
        if path[-1:] == ("args",) and "build" in path:
            why = "a build argument: not in the environment of the running container"
            yield from lose(items, why)
        else:
            yield from items

    def _other(self, key: Scalar, value: Node, path: tuple[str, ...]) -> Iterator[Item]:
        if _FILES.match(key.text):
            yield from _named_files(value)
        if not isinstance(value, Scalar):
            yield from self.walk(value, (*path, key.text))
            return
        text = value.text
        if "NCCL_" not in text:
            return
        context = self._context(path)
        if _FILE_NAME.match(key.text):
            items = read_written(text, value.line, key.text, context)
            yield from (replace(i, target="") if isinstance(i, Found) else i for i in items)
        elif _COMMANDS.match(key.text):
            yield from read_shell(self._text(_joined(value)), value.line, context)
        elif value.style == "block" and PAIR.search(text):
            yield from read_written(text, value.line, "", replace(context, loose=True))
        elif PAIR.search(text) and _HOLDERS.search(key.text):
            inner = replace(context, loose=True, via=key.text)
            yield from read_shell(self._text(_joined(value)), value.line, inner)

    def _text(self, text: str) -> str:
        return text.replace("$$", "$") if self.kind == "compose" else text

    def _sequence(self, node: Sequence, path: tuple[str, ...]) -> Iterator[Item]:
        last = next((p for p in reversed(path) if not p.isdecimal()), "")
        scalars = [item for item in node.items if isinstance(item, Scalar)]
        if _COMMANDS.match(last) and not (last == "args" and "build" in path) and scalars:
            if any("NCCL_" in item.text for item in scalars):
                yield from self._argv(scalars, self._context(path))
            return
        for at, item in enumerate(node.items):
            if isinstance(item, Scalar):
                yield from self._item(item, last, path)
            else:
                yield from self.walk(item, (*path, str(at)))
                yield from self._map_in_list(item, last)

    def _map_in_list(self, item: Node, last: str) -> Iterator[Item]:
        if self.kind != "compose" or last != "environment" or not isinstance(item, Mapping):
            return
        for key, _ in item.entries:
            if NAME.fullmatch(key.text):
                why = "a list item must be one text, NAME=value: compose refuses the file"
                yield Problem(Severity.ERROR, (key.text,), (key.line,), why)

    def _argv(self, scalars: list[Scalar], context: Context) -> Iterator[Item]:
        """A command given as a list: the words are what they are, unless they are whole lines."""
        if all(re.search(r"\s", s.text) or NAME.match(s.text) for s in scalars):
            for scalar in scalars:
                yield from read_shell(self._text(_joined(scalar)), scalar.line, context)
            return
        words = [Word(s.line, [Piece(self._text(s.text), "quoted")]) for s in scalars]
        if words[0].text.startswith("-"):
            program = "sh" if re.fullmatch(r"-[a-z]*c", words[0].text) else "program"
            words.insert(0, Word(words[0].line, [Piece(program, "quoted")]))
        yield from Script(context).read_words(words)

    def _item(self, item: Scalar, last: str, path: tuple[str, ...]) -> Iterator[Item]:
        context = self._context(path)
        name, equals, _ = item.text.partition("=")
        if NAME.fullmatch(name) and equals:
            value = Scalar(item.text[len(name) + 1 :], "double", item.line)
            items = place_scalar(name, value, (item.line,), self.kind, context)
            yield from self._arguments(path, items)
        elif NAME.fullmatch(item.text) and (_ENVIRONMENTS.match(last) or not last):
            yield Found(
                item.text, State.UNRESOLVED, (item.line,), scope=context.scope, from_caller=True
            )
        elif _ENVIRONMENTS.match(last) and (torn := _BLANKS.fullmatch(item.text)) is not None:
            why = f"blanks are part of the name: the variable set is called {name!r}"
            yield from refused(torn[1], torn[4], (item.line,), why)
        elif PAIR.search(item.text):
            inner = replace(context, loose=True, via=last)
            yield from read_shell(self._text(item.text), item.line, inner)

    def _files(self, node: Mapping) -> Generator[Item, None, frozenset[str]]:
        """Modules that write files; returns the keys that are dealt with."""
        target = node.text("dest", "path", "destfile", "mountPath")
        if not target:
            return frozenset()
        named = ("content", "block", "line", *(("value",) if node.get("option") else ()))
        body = node.get(*named)
        pattern = re.search(r"NCCL_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_])", node.text("regexp"))
        if body is None and pattern is not None and node.text("state") == "absent":
            line = next(key.line for key, _ in node.entries if key.text == "regexp")
            yield Found(pattern[0], State.UNSET, (line,), target=target)
        if not isinstance(body, Scalar) or "NCCL_" not in body.text:
            return frozenset(named) if node.get("regexp") else frozenset()
        option = node.text("option")
        text = (f"{option}=" if option else "") + body.text.rstrip("\n")
        items = read_written(text, body.line, target, self._context(()), open_text=False)
        if node.text("state") == "absent":
            for item in restate(items, State.SET):
                yield Found(item.name, State.UNSET, item.lines, target=target)
        else:
            yield from items
        return frozenset(named)


def _joined(scalar: Scalar) -> str:
    """A scalar's text for the shell: folded lines are one, but keep their numbers."""
    if scalar.style != "folded":
        return scalar.text
    return scalar.text.rstrip().replace("\n", " \\\n")


def _deepest(node: Node) -> str:
    """The last scalar of a valueFrom: the field or key that holds the value."""
    while isinstance(node, Mapping) and node.entries:
        node = node.entries[-1][1]
    return node.text if isinstance(node, Scalar) else ""


def _named_files(value: Node) -> Iterator[Item]:
    if isinstance(value, Scalar):
        yield Elsewhere(value.text, value.line)
    elif isinstance(value, Mapping):
        for _, inner in value.entries:
            yield from _named_files(inner)
    else:
        for inner in value.items:
            yield from _named_files(inner)
