"""Reads Dockerfiles: ENV in both forms, build arguments, what RUN writes or loses, CMD and
ENTRYPOINT, and which stages the final image is made of. Builds nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from console.nccl.finding import Severity
from console.nccl.importing.found import (
    NAME,
    Context,
    Found,
    Item,
    Problem,
    State,
    lose,
    lost,
    refused,
    restate,
)
from console.nccl.importing.prose import scan
from console.nccl.importing.shell import Script, read_shell
from console.nccl.importing.shell_env import ANY_ASSIGNED, assigned, place
from console.nccl.importing.shell_lex import Lexer
from console.nccl.importing.shell_text import Piece, Word
from console.nccl.importing.written import read_written

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(\s+|$)(.*)", re.DOTALL)
_HEREDOC = re.compile(r"<<-?([\"']?)([A-Za-z_][A-Za-z0-9_]*)\1")
_FROM = re.compile(r"(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE)


@dataclass(slots=True)
class _Step:
    word: str
    text: str
    line: int
    body: str = ""
    body_line: int = 0


@dataclass(slots=True)
class _Stage:
    name: str
    base: str
    items: list[Item] = field(default_factory=list)


def read_dockerfile(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items in the order of the file; what only a stage beside the final image sets is lost."""
    context = replace(context, loose=False)
    stages = [_Stage("", "")]
    for step in _steps(text, first):
        if isinstance(step, Found):
            stages[-1].items.append(step)
        elif step.word == "FROM":
            found = _FROM.match(step.text.strip())
            base, name = (found[1], found[2] or "") if found is not None else ("", "")
            stages.append(_Stage(name.lower(), base.lower()))
        else:
            stages[-1].items.extend(_step(step, context))
    kept = _ancestry(stages)
    for at, stage in enumerate(stages):
        if at in kept:
            yield from stage.items
        else:
            yield from lose(stage.items, "another build stage: not in the final image")


def _ancestry(stages: list[_Stage]) -> set[int]:
    """Indices of the stages the last one is built on, itself and the file's head included."""
    kept = {0}
    at = len(stages) - 1
    while at not in kept:
        kept.add(at)
        base = stages[at].base
        before = [i for i in range(1, at) if base in (stages[i].name, str(i - 1)) and base]
        if not before:
            break
        at = before[-1]
    return kept


def _steps(text: str, first: int) -> Iterator[_Step | Found]:
    """Instructions with their continuations joined by newlines, and commented settings."""
    rows = text.split("\n")
    escape = "`" if re.search(r"(?im)^#\s*escape\s*=\s*`", text[:500]) else "\\"
    at = 0
    while at < len(rows):
        start = at
        row = rows[at].rstrip("\r")
        at += 1
        if row.lstrip().startswith("#"):
            yield from restate(_commented(row, first + start), State.COMMENTED)
            continue
        parts = [row]
        while parts[-1].rstrip().endswith(escape) and at < len(rows):
            parts[-1] = parts[-1].rstrip()[: -len(escape)] + "\\"
            row = rows[at].rstrip("\r")
            at += 1
            if row.lstrip().startswith("#"):
                yield from restate(_commented(row, first + at - 1), State.COMMENTED)
                row = "\\"
            parts.append(row if row.strip() else "\\")
        found = _INSTRUCTION.match("\n".join(parts))
        if found is None:
            continue
        step = _Step(found[1].upper(), found[3], first + start)
        step.line += found[0][: found.start(3)].count("\n")
        mark = _HEREDOC.search(step.text)
        if mark is not None and step.word in ("RUN", "COPY", "ADD"):
            step.body_line = first + at
            stop = at
            while stop < len(rows) and rows[stop].strip() != mark[2]:
                stop += 1
            step.body = "\n".join(rows[at:stop])
            at = min(stop + 1, len(rows))
        yield step


def _commented(row: str, line: int) -> Iterator[Found]:
    old = re.match(r"\s*#\s*ENV\s+(NCCL_[A-Z0-9_]+)\s+([^=\s].*)", row)
    if old is not None:
        yield Found(old[1], State.SET, (line,), value=old[2].strip())
    else:
        yield from scan(row, line)


