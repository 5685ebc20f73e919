"""Cuts shell text into words, operators and comments without expanding anything: quotes are
removed as the shell does, every expansion stays as written. Linear in the text."""

from __future__ import annotations

import re

from console.nccl.importing.shell_text import (
    Comment,
    HereDoc,
    Operator,
    Piece,
    Token,
    Word,
    closing,
    expansion_end,
)

MAX_BROKEN = 100
"""Unclosed expansions after which a source is taken not to hold any more."""

_PLAIN = re.compile(r"[^ \t\n\r\v\f'\"\\$`#;&|<>(){]+")
_TEMPLATE = re.compile(r"\{\{[^\n]{0,400}?\}\}")
_BLANK = re.compile(r"[ \t\v\f]+")
_OPERATOR = re.compile(r"&&|\|\||;;&|;&|;;|\|&|<<<|<<-|<<|>>|&>>|&>|>&|<&|<>|>\||[;&|<>()\n]")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_HOLE = re.compile(r"<[^<>\n=|&;]{1,80}>")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "e": "\x1b"}


class Lexer:
    """One pass over `text`; `unclosed` tells that a quote never ended."""

    def __init__(self, text: str, first: int = 1) -> None:
        self.text = text
        self.at = 0
        self.line = first
        self.unclosed = False
        self.dead: set[str] = set()
        self.waiting: list[tuple[str, bool, bool]] = []
        self.tokens: list[Token] = []
        self.continued = False
        self.broken = 0

    def run(self) -> list[Token]:
        """All tokens of the text."""
        while self.at < len(self.text):
            blank = _BLANK.match(self.text, self.at)
            if blank is not None:
                self.at = blank.end()
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
                self.line += 1
                self.continued = True
            elif self.text[self.at] == "#":
                self._comment()
            else:
                self._operator_or_word()
        return self.tokens

    def _comment(self) -> None:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        self.tokens.append(Comment(self.text[self.at : end], self.line, self.continued))
        self.at = end

    def _operator_or_word(self) -> None:
        operator = _OPERATOR.match(self.text, self.at)
        if operator is None:
            self._word()
            return
        self.tokens.append(Operator(operator[0], self.line))
        self.at = operator.end()
        if operator[0] in ("<<", "<<-"):
            self._delimiter(operator[0] == "<<-")
        if operator[0] == "\n":
            self.line += 1
            self.continued = False
            self._bodies()

    def _delimiter(self, dashed: bool) -> None:
        blank = _BLANK.match(self.text, self.at)
        if blank is not None:
            self.at = blank.end()
        before = len(self.tokens)
        self._word()
        word = self.tokens[before] if len(self.tokens) > before else None
        del self.tokens[before:]
        if isinstance(word, Word) and word.text:
            self.waiting.append((word.text, dashed, word.quoted))

    def _bodies(self) -> None:
        for delimiter, dashed, verbatim in self.waiting:
            first, start = self.line, self.at
            stop = len(self.text)
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                row = self.text[self.at : end]
                begin, self.at = self.at, min(end + 1, len(self.text))
                self.line += 1
                if (row.lstrip("\t") if dashed else row).rstrip("\r") == delimiter:
                    stop = begin
                    break
            self.tokens.append(HereDoc(self.text[start:stop], first, verbatim))
        self.waiting.clear()

    def _word(self) -> None:
        word = Word(self.line)
        start = self.at
        while self.at < len(self.text):
            plain = _PLAIN.match(self.text, self.at)
            if plain is not None:
                word.pieces.append(Piece(plain[0], "plain"))
                self.at = plain.end()
                continue
            if not self._special(word, start):
                break
        self.tokens.append(word)

    def _special(self, word: Word, start: int) -> bool:
        """Handles one character that is not plain; False where the word ends."""
        char = self.text[self.at]
        if char in "'\"":
            self._quote(word, char)
        elif char == "\\":
            if self.text.startswith("\\\n", self.at):
                self.line += 1
            elif self.at + 1 < len(self.text):
                word.pieces.append(Piece(self.text[self.at + 1], "quoted"))
            self.at += 2
        elif char == "$" and self.text.startswith(("$'", '$"'), self.at):
            self._ansi_quote(word)
        elif char in "$`":
            self._expansion(word)
        elif char == "{":
            template = _TEMPLATE.match(self.text, self.at)
            body = template[0] if template is not None else "{"
            word.pieces.append(Piece(body, "expansion" if template is not None else "plain"))
            self.at += len(body)
        elif char == "#" and self.at > start:
            word.pieces.append(Piece("#", "plain"))
            self.at += 1
        elif (
            char == "<"
            and self.text[self.at - 1] in "=\"'"
            and (hole := _HOLE.match(self.text, self.at))
        ):
            word.pieces.append(Piece(hole[0], "expansion"))
            self.at = hole.end()
        elif char == "(" and word.pieces and word.pieces[-1].text.endswith("="):
            self._array(word)
        elif char == "\r" and self.at > start:
            word.pieces.append(Piece("\r", "plain"))
            self.at += 1
        elif self.at == start and _OPERATOR.match(self.text, self.at) is None:
            word.pieces.append(Piece(char, "plain"))
            self.at += 1
        else:
            return False
        return True

    def _quote(self, word: Word, char: str) -> None:
        end = -1 if char in self.dead else self._closing(char)
        if end < 0:
            self.dead.add(char)
            self.unclosed = True
            word.pieces.append(Piece(char, "plain"))
            self.at += 1
        elif char == "'":
            body = self.text[self.at + 1 : end]
            word.pieces.append(Piece(body, "quoted"))
            self.line += body.count("\n")
            self.at = end + 1
        else:
            word.pieces.append(Piece("", "quoted"))
            self._double(word, end)

    def _closing(self, char: str) -> int:
        """Where the quote opened here ends, -1 if nowhere."""
        if char == "'":
            return self.text.find("'", self.at + 1)
        at = self.at + 1
        while at < len(self.text):
            run = _IN_DOUBLE.match(self.text, at)
            if run is not None:
                at = run.end()
            elif self.text[at] == '"':
                return at
            elif self.text[at] == "\\":
                at += 2
            else:
                at = max(self._expansion_end(at), at + 1)
        return -1

    def _double(self, word: Word, end: int) -> None:
        self.at += 1
        while self.at < end:
            run = _IN_DOUBLE.match(self.text, self.at, end)
            if run is not None:
                word.pieces.append(Piece(run[0], "quoted"))
                self.line += run[0].count("\n")
                self.at = run.end()
            elif self.text[self.at] == "\\":
                follower = self.text[self.at + 1]
                kept = follower if follower in '"\\$`' else "" if follower == "\n" else None
                self.line += follower == "\n"
                word.pieces.append(Piece("\\" + follower if kept is None else kept, "quoted"))
                self.at += 2
            else:
                stop = self._expansion_end(self.at)
                kind = "expansion" if stop > self.at else "quoted"
                body = self.text[self.at : max(stop, self.at + 1)]
                word.pieces.append(Piece(body, kind))
                self.line += body.count("\n")
                self.at += len(body)
        self.at = end + 1

    def _ansi_quote(self, word: Word) -> None:
        self.at += 1
        before = len(word.pieces)
        ansi = self.text[self.at] == "'"
        self._quote(word, self.text[self.at])
        for piece in word.pieces[before:] if ansi else ():
            piece.text = re.sub(
                r"\\(.)", lambda m: _ANSI.get(m[1], m[0]), piece.text, flags=re.DOTALL
            )

    def _expansion_end(self, at: int) -> int:
        if self.broken >= MAX_BROKEN:
            return at
        stop = expansion_end(self.text, at)
        self.broken += stop == at
        return stop

    def _expansion(self, word: Word) -> None:
        stop = self._expansion_end(self.at)
        kind = "expansion" if stop > self.at else "plain"
        body = self.text[self.at : max(stop, self.at + 1)]
        word.pieces.append(Piece(body, kind))
        self.line += body.count("\n")
        self.at += len(body)

    def _array(self, word: Word) -> None:
        """NAME=( ... ): kept as one word whose text is the inside."""
        stop = -1 if self.broken >= MAX_BROKEN else closing(self.text, self.at, "(", ")")
        if stop < 0:
            self.broken += 1
            word.pieces.append(Piece("(", "plain"))
            self.at += 1
            return
        body = self.text[self.at + 1 : stop - 1]
        word.pieces.append(Piece(body, "quoted"))
        word.array = True
        self.line += body.count("\n")
        self.at = stop
