"""Reads the block style of YAML into a tree, as far as settings files use it: mappings,
sequences, scalars of every style, flow values, anchors (kept where they stand, not copied),
comments. Templates and broken lines are stepped over; nothing is resolved."""

from __future__ import annotations

import re

from console.nccl.importing.flow import read_flow, unescape
from console.nccl.importing.tree import Document, Mapping, Node, Remark, Scalar, Sequence

MAX_DEPTH = 60
_MAX_FLOW_LINES = 400

_KEY = re.compile(
    r"(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^']|'')*)'"
    r"|(?P<plain>[^\s#\"'{}\[\]&*!|>-][^#\n]{0,200}?|-[^\s][^#\n]{0,200}?))\s*:(?=\s|$)"
)
_PROPERTY = re.compile(r"(?:[&!][^\s,\[\]{}]*\s*)+")
_BLOCK = re.compile(r"[|>][+-]?(\d?)[+-]?\s*(?:#.*)?$")
_COMMENT = re.compile(r"\s#.*$")


class Blocks:
    """A reader over the rows of one text."""

    def __init__(self, text: str, first: int) -> None:
        self.rows = [row.removesuffix("\r") for row in text.split("\n")]
        self.first = first
        self.at = 0
        self.document = Document()
        self.inline: tuple[int, str] | None = None

    def read(self) -> Document:
        """All documents of the text."""
        while self._peek() is not None:
            before = self.at
            node = self._node(-1, 0)
            if node is not None:
                self.document.nodes.append(node)
            if self.at == before and self.inline is None:
                self.at += 1
            self.inline = None
        return self.document

    @property
    def line(self) -> int:
        """The line of the row being read."""
        return self.first + min(self.at, len(self.rows) - 1)

    def _peek(self) -> tuple[int, str] | None:
        """(indentation, content) of the next row that is neither empty nor a comment."""
        if self.inline is not None:
            return self.inline
        while self.at < len(self.rows):
            row = self.rows[self.at]
            content = row.strip()
            if content.startswith("#"):
                self._remark()
            elif not content or content in ("---", "...") or content.startswith(("{{", "{%")):
                self.at += 1
            else:
                return len(row) - len(row.lstrip()), content
        return None

    def _remark(self) -> None:
        start = self.at
        lines = []
        while self.at < len(self.rows) and self.rows[self.at].lstrip().startswith("#"):
            lines.append(re.sub(r"^(\s*)#", r"\1", self.rows[self.at]))
            self.at += 1
        self.document.remarks.append(Remark("\n".join(lines), self.first + start))

    def _next(self) -> None:
        if self.inline is not None:
            self.inline = None
        self.at += 1

    def _node(self, above: int, depth: int) -> Node | None:
        """The node whose rows are indented more than `above`."""
        row = self._peek()
        if row is None or row[0] <= above or depth > MAX_DEPTH:
            return None
        indent, content = row
        if content == "-" or content.startswith("- "):
            return self._sequence(indent, depth)
        if _KEY.match(content):
            return self._mapping(indent, depth)
        line = self.line
        self._next()
        return self._value(content, indent - 1, line, depth)

    def _sequence(self, indent: int, depth: int) -> Sequence:
        sequence = Sequence(self.line)
        while (row := self._peek()) is not None and row[0] == indent:
            content = row[1]
            if content != "-" and not content.startswith("- "):
                break
            rest = content[1:].lstrip()
            line = self.line
            if not rest or rest.startswith("#"):
                self._next()
                node = self._node(indent, depth + 1)
            else:
                offset = indent + len(content) - len(rest)
                self.inline = (offset, rest)
                node = self._node(offset - 1, depth + 1)
                if self.inline is not None:
                    self._next()
            sequence.items.append(node if node is not None else Scalar("", "plain", line))
        return sequence

    def _mapping(self, indent: int, depth: int) -> Mapping:
        mapping = Mapping(self.line)
        while (row := self._peek()) is not None and row[0] == indent:
            found = _KEY.match(row[1])
            if found is None or row[1].startswith("- "):
                break
            line = self.line
            if found["double"] is not None:
                key = Scalar(unescape(found["double"]), "double", line)
            elif found["single"] is not None:
                key = Scalar(found["single"], "single", line)
            else:
                key = Scalar(found["plain"], "plain", line)
            rest = row[1][found.end() :].strip()
            self._next()
            mapping.entries.append((key, self._entry(rest, indent, line, depth)))
        return mapping

    def _entry(self, rest: str, indent: int, line: int, depth: int) -> Node:
        """The value after a key: on its line, or below it."""
        rest = self._without_property(rest)
        if rest and not rest.startswith("#"):
            return self._value(rest, indent, line, depth)
        row = self._peek()
        below = indent
        if row is not None and row[0] == indent and row[1].startswith("- "):
            below = indent - 1
        node = self._node(below, depth + 1)
        return node if node is not None else Scalar("", "plain", line)

    def _without_property(self, rest: str) -> str:
        found = _PROPERTY.match(rest)
        return rest[found.end() :] if found is not None else rest

    def _value(self, text: str, indent: int, line: int, depth: int) -> Node:
        text = self._without_property(text)
        if _BLOCK.match(text):
            return self._block("folded" if text[0] == ">" else "block", indent, line)
        if text[:1] in "[{" and not text.startswith("{{"):
            return self._flow(text, line)
        if text[:1] in "\"'":
            return self._quoted(text, line)
        value = text if text.startswith("{{") else _COMMENT.sub("", " " + text)[1:].rstrip()
        parts = [value]
        while _COMMENT.search(text) is None and (row := self._peek()) is not None:
            if self.inline is not None or row[0] <= indent or _KEY.match(row[1]):
                break
            if row[1].startswith("- ") and depth == 0:
                break
            text = row[1]
            parts.append(_COMMENT.sub("", text))
            self._next()
        return Scalar(" ".join(parts), "plain", line)

    def _block(self, style: str, indent: int, line: int) -> Scalar:
        start = self.at
        margin: int | None = None
        lines: list[str] = []
        while self.at < len(self.rows):
            row = self.rows[self.at]
            lead = len(row) - len(row.lstrip())
            if row.strip() and lead <= indent:
                break
            if row.strip() and margin is None:
                margin = lead
            lines.append(row)
            self.at += 1
        body = "\n".join(row[margin or 0 :] for row in lines)
        return Scalar(body, style, self.first + start if lines else line)

    def _flow(self, text: str, line: int) -> Node:
        parts = [text]
        depth = _balance(text)
        while depth > 0 and self.at < len(self.rows) and len(parts) < _MAX_FLOW_LINES:
            parts.append(self.rows[self.at])
            depth += _balance(self.rows[self.at])
            self.at += 1
        document = read_flow("\n".join(parts), line)
        self.document.remarks.extend(document.remarks)
        return document.nodes[0] if document.nodes else Scalar("", "plain", line)

    def _quoted(self, text: str, line: int) -> Scalar:
        quote = text[0]
        pattern = r"'((?:[^']|'')*)'" if quote == "'" else r"\"((?:[^\"\\]|\\.)*)\""
        tries = 0
        while (found := re.match(pattern, text, re.DOTALL)) is None and tries < 50:
            if self.inline is not None or self.at >= len(self.rows):
                break
            text += "\n" + self.rows[self.at].strip()
            self.at += 1
            tries += 1
        if found is None:
            return Scalar(text, "plain", line)
        inner = found[1].replace("''", "'") if quote == "'" else unescape(found[1])
        return Scalar(inner, "single" if quote == "'" else "double", line)


def _balance(text: str) -> int:
    bare = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|\{\{.*?\}\}", "", text)
    return bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")


def read_yaml(text: str, first: int = 1) -> Document:
    """Nodes and whole-line comments of YAML text whose first line is `first`."""
    return Blocks(text, first).read()