def _step(step: _Step, context: Context) -> Iterator[Item]:
    if "NCCL_" not in step.text and "NCCL_" not in step.body:
        return
    if step.word == "ONBUILD":
        found = _INSTRUCTION.match(step.text)
        if found is not None:
            yield from _step(replace(step, word=found[1].upper(), text=found[3]), context)
    elif step.word == "ENV":
        yield from _env(step, context)
    elif step.word == "ARG":
        why = "a build argument: not in the environment of the running container"
        for word in _words(step):
            pair = assigned(word)
            if pair is not None:
                yield lost(pair[0], pair[1].text, (word.line,), why)
                yield Problem(Severity.WARNING, (pair[0],), (word.line,), why)
    elif step.word == "RUN":
        text = step.text if not step.body else ""
        why = "set while the image is built: it ends with its RUN"
        yield from lose(read_shell(text, step.line, context), why)
        target = re.search(r">>?\s*(\S+)\s*$", step.text) if step.body else None
        if step.body and target is not None:
            yield from read_written(step.body, step.body_line, target[1], context, open_text=True)
        elif step.body:
            yield from lose(read_shell(step.body, step.body_line, context), why)
    elif step.word in ("CMD", "ENTRYPOINT"):
        yield from _start(step, context)
    elif step.word in ("COPY", "ADD") and step.body:
        into = step.text.split()[-1]
        yield from read_written(step.body, step.body_line, into, context, open_text=True)


def _words(step: _Step) -> list[Word]:
    return [token for token in Lexer(step.text, step.line).run() if isinstance(token, Word)]


def _env(step: _Step, context: Context) -> Iterator[Item]:
    first = re.match(r"\s*\\?\s*(\S+)\s*", step.text)
    if first is not None and "=" not in first[1]:
        value = step.text[first.end() :].strip()
        if NAME.fullmatch(first[1]):
            yield _old_form(first[1], value, step.line)
        return
    # Dockerfiles know no comment behind an instruction: # is a word like any other.
    for word in Lexer(step.text.replace("#", "\\#"), step.line).run():
        if not isinstance(word, Word) or not word.text:
            continue
        pair = assigned(word)
        if pair is not None:
            yield place(pair[0], pair[1], replace(context, dialect="docker"))
        elif not ANY_ASSIGNED.match(word.text) and word.text.strip():
            why = f"docker build fails: {word.text!r} is no name=value"
            for found in scan(step.text, step.line):
                yield Problem(Severity.ERROR, (found.name,), (word.line,), why)
            return


def _old_form(name: str, value: str, line: int) -> Found:
    """ENV NAME rest of the line: the rest is the value, `#` and all."""
    quoted = re.fullmatch(r"\"([^\"$]*)\"|'([^']*)'", value)
    if quoted is not None:
        value = quoted[1] if quoted[1] is not None else quoted[2]
    elif re.search(r"(?<!\\)\$[A-Za-z_{]", value):
        word = Word(line, [Piece(value, "expansion")])
        return Found(name, State.UNRESOLVED, (line,), raw=value, default=word.default())
    return Found(name, State.SET, (line,), value=value)


def _start(step: _Step, context: Context) -> Iterator[Item]:
    """CMD and ENTRYPOINT, as a JSON list or as a shell line."""
    flat = re.sub(r"\\\n", "\n", step.text)
    try:
        argv = json.loads(flat) if flat.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        argv = None
    if isinstance(argv, list) and argv:
        words = []
        for part in argv:
            where = step.text.find(json.dumps(part))
            line = step.line + step.text[: max(where, 0)].count("\n")
            words.append(Word(line, [Piece(str(part), "quoted")]))
        pair = assigned(words[0])
        if pair is not None:
            why = "without a shell it is taken for the program's name"
            yield from refused(pair[0], pair[1].text, (words[0].line,), why)
            return
        yield from Script(context).read_words(words)
    else:
        yield from read_shell(step.text, step.line, context)
