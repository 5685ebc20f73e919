"""Reads documents: fenced and indented blocks by the grammar they hold, inline code, tables,
struck-out text, comments, in any language. Linear in the text; lines without a name are only
looked at for fences."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from console.nccl.importing.detect import fragment_format
from console.nccl.importing.found import MAX_DEPTH, PAIR, Context, Found, Item, State, restate
from console.nccl.importing.prose import forbids, scan
from console.nccl.importing.said import said_by_line, said_within
from console.nccl.importing.tables import Table

_FENCE = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])?[ \t]*(`{3,}|~{3,})[ \t]*([^\s`{]*)")
_QUOTE = re.compile(r"(?:[ \t]{0,3}>[ ]?)+")
_STRUCK = re.compile(r"~~(.+?)~~|<(del|s|strike)>(.+?)</\2>")
_CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")
_COMMENT = re.compile(r"<!--(.*?)(?:-->|$)")
_DASHES = re.compile(r"[\s|:>-]+")
_SAME = frozenset({"log", "nccl.conf", "markdown"})
_PROMPT = re.compile(
    r"^(\s*)(?:\([\w.-]+\)\s*)?(?:[\w.-]+@[\w.-]+(?::|\s)[^$#%\n]{0,80}[$#%]|\$|%|❯|➜)\s+(?=\S)"
)
_LANGUAGES = {
    **dict.fromkeys(
        ("bash", "sh", "shell", "zsh", "console", "fish", "csh", "shell-session"), "shell"
    ),
    **dict.fromkeys(("terminal", "powershell", "ps1", "bat", "cmd", "slurm", "sbatch"), "shell"),
    **dict.fromkeys(("dockerfile", "docker", "containerfile"), "dockerfile"),
    **dict.fromkeys(("ini", "systemd", "service", "unit", "conf"), "ini"),
    **dict.fromkeys(("env", "dotenv", "properties"), "env"),
    **dict.fromkeys(("json", "jsonc", "json5"), "json"),
    **dict.fromkeys(("python", "py", "python3"), "python"),
    **dict.fromkeys(("diff", "patch"), "diff"),
    **dict.fromkeys(("yaml", "yml", "compose"), "yaml"),
    **dict.fromkeys(("toml", "hcl", "terraform", "nix", "makefile", "make"), "config"),
    "md": "markdown",
}
_COMMANDISH = re.compile(r"\s*(export |setenv |env |docker |srun |mpirun |\$ |#|-e |NCCL_\w+=)")


class Reader:
    """One document."""

    def __init__(self, text: str, first: int, context: Context) -> None:
        self.rows = text.split("\n")
        self.first = first
        self.context = replace(context, loose=True)
        self.at = 0
        self.table: Table | None = None
        self.commented = False

    def read(self) -> Iterator[Item]:
        """Items in the order of the document."""
        while self.at < len(self.rows):
            row = self.rows[self.at]
            fence = _FENCE.match(row) if "```" in row or "~~~" in row else None
            if fence is None and row.lstrip().startswith(">") and ("```" in row or "~~~" in row):
                fence = _FENCE.match(_QUOTE.sub("", row))
            if fence is not None and "`" not in row[row.find(fence[1]) + len(fence[1]) :]:
                yield from self._fence(fence)
                continue
            if "|" in row and (self.table is not None or self._heads_table()):
                yield from self._table(row)
            else:
                self.table = None
                if _may_name(row) or self.commented or "<!--" in row:
                    yield from self._paragraph(row)
            self.at += 1

    def _fence(self, fence: re.Match[str]) -> Iterator[Item]:
        start = self.at + 1
        mark = fence[1]
        stop = start
        closing = re.compile(rf"[>\s]*{re.escape(mark[0])}{{{len(mark)},}}\s*$")
        while stop < len(self.rows) and not closing.match(self.rows[stop]):
            stop += 1
        rows = self.rows[start:stop]
        self.at = stop + 1
        if any("NCCL_" in row for row in rows):
            if self.rows[start - 1].lstrip().startswith(">"):
                rows = [_QUOTE.sub("", row, count=1) for row in rows]
            yield from self._block(rows, start, fence[2].lower().strip("{}.:"))

    def _block(self, rows: list[str], start: int, language: str) -> Iterator[Item]:
        # The grammars nest in each other, so the table of them cannot be imported above.
        from console.nccl.importing.grammars import read_as

        if self.context.depth >= MAX_DEPTH:
            return
        plain = _typed(rows)
        text = "\n".join(plain)
        kind = _LANGUAGES.get(language, language if language in _SAME else "")
        sniffed = fragment_format(text)
        if kind == "ini":
            kind = "systemd" if sniffed == "systemd" else "nccl.conf"
        elif sniffed == "log" and kind in ("", "shell"):
            yield from self._transcript(plain, start)
            return
        elif not kind:
            kind = sniffed
        elif kind == "yaml":
            kind = sniffed if sniffed in ("compose", "kubernetes", "ansible") else "yaml"
        if kind == "shell" and not language and not _shell_like(plain):
            for at, row in enumerate(plain):
                yield from _line(row, self.first + start + at)
            return
        inner = replace(self.context, depth=self.context.depth + 1)
        yield from read_as(kind, text, self.first + start, inner)

    def _transcript(self, rows: list[str], start: int) -> Iterator[Item]:
        """A session with its output: NCCL's lines as a log, the others as commands."""
        from console.nccl.importing.grammars import read_as

        logged = [row if "NCCL INFO" in row or "NCCL WARN" in row else "" for row in rows]
        typed = ["" if out else row for row, out in zip(rows, logged, strict=True)]
        yield from read_as("shell", "\n".join(typed), self.first + start, self.context)
        yield from read_as("log", "\n".join(logged), self.first + start, self.context)

    def _heads_table(self) -> bool:
        """Whether the next row is the line of dashes below a table's head."""
        following = self.rows[self.at + 1] if self.at + 1 < len(self.rows) else ""
        return "-" in following and _DASHES.fullmatch(following) is not None

    def _table(self, row: str) -> Iterator[Item]:
        if self.table is None:
            self.table = Table(row)
            yield from self._paragraph(row)
            return
        if "NCCL" not in row:
            return
        found, others = self.table.row(row, self.first + self.at)
        yield from found
        for text in others:
            yield from self._paragraph(text)

    def _paragraph(self, row: str) -> Iterator[Item]:
        """A line of text; parts in <!-- --> are commented, also over several lines."""
        line = self.first + self.at
        row = row.removesuffix("\r")
        if self.commented:
            inside, ends, row = row.partition("-->")
            yield from restate(scan(inside, line), State.COMMENTED)
            self.commented = not ends
            if self.commented:
                return
        for found in _COMMENT.finditer(row):
            yield from restate(scan(found[1], line), State.COMMENTED)
        self.commented = "<!--" in row and "-->" not in row[row.rfind("<!--") :]
        row = _COMMENT.sub(" ", row)
        if not _may_name(row):
            return
        indented = re.match(r"(?: {4}|\t)", row) is not None
        if indented and _COMMANDISH.match(row):
            yield from self._indented()
            return
        yield from _line(row, line)

    def _indented(self) -> Iterator[Item]:
        """A block indented by four or more, from here to its end."""
        start = self.at
        stop = start
        while stop < len(self.rows) and re.match(r"(?: {4}|\t)", self.rows[stop]):
            stop += 1
        rows = [re.sub(r"^(?: {4}|\t)", "", row) for row in self.rows[start:stop]]
        yield from self._block(rows, start, "")
        self.at = stop - 1


