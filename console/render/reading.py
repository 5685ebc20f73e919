"""What one line says, for a pane: how grave it is, whether it is noise, whose it is, when.

Asks the engines' grammar; called for lines in view and for the few that may be noise, never for
every line that arrives.
"""

from __future__ import annotations

import re

from console.engines.facts import (
    AccessSeen,
    DecodeSeen,
    Fact,
    Severity,
    SpecSeen,
    StatsSeen,
    TimingSeen,
)
from console.engines.grammar import parse_line
from console.engines.head import behead, unwrap
from console.engines.line import Line
from console.engines.severity import noise, severity
from console.engines.stamps import seconds
from console.model.palette import Role
from console.model.text import Clean, plain
from console.render.units import rate

POLLS = frozenset({"poll", "probe"})
ACCESS = POLLS | {"access"}
NOISE = ACCESS | {"deprecation", "chatter", "blank"}
PRESETS: tuple[tuple[str, frozenset[str]], ...] = (
    ("nothing hidden", frozenset()),
    ("health polls hidden", POLLS),
    ("polls and access lines hidden", ACCESS),
    ("all noise hidden", NOISE),
)
"""What may be hidden, in the order a key goes through."""

_MAYBE_NOISE = re.compile(
    r'"[A-Z]+ /|request: |Prefill batch|NCCL INFO|\[Gloo\]|[Ww]arning|deprecat|Ignore import'
    r"|nanobind| - (?:leaked|\.\.\. skipped)|^\s*$"
)
_GRAVITY: tuple[Severity, ...] = ("debug", "info", "warning", "error")
_BAD_REQUEST = 400
_ROLES: dict[Severity, Role] = {
    "debug": Role.DIM,
    "warning": Role.LOG_WARNING,
    "error": Role.LOG_ERROR,
}
_ZONED = re.compile(r"\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)(?!\d)")
_FINE = re.compile(r"\[[^\]]*\] (?:Decode|Prefill) batch|(?:\x1b\[32m)?INFO")


def gravity(text: Clean) -> Severity:
    """The gravest of a line's pieces."""
    found = [severity(piece) for piece in parse_line(plain(text))]
    return max(found, key=_GRAVITY.index, default="info")


def base_role(text: Clean) -> Role:
    """The role of a line's message, by how grave it is."""
    return _ROLES.get(gravity(text), Role.TEXT)


def figures(text: Clean) -> str:
    """What a line about decoding comes to, for where it is cut short; empty for others."""
    told = (_figures(piece.fact) for piece in parse_line(plain(text)))
    return next((found for found in told if found), "")


def _figures(fact: Fact | None) -> str:
    match fact:
        case DecodeSeen():
            return _both(fact.accept_len, fact.tok_s)
        case StatsSeen():
            return _both(None, fact.tok_s)
        case SpecSeen():
            return _both(fact.accept_len, None)
        case TimingSeen(kind="live" | "eval"):
            recent = fact.window_tok_s
            return _both(None, fact.tok_s if recent is None else recent)
        case _:
            return ""


def _both(accept_len: float | None, tok_s: float | None) -> str:
    accepted = [] if accept_len is None else [f"accept {accept_len:.2f}"]
    return "  ".join(accepted + ([] if tok_s is None else [f"{rate(tok_s)} tok/s"]))


def surely_fine(text: Clean) -> bool:
    """Whether the line can be passed over in a search for errors without parsing it."""
    return _FINE.match(text) is not None


def stamp_s(text: str) -> float | None:
    """Seconds on the log's own clock, by the line's stamp; None where it has none."""
    head, _ = behead(*unwrap(plain(Clean(text))[:200]))
    at = head.at or head.outer or text
    return seconds(at)


def rank(text: Clean) -> str:
    """Which rank wrote the line, as it names itself: `TP3`, `DP0 TP1`, `GPU 2`; else empty."""
    return behead(*unwrap(plain(text)[:200]))[0].ranks


def zoned(text: str) -> bool:
    """Whether the line's stamp says its own zone."""
    return _ZONED.search(text[:200]) is not None


def is_noise(text: Clean, hidden: frozenset[str]) -> bool:
    """Whether the line says nothing but what is to be hidden; a refused request never does."""
    if not hidden or not _MAYBE_NOISE.search(text):
        return False
    pieces = parse_line(plain(text))
    if not pieces:
        return "blank" in hidden
    return all(_hidden(piece, hidden) for piece in pieces)


def _hidden(piece: Line, hidden: frozenset[str]) -> bool:
    kind = noise(piece)
    if kind == "access" and isinstance(piece.fact, AccessSeen):
        return "access" in hidden and piece.fact.code < _BAD_REQUEST
    return kind in hidden
