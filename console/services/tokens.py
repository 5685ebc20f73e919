"""Tokens as a log tells them: which rate holds now, over all ranks that report one.

Owns which lines are a sign of tokens and that a doubtful rate is none. Asks nobody.
"""

from __future__ import annotations

from typing import NamedTuple

from console.engines.facts import DecodeSeen, IterationSeen, SpecSeen, StatsSeen, TimingSeen
from console.engines.line import Line
from console.engines.rates import Judged, Rates
from console.model.clock import US_PER_S, Clock, Pace

_MOST_RANKS = 256


class Signs(NamedTuple):
    """Tokens were made; no rate where the line's own was doubtful. The bonus token is counted."""

    tok_s: float | None
    accept_len: float | None


class Tokens:
    """Feed the lines of one log in order; ask after each batch."""

    def __init__(self, clock: Clock, pace: Pace) -> None:
        self._clock = clock
        self._fresh_us = round(pace.fresh_s * US_PER_S)
        self._rates = Rates()
        self._by_rank: dict[str, tuple[float, int]] = {}
        self._made = False
        self._sure = False
        self._accept_len: float | None = None

    def add(self, line: Line) -> Judged | None:
        """One line; the rate that it carries, with its doubt."""
        judged = self._rates.add(line)
        self._count(line, judged)
        return judged

    def _count(self, line: Line, judged: Judged | None) -> None:
        match line.fact:
            case DecodeSeen() as fact:
                rank = line.head.ranks
                self._accept_len = fact.accept_len
            case StatsSeen() as fact:
                rank = fact.engine
            case TimingSeen() as fact:
                rank = str(fact.slot)
            case SpecSeen() as fact:
                self._accept_len = fact.accept_len
                return
            case IterationSeen() as fact:
                self._made = self._made or fact.running > 0
                return
            case _:
                return
        if judged is None or judged.tok_s <= 0:
            return
        self._made = True
        self._sure = not judged.doubt
        if self._sure:
            if len(self._by_rank) >= _MOST_RANKS:
                self._by_rank.clear()
            self._by_rank[rank] = (judged.tok_s, self._clock.now_us())

    def seen(self) -> Signs | None:
        """What the lines since the last call show; None where no token was made."""
        made, self._made = self._made, False
        if not made:
            return None
        oldest_us = self._clock.now_us() - self._fresh_us
        rates = [rate for rate, at_us in self._by_rank.values() if at_us >= oldest_us]
        return Signs(sum(rates) if self._sure and rates else None, self._accept_len)

    def forget(self) -> None:
        """What came so far is past and says nothing about now."""
        self._by_rank.clear()
        self._made = False
        self._accept_len = None