def _may_name(row: str) -> bool:
    """Whether a name can stand there, its underlines escaped or not."""
    return "NCCL_" in row or "NCCL\\_" in row


def _typed(rows: list[str]) -> list[str]:
    """The rows without prompts: the shell's own, and the > before what a backslash goes on to."""
    typed: list[str] = []
    prompted = False
    for row in rows:
        bare = row.removesuffix("\r")
        text, found = _PROMPT.subn(r"\1", bare)
        more = bool(typed) and typed[-1].endswith("\\") and prompted and bare.startswith("> ")
        typed.append(bare[2:] if more else text)
        prompted = bool(found) or more
    return typed


def _shell_like(rows: list[str]) -> bool:
    """Whether a block without a language can be read as commands rather than as prose."""
    named = [row for row in rows if "NCCL_" in row]
    return all(not re.search(r"[，。；：]|NCCL_\w+ = ", row) for row in named)


def _line(row: str, line: int) -> Iterator[Found]:
    """Pairs in one line of running text, struck-out ones as old."""
    if "\\_" in row:
        row = row.replace("\\_", "_")
    if "&" in row:
        row = html.unescape(row)
    whole = said_by_line(row, line)
    if whole:
        yield from whole
        return
    yield from said_within(row, line)
    at = 0
    for struck in _STRUCK.finditer(row):
        yield from _spans(row[at : struck.start()], line)
        inner = struck[1] or struck[3]
        yield from restate(_spans(inner, line), State.OLD)
        at = struck.end()
    yield from _spans(row[at:], line)


def _spans(text: str, line: int) -> Iterator[Found]:
    """Inline code by its own rules, the text around it by those of prose."""
    at = 0
    for code in _CODE.finditer(text):
        if not PAIR.search(code[2]):
            continue
        yield from scan(text[at : code.start()], line)
        inside = scan(code[2], line, code=True)
        yield from restate(inside, State.COMMENTED) if forbids(text, code.start()) else inside
        at = code.end()
    yield from scan(text[at:], line)


def read_markdown(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of a document whose first line is `first`."""
    if "NCCL" in text:
        yield from Reader(text, first, context).read()
