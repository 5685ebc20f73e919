"""Reads shell text of any kind (scripts, batch files, fenced blocks, command strings): which
variables each command sets, hands on, loses or removes. Expands and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from console.nccl.finding import Severity
from console.nccl.importing import shell_commands as commands
from console.nccl.importing.found import (
    MAX_DEPTH,
    PAIR,
    Context,
    Found,
    Item,
    Problem,
    State,
    lost,
    restate,
)
from console.nccl.importing.prose import scan
from console.nccl.importing.shell_declare import NOT_EXPORTED
from console.nccl.importing.shell_env import ANY_ASSIGNED, assigned, place
from console.nccl.importing.shell_lex import Lexer
from console.nccl.importing.shell_syntax import Builder, Command
from console.nccl.importing.shell_text import Comment, Piece, Token, Word, default_of

_DIRECTIVE = re.compile(r"#(SBATCH|PBS|BSUB|\$|COBALT|FLUX:?)\s")
_WORD = re.compile(r"(?:[^\s\"']|\"[^\"]*\"|'[^']*')+")
_ASSIGNING = re.compile(r"\$\{(NCCL_[A-Za-z0-9_]+):?=")


class Script:
    """One piece of shell text and what it has exported so far."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.items: list[Item] = []
        self.exported: set[str] = set()
        self.all_exported = False
        self.pending: dict[str, list[int]] = {}
        self.unresolved: set[str] = set()
        self.ran = False

    def read(self, text: str, first: int = 1) -> list[Item]:
        """Everything the text does to NCCL_* names; lines count from `first`."""
        self.read_entry(text, first)
        return self.finish()

    def read_entry(self, text: str, first: int) -> None:
        """One part of a script, such as one entry of a history."""
        self.read_tokens(Lexer(text, first).run())

    def read_tokens(self, tokens: list[Token]) -> None:
        """The same of text that is cut already."""
        for part in Builder().build(tokens):
            if isinstance(part, Comment):
                self._comment(part)
            else:
                self._command(part)

    def read_words(self, words: list[Word]) -> list[Item]:
        """A command whose words are given, as in a list of arguments."""
        self._command(Command(words=words, line=words[0].line))
        return self.finish()

    def finish(self) -> list[Item]:
        """All items, those never exported included."""
        for indices in self.pending.values():
            for index in indices:
                one = self.items[index]
                if isinstance(one, Found) and one.state is State.LOST:
                    self.items.append(Problem(Severity.WARNING, (one.name,), one.lines, one.why))
        return self.items

    def _comment(self, comment: Comment) -> None:
        directive = _DIRECTIVE.match(comment.text)
        if directive is not None and "NCCL_" in comment.text:
            # Batch systems read these lines themselves: quotes still guard commas in them.
            text = comment.text[directive.end() :].partition(" #")[0]
            words = [Word(comment.line, [Piece(w[0], "plain")]) for w in _WORD.finditer(text)]
            found = list(commands.directive(words, self.context))
            if self.ran and directive[1] == "SBATCH":
                why = "sbatch stops reading directives at the first command"
                found = [*restate(found, State.LOST)]
                found.extend(
                    Problem(Severity.WARNING, (one.name,), one.lines, why)
                    for one in tuple(found)
                    if isinstance(one, Found)
                )
            self.items.extend(found)
        elif "NCCL_" in comment.text:
            self.items.extend(restate(scan(comment.text, comment.line), State.COMMENTED))

    def _command(self, command: Command) -> None:
        self.ran = True
        words = command.words
        context = replace(self.context, conditional=command.conditional or self.context.conditional)
        for word in words:
            self._assigning_expansions(word)
        at = 0
        while at < len(words) and ANY_ASSIGNED.match(words[at].text):
            at += 1
        prefixes, rest = words[:at], words[at:]
        if not rest and not command.fed:
            for word in prefixes:
                self._bare(word, context)
            return
        scoped = replace(context, scope=context.scope or f"command at line {command.line}")
        for word in prefixes:
            pair = assigned(word)
            if pair is not None:
                self._add(place(pair[0], pair[1], scoped))
            elif PAIR.search(word.text):
                self._holder(word)
        if rest and rest[0].text.startswith("-") and not context.loose:
            self._torn(command, rest, scoped)
            return
        for item in commands.interpret(self, rest, command, context, scoped):
            self._add(item)

    def _add(self, item: Item) -> None:
        if isinstance(item, Found) and item.why in NOT_EXPORTED:
            self.pending.setdefault(item.name, []).append(len(self.items))
        elif isinstance(item, Found) and item.state is State.UNRESOLVED and not item.scope:
            self.unresolved.add(item.name)
        self.items.append(item)

    def nested(self, text: str, line: int, context: Context) -> Iterator[Item]:
        """Items of a command string inside a command."""
        if self.context.depth < MAX_DEPTH:
            yield from read_shell(text, line, context)

    def _assigning_expansions(self, word: Word) -> None:
        for piece in word.pieces:
            found = _ASSIGNING.match(piece.text) if piece.kind == "expansion" else None
            if found is not None and found[1] not in self.exported:
                self.exported.add(found[1])
                self._add(
                    Found(
                        found[1],
                        State.UNRESOLVED,
                        (word.line,),
                        raw=piece.text,
                        default=default_of(piece.text),
                    )
                )

    def _bare(self, word: Word, context: Context) -> None:
        """An assignment that stands alone: a shell variable unless exported before or after."""
        pair = assigned(word)
        if pair is None or (word.array or PAIR.search(pair[1].text)):
            if PAIR.search(word.text.partition("=")[2]):
                self._holder(word)
            return
        name, value = pair
        one = place(name, value, context)
        inherited = name in self.exported or self.all_exported or context.loose
        if one.state is State.SET and not inherited and "ENV_NCCL" not in word.text:
            one = replace(one, state=State.LOST, scope="", why=NOT_EXPORTED[0])
        elif inherited:
            self.exported.add(name)
        self._add(one)

    def export(self, name: str, line: int, context: Context) -> None:
        """`export NAME`: what was assigned before now counts; else the caller's value passes."""
        for index in self.pending.pop(name, ()):
            one = self.items[index]
            if isinstance(one, Found):
                self.items[index] = replace(one, state=State.SET, why="")
                self.exported.add(name)
        if name not in self.exported and name not in self.unresolved:
            self._add(Found(name, State.UNRESOLVED, (line,), scope=context.scope, from_caller=True))
        self.exported.add(name)

    def _holder(self, word: Word) -> None:
        """A variable or array that holds settings for a later command."""
        name, _, _ = word.text.partition("=")
        value = word.after(len(name) + 1)
        if self.context.depth < MAX_DEPTH:
            inner = self.context.deeper(loose=True, via=name.rstrip("+"))
            self.items.extend(Script(inner).read(value.text, word.line))

    def _torn(self, command: Command, rest: list[Word], scoped: Context) -> None:
        """Options that begin a command: a comment or an empty line cut them off."""
        why = "cut off from its command: what should be an option is run as a command"
        lines = (command.comment.line,) if command.comment is not None else ()
        for item in commands.directive(rest, scoped):
            if isinstance(item, Found) and item.state is State.SET:
                self._add(lost(item.name, item.value, item.lines, why))
                self._add(Problem(Severity.ERROR, (item.name,), (*lines, *item.lines), why))


def read_shell(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of a shell text whose first line is line `first`. A quote that never ends spoils
    only its own line where the text is a document's or a history's."""
    if "NCCL_" not in text:
        return
    if context.loose:
        lexer = Lexer(text, first)
        tokens = lexer.run()
        if lexer.unclosed:
            yield from _line_by_line(text, first, context)
            return
        script = Script(context)
        script.read_tokens(tokens)
        yield from script.finish()
        return
    yield from Script(context).read(text, first)


def _line_by_line(text: str, first: int, context: Context) -> Iterator[Item]:
    rows = text.split("\n")
    at = 0
    while at < len(rows):
        start = at
        while rows[at].endswith("\\") and at + 1 < len(rows):
            at += 1
        at += 1
        chunk = "\n".join(rows[start:at])
        if "NCCL_" in chunk:
            yield from Script(context).read(chunk, first + start)
