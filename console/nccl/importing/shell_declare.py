"""Commands that declare variables for what comes after them: export, declare, set in its many
dialects, setenv, unset. Each tells what is exported, what is refused and what is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from console.nccl.finding import Severity
from console.nccl.importing.found import (
    NAME,
    PAIR,
    Context,
    Found,
    Item,
    Problem,
    State,
    lost,
    refused,
)
from console.nccl.importing.shell_env import assigned, place
from console.nccl.importing.shell_syntax import Command
from console.nccl.importing.shell_text import Piece, Word


class Shell(Protocol):
    """What commands need of the script around them."""

    all_exported: bool
    exported: set[str]

    def export(self, name: str, line: int, context: Context) -> None:
        """Marks a name as exported."""

    def nested(self, text: str, line: int, context: Context) -> Iterator[Item]:
        """Reads a command string."""


NOT_EXPORTED = (
    "a shell variable, never exported: not in the environment of the server",
    "declared without -x: not in the environment of the server",
)
"""Why a value is lost unless its name is exported later."""

_INVALID = "the shell takes {!r} for a name and refuses it: {} stays unset"


def export(shell: Shell, words: list[Word], context: Context, _: Command) -> Iterator[Item]:
    at = 0
    removing = False
    while at < len(words):
        word = words[at]
        pair = assigned(word)
        if pair is not None:
            shell.exported.add(pair[0])
            if PAIR.search(pair[1].text) and pair[1].quoted:
                yield from shell.nested(
                    pair[1].text, word.line, context.deeper(loose=True, via=pair[0])
                )
            else:
                yield place(pair[0], pair[1], replace(context, via=""))
            follower = words[at + 1].text if at + 1 < len(words) else ""
            if not pair[1].pieces and re.fullmatch(r"[^A-Za-z_=\-].*", follower):
                why = f"a blank after =: {pair[0]} is empty, and {follower!r} is refused"
                yield Problem(Severity.ERROR, (pair[0],), (word.line,), why, reads_as="")
        elif NAME.fullmatch(word.text):
            follower = words[at + 1].text if at + 1 < len(words) else ""
            if follower.startswith("="):
                value = follower[1:] or (words[at + 2].text if at + 2 < len(words) else "")
                why = _INVALID.format(follower, word.text)
                yield from refused(word.text, value, (word.line,), why)
                at += 1 if follower[1:] else 2
            elif removing:
                yield Found(word.text, State.UNSET, (word.line,))
            else:
                shell.export(word.text, word.line, replace(context, via=""))
        elif PAIR.search(word.text) and "=" in word.text and word.quoted:
            holder = word.text.partition("=")[0]
            kept = word.after(len(holder) + 1).text
            inner = context.deeper(loose=True, via=holder)
            yield from shell.nested(kept, word.line, inner)
        removing = removing or word.text == "-n"
        at += 1


def declare(shell: Shell, words: list[Word], context: Context, command: Command) -> Iterator[Item]:
    options = "".join(word.text for word in words if word.text.startswith("-"))
    rest = [word for word in words if not word.text.startswith("-")]
    if "x" in options or context.loose:
        yield from export(shell, rest, context, command)
        return
    for word in rest:
        pair = assigned(word)
        if pair is not None and pair[0] in shell.exported:
            yield place(pair[0], pair[1], replace(context, via=""))
        elif pair is not None:
            one = place(pair[0], pair[1], replace(context, via=""))
            is_set = one.state is State.SET
            yield lost(one.name, one.value, one.lines, NOT_EXPORTED[1]) if is_set else one


def set_(shell: Shell, words: list[Word], context: Context, _: Command) -> Iterator[Item]:
    """`set` of sh (-a), fish (-gx NAME VALUE), csh (NAME = VALUE) and cmd (NAME=VALUE)."""
    options = [word.text for word in words if word.text.startswith("-")]
    rest = [word for word in words if not word.text.startswith("-")]
    letters = "".join(o[1:] for o in options if not o.startswith("--"))
    if "-o" in options and rest and rest[0].text == "allexport":
        shell.all_exported = True
        return
    if not rest or "NCCL_" not in rest[0].text:
        off = any(word.text in ("+a", "+o") for word in rest)
        shell.all_exported = not off and (shell.all_exported or "a" in letters)
        return
    line = rest[0].line
    pair = assigned(rest[0])
    context = replace(context, via="")
    if ("e" in letters or "--erase" in options) and NAME.fullmatch(rest[0].text):
        yield Found(rest[0].text, State.UNSET, (line,))
    elif pair is not None and context.dialect == "cmd":
        tail = " ".join(["", *(word.text for word in rest[1:])])
        yield place(pair[0], Word(line, [*pair[1].pieces, Piece(tail, "plain")]), context)
    elif NAME.fullmatch(rest[0].text) and ("x" in letters or "--export" in options):
        joined = " ".join(word.text for word in rest[1:])
        resolved = all(word.resolved for word in rest[1:])
        kind = "plain" if resolved else "expansion"
        yield place(rest[0].text, Word(line, [Piece(joined, kind)]), context)
    else:
        name = pair[0] if pair is not None else rest[0].text
        value = pair[1].text if pair is not None else rest[-1].text
        if NAME.fullmatch(name):
            why = "set without exporting: not in the environment of the server"
            yield lost(name, value, (line,), why)
            yield Problem(Severity.WARNING, (name,), (line,), why)


def setenv(_: Shell, words: list[Word], context: Context, __: Command) -> Iterator[Item]:
    if not words:
        return
    pair = assigned(words[0])
    context = replace(context, via="")
    if pair is not None:
        yield place(pair[0], pair[1], context)
    elif NAME.fullmatch(words[0].text):
        value = words[1] if len(words) > 1 else Word(words[0].line)
        yield place(words[0].text, Word(words[0].line, value.pieces), context)


def unset(_: Shell, words: list[Word], __: Context, ___: Command) -> Iterator[Item]:
    for word in words:
        if NAME.fullmatch(word.text):
            yield Found(word.text, State.UNSET, (word.line,))
