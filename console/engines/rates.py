"""Which printed rates may be believed, and what the printed acceptance rate means.

Owns the judgement over a log's decode and statistics lines. SGLang's rate covers the time
since the last line, idle and prefill included, so the first after a pause says nothing about
decoding; vLLM's is an average over a window. A rate that is not reliable enters no mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from console.engines.facts import (
    ArgsSeen,
    DecodeSeen,
    FailureSeen,
    PrefillSeen,
    StatsSeen,
    TimingSeen,
)
from console.engines.line import Line
from console.engines.stamps import seconds
from console.engines.versions import Version

_LONG_GAP_S = 10.0
_GAP_GROWTH = 3.0
_MAX_RANKS = 256

RateKind = Literal["decode", "window", "live", "request"]
AcceptRate = Literal["len / draft tokens", "correct / proposed"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A rate in tokens a second. `doubt` says why it is unreliable, "" where it is not."""

    tok_s: float
    kind: RateKind
    doubt: str
    running: int | None
    rank: str


@dataclass(slots=True)
class _Rank:
    at_s: float | None = None
    gap_s: float | None = None
    doubt: str = "first line seen"


class Rates:
    """Feed the pieces of one log in order."""

    def __init__(self) -> None:
        self._ranks: dict[str, _Rank] = {}
        self._busy: dict[str, bool] = {}

    def add(self, line: Line) -> Judged | None:
        """The rate that the line carries, with its doubt; None where it carries none."""
        fact = line.fact
        match fact:
            case DecodeSeen():
                return self._decode(line, fact)
            case StatsSeen():
                return self._window(fact)
            case TimingSeen(kind="live"):
                speed = fact.window_tok_s if fact.window_tok_s is not None else fact.tok_s
                return None if speed is None else Judged(speed, "live", "", 1, "")
            case TimingSeen(kind="eval") if fact.tok_s is not None:
                return Judged(fact.tok_s, "request", "", 1, "")
            case PrefillSeen() if fact.running == 0 and not fact.probe:
                self._disturb(line, "window holds the pause or prefill before this request")
            case FailureSeen("kv-full"):
                self._disturb(line, "window holds a retraction")
            case ArgsSeen():
                self._ranks.clear()
                self._busy.clear()
            case _:
                pass
        return None

    def _rank(self, line: Line) -> _Rank:
        key = f"{line.head.source}|{line.head.ranks or line.head.pid or ''}"
        if len(self._ranks) >= _MAX_RANKS and key not in self._ranks:
            self._ranks.clear()
        return self._ranks.setdefault(key, _Rank())

    def _disturb(self, line: Line, why: str) -> None:
        rank = self._rank(line)
        rank.doubt = rank.doubt or why

    def _decode(self, line: Line, fact: DecodeSeen) -> Judged:
        rank = self._rank(line)
        at_s = seconds(line.head.at) or seconds(line.head.outer)
        gap_s = None if at_s is None or rank.at_s is None else at_s - rank.at_s
        doubt = rank.doubt
        if not doubt and gap_s is not None and gap_s > _LONG_GAP_S:
            usual = rank.gap_s if rank.gap_s is not None else 0.0
            if gap_s > _GAP_GROWTH * usual:
                doubt = f"follows a pause of {gap_s:.0f} s"
        rank.at_s, rank.gap_s, rank.doubt = at_s, gap_s, ""
        return Judged(fact.tok_s, "decode", doubt, fact.running, line.head.ranks)

    def _window(self, fact: StatsSeen) -> Judged:
        was_busy = self._busy.get(fact.engine)
        self._busy[fact.engine] = fact.running > 0
        doubt = ""
        if fact.running == 0:
            doubt = "window is partly or wholly idle"
        elif not was_busy:
            doubt = "window began before this request"
        return Judged(fact.tok_s, "window", doubt, fact.running, "")


@dataclass(frozen=True, slots=True)
class Definition:
    """What an `accept rate` means here; `draft_tokens` counts the bonus position."""

    rate: AcceptRate
    draft_tokens: int | None
    certain: bool


def definition(
    samples: Iterable[tuple[float, float]],
    version: Version | None = None,
    draft_tokens: int | None = None,
) -> Definition | None:
    """Which of SGLang's two definitions fits, from version, arguments or the figures alone.

    `samples` are (accept_len, accept_rate) as printed, two decimals each. Up to 0.5.9 the rate
    is len / draft tokens, bonus counted; from 0.5.12 it is correct drafts over proposed ones,
    (len - 1) / (draft tokens - 1). None where nothing decides.
    """
    pairs = [(length, rate) for length, rate in samples if rate > 0]
    fits: list[tuple[AcceptRate, int]] = []
    for n in range(2, 65) if draft_tokens is None else (draft_tokens,):
        if pairs and all(_fits(length, rate, n) for length, rate in pairs):
            fits.append(("len / draft tokens", n))
        if pairs and n > 1 and all(_fits(length - 1, rate, n - 1) for length, rate in pairs):
            fits.append(("correct / proposed", n))
    known = _by_version(version)
    if known is not None:
        tokens = [n for rate, n in fits if rate == known]
        return Definition(known, tokens[0] if len(tokens) == 1 else draft_tokens, True)
    if len({rate for rate, _ in fits}) != 1:
        return None
    return Definition(fits[0][0], fits[0][1] if len(fits) == 1 else None, False)


def _by_version(version: Version | None) -> AcceptRate | None:
    """None for unknown versions and for those between the last old and the first new one seen."""
    if version is None or Version(0, 5, 9) < version < Version(0, 5, 12):
        return None
    return "len / draft tokens" if version <= Version(0, 5, 9) else "correct / proposed"


def _fits(numerator: float, rate: float, n: int) -> bool:
    """Whether numerator / n rounds to rate, both printed with two decimals."""
    slack = 0.0051 / n + 0.0051
    return abs(numerator / n - rate) <= slack
