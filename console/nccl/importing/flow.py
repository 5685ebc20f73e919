"""Reads JSON (comments and trailing commas allowed) and YAML's flow style into a tree. One pass
with its own stack: depth costs nothing, and broken text yields what could be read of it."""

from __future__ import annotations

import re

from console.nccl.importing.tree import Document, Mapping, Node, Remark, Scalar, Sequence

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\v\f]+)|(?P<line>\n)|(?P<template>\{\{[^\n]{0,400}?\}\})"
    r"|(?P<slash>//[^\n]*)|(?P<hash>\#[^\n]*)"
    r"|(?P<mark>[{}\[\],:])"
    r"|(?P<plain>(?:[^\s,\[\]{}:\"']|:(?=[^\s,\[\]{}]))(?:[^\n,\[\]{}:]|:(?=[^\s,\[\]{}]))*)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_SPANS = (
    ("star", "/*", re.compile(r"/\*.*?\*/", re.DOTALL)),
    ("double", '"', re.compile(r"\"[^\"\\]*(?:\\.[^\"\\]*)*\"", re.DOTALL)),
    ("single", "'", re.compile(r"'[^']*(?:''[^']*)*'", re.DOTALL)),
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r?\n[ \t]*|.)", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "e": "\x1b"}


def unescape(text: str) -> str:
    """The inside of a double-quoted JSON or YAML string."""

    def one(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] in "ux" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "\r\n":
            return ""
        return _PLAIN_ESCAPES.get(code, code)

    plain = _ESCAPE.sub(one, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Flow:
    """Builds nodes from flow text; `line` is that of the text's first character."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.document = Document()
        self.stack: list[Mapping | Sequence] = []
        self.keys: list[Scalar | None] = []
        self.held: Node | None = None

    def read(self, text: str) -> Document:
        """All nodes of the text."""
        at = 0
        dead: set[str] = set()
        while at < len(text):
            kind, body = self._token(text, at, dead)
            at += len(body)
            if kind == "line":
                self.line += 1
                continue
            if kind in ("slash", "star", "hash"):
                self._comment(body)
            elif kind == "mark":
                self._mark(body)
            elif kind not in ("space", "other"):
                self._scalar(kind, body)
            self.line += body.count("\n")
        while self.stack:
            self._close()
        self._finish()
        return self.document

    def _token(self, text: str, at: int, dead: set[str]) -> tuple[str, str]:
        """The token at `at`; a string or comment that never ends is tried only once."""
        for kind, start, pattern in _SPANS:
            if kind not in dead and text.startswith(start, at):
                span = pattern.match(text, at)
                if span is not None:
                    return kind, span[0]
                dead.add(kind)
        found = _TOKEN.match(text, at)
        if found is None:
            return "other", text[at]
        return found.lastgroup or "other", found[0]

    def _comment(self, body: str) -> None:
        inner = re.sub(r"^(//+|/\*+|#+)|\*/$", "", body)
        self.document.remarks.append(Remark(inner, self.line))

    def _scalar(self, kind: str, body: str) -> None:
        if kind == "double":
            scalar = Scalar(unescape(body[1:-1]), "double", self.line)
        elif kind == "single":
            scalar = Scalar(body[1:-1].replace("''", "'"), "single", self.line)
        else:
            text = body.strip()
            text = re.split(r"\s#", text)[0].rstrip() if kind == "plain" else text
            scalar = Scalar(text, "plain", self.line)
        if isinstance(self.held, Scalar) and self.held.style == "plain" and kind != "double":
            self.held.text = f"{self.held.text} {scalar.text}".strip()
        else:
            self.held = scalar

    def _mark(self, mark: str) -> None:
        if mark in "{[":
            if self.held is not None:
                self._finish()
            self.stack.append(Mapping(self.line) if mark == "{" else Sequence(self.line))
            self.keys.append(None)
        elif mark in "}]":
            self._close()
        elif mark == ":":
            inside = self.stack and isinstance(self.stack[-1], Mapping)
            if inside and isinstance(self.held, Scalar) and self.keys[-1] is None:
                self.keys[-1], self.held = self.held, None
        else:
            self._finish()

    def _close(self) -> None:
        self._finish()
        if self.stack:
            done = self.stack.pop()
            self.keys.pop()
            self.held = done

    def _finish(self) -> None:
        """Puts what is held where it belongs."""
        node, self.held = self.held, None
        if not self.stack:
            if node is not None:
                self.document.nodes.append(node)
            return
        parent = self.stack[-1]
        if isinstance(parent, Sequence):
            if node is not None:
                parent.items.append(node)
            return
        key, self.keys[-1] = self.keys[-1], None
        if key is None:
            if not isinstance(node, Scalar):
                return
            key, node = node, None
        parent.entries.append((key, node or Scalar("", "plain", key.line)))


def read_flow(text: str, first: int = 1) -> Document:
    """Nodes and comments of JSON or flow text whose first line is `first`."""
    return Flow(first).read(text)
