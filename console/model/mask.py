"""Secrets hidden: the values known in one session, and the one function that replaces them.

Owns what was learned, so that a key once seen under its name is masked wherever it stands bare
later. It never writes a value anywhere and never un-masks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from urllib.parse import quote, quote_plus

from console.model.ansi import SGR, UNSEEN
from console.model.secret import (
    MASKED,
    MIN_LEARNED,
    bare_credential,
    is_number,
    is_secret_key,
    is_value,
    secrets_in,
)

__all__ = ["MASKED", "MAX_LEARNED", "Masks", "is_secret_key"]

MAX_LEARNED = 256
"""Values kept; of those seen in text the oldest goes first, one given by `learn` stays."""

MAX_SEEN_LENGTH = 4096
"""Characters beyond which a value seen in text is masked there but not kept."""

_PARTS = re.compile(f"[{UNSEEN}]+")
_SGR = re.compile(f"({SGR.pattern.replace('(', '(?:')})")

Span = tuple[int, int]


class Masks:
    """The secrets known in one session, and the one function that hides them.

    Holds at most MAX_LEARNED values. Not shared between threads.
    """

    def __init__(self) -> None:
        self._given: dict[str, tuple[str, ...]] = {}
        self._seen: dict[str, tuple[str, ...]] = {}
        self.forms: tuple[str, ...] = ()
        """Every written form of every learned value, longest first."""

    def learn(self, value: str) -> None:
        """Mask this value from now on wherever it stands; a number or a short one is ignored."""
        for part in _PARTS.split(value):
            self._keep(part.strip(), self._given)

    def learn_pair(self, key: str, value: str) -> None:
        """Learn the value if its key says that it is secret, as in an environment or a header."""
        if is_secret_key(key) and is_value(value):
            self.learn(bare_credential(value))

    def mask(self, text: str) -> str:
        """The text with every secret replaced by `<masked>`; colour codes in it stay.

        Values found under a secret name are learned on the way.
        """
        # A replacement can join what stood apart; few rounds settle any honest text.
        for _ in range(8):
            once = self._once(text)
            if once == text:
                break
            text = once
        return text

    def _once(self, text: str) -> str:
        bare = SGR.sub("", text) if "\x1b" in text else text
        spans: list[Span] = []
        for secret in secrets_in(bare):
            if len(secret.value) <= MAX_SEEN_LENGTH:
                self._keep(secret.value, self._seen)
            spans.append((secret.start, secret.end))
        for form in self.forms:
            spans += _occurrences(bare, form)
        if not spans:
            return text
        # A mask that something overlaps grows; none is ever cut.
        spans += _occurrences(bare, MASKED)
        return _replaced(text, _merged(spans))

    def _keep(self, value: str, where: dict[str, tuple[str, ...]]) -> None:
        if len(value) < MIN_LEARNED or is_number(value) or MASKED in value:
            return
        if value in self._given or value in where:
            return
        self._seen.pop(value, None)
        if len(self._given) + len(self._seen) >= MAX_LEARNED:
            if not self._seen:
                return
            del self._seen[next(iter(self._seen))]
        where[value] = _forms(value)
        forms = dict.fromkeys(chain(*self._given.values(), *self._seen.values()))
        self.forms = tuple(sorted(forms, key=len, reverse=True))


def _forms(value: str) -> tuple[str, ...]:
    return (
        value,
        quote(value, errors="replace"),
        quote(value, safe="", errors="replace"),
        quote_plus(value, errors="replace"),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
    )


def _occurrences(text: str, form: str) -> Iterator[Span]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + len(form))


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _replaced(text: str, spans: list[Span]) -> str:
    """The text with each span (counted without colour codes) replaced, the codes kept in order."""
    pieces: list[str] = []
    queue = iter(spans)
    span = next(queue, None)
    at = 0
    for index, part in enumerate(_SGR.split(text)):
        if index % 2:
            pieces.append(part)
            continue
        begin, end = at, at + len(part)
        while span and span[0] < end:
            if span[0] >= begin:
                pieces += [part[at - begin : span[0] - begin], MASKED]
            at = min(span[1], end)
            if span[1] > end:
                break
            span = next(queue, None)
        pieces.append(part[at - begin :])
        at = end
    return "".join(pieces)
