"""What the log of a server that is up shows of its work: kernels being compiled, a rate far below
its own.

Owns both judgements and when they are over. A health check sees neither; one line proves nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from statistics import median

from console.engines.facts import BarSeen, DecodeSeen, PrefillSeen, StatsSeen
from console.engines.line import Line
from console.engines.rates import Judged
from console.model.clock import US_PER_S, Pace
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.events import Event
from console.stream.fact import NOTHING, Condition
from console.stream.server_events import ConditionSeen
from console.stream.session_events import Noticed

SLOWED = 4.0
"""Decoding is slowed when steps come so many times more rarely than they did ..."""
AGAIN = 2.0
"""... and is itself again within this factor."""
PROOF = 3
"""Believable lines in a row that prove it, with no prefill between them."""
ALL_REFUSED = 1.05
"""Tokens a step at which drafts add nothing; the bonus token alone makes 1."""
EMPTY_WINDOWS = 6
"""Statistics in a row without a token: a minute."""
_LEVEL_LINES = 8
_REFUSED_REMEDY = (
    "Compare with the baseline at this load: larger batches, other prompts or a draft model that"
    " does not fit refuse drafts; some versions switch speculation off by themselves."
)
_SLOWEST = 3.0  # steps a second; below them a pause between lines says more than the rate


class Serving:
    """Feed the lines of one process in order; ask after each batch."""

    def __init__(self, server: Clean, pace: Pace, masks: Masks) -> None:
        self._server = server
        self._scale = pace.scale
        self._masks = masks
        self._level: deque[tuple[float, float, int]] = deque(maxlen=_LEVEL_LINES)
        self._slow: list[tuple[float, float, str]] = []
        self._accepts: deque[float] = deque(maxlen=_LEVEL_LINES)
        self._refused = 0
        self._notices: list[str] = []
        self._empty: list[str] = []
        self._now = (Condition.WELL, "", 0)
        self._told = self._now

    def add(self, line: Line, judged: Judged | None) -> None:
        """One line of a server that has finished loading."""
        match line.fact:
            case BarSeen(kind="compile") as bar:
                self._compiles(bar)
            case DecodeSeen() as fact:
                if self._now[0] is Condition.COMPILING:
                    self._now = (Condition.WELL, "", 0)
                if judged is not None and not judged.doubt:
                    self._decodes(fact, line.head.at)
                    self._verifies(fact, line.head.at)
            case StatsSeen() as fact:
                self._window(fact, line.head.at)
            case PrefillSeen() as fact if not fact.probe:
                self._slow.clear()
            case _:
                pass

    def seen(self) -> Iterator[Event]:
        """What is new since the last call."""
        for text in self._notices:
            shown, helps = clean(text, self._masks), Clean(_REFUSED_REMEDY)
            yield Noticed(self._server, Clean("warning"), shown, helps)
        self._notices.clear()
        if self._now == self._told:
            return
        before, self._told = self._told, self._now
        condition, why, eta_us = self._now
        text = clean(why, self._masks) if why else NOTHING
        yield ConditionSeen(self._server, condition, text, eta_us or None)
        if condition is Condition.SLOWED and before[0] is not Condition.SLOWED:
            helps = Clean("Health answers all the same. Look at retractions, clocks and the queue.")
            yield Noticed(self._server, Clean("warning"), text, helps)

    def _compiles(self, bar: BarSeen) -> None:
        if bar.total and bar.done >= bar.total:
            self._now = (Condition.WELL, "", 0)
            return
        what = bar.label or "kernels"
        eta_us = round((bar.eta_s or 0.0) / self._scale * US_PER_S)
        self._now = (Condition.COMPILING, f"compiling: {what} {bar.fraction:.0%}", eta_us)

    def _window(self, fact: StatsSeen, at: str) -> None:
        """vLLM's windows are of ten seconds: requests in them, and neither prompt nor token."""
        if not fact.running or fact.tok_s or fact.prompt_tok_s:
            self._empty.clear()
            if self._now[0] is Condition.SILENT:
                self._now = (Condition.WELL, "", 0)
            return
        self._empty.append(at)
        if len(self._empty) == EMPTY_WINDOWS:
            since = f" since {self._empty[0][-8:]}" if self._empty[0] else ""
            why = f"requests run, but its log shows no token{since}"
            self._now = (Condition.SILENT, why, 0)

    def _verifies(self, fact: DecodeSeen, at: str) -> None:
        """Drafts that are all refused, where some were accepted before: noticed once."""
        if fact.accept_len is None:
            return
        if fact.accept_len > ALL_REFUSED:
            self._accepts.append(fact.accept_len)
            self._refused = 0
            return
        self._refused += 1
        if self._refused == PROOF and self._accepts:
            before = median(self._accepts)
            self._accepts.clear()
            since = f" at {at[-8:]}" if at else ""
            self._notices.append(
                f"every draft is refused{since}: {fact.accept_len:.2f} tokens a step,"
                f" {before:.2f} before"
            )

    def _decodes(self, fact: DecodeSeen, at: str) -> None:
        """Steps a second, which neither how much is accepted nor a few requests more change by
        much; a batch twice as large has a level of its own."""
        if fact.running <= 0:
            return
        if self._level and fact.running > 2 * self._level[-1][2]:
            self._level.clear()
            self._slow.clear()
        steps_s = fact.tok_s / fact.running / (fact.accept_len or 1.0)
        level = sorted(self._level)[len(self._level) // 2][0] if len(self._level) > 1 else 0.0
        slowed = self._now[0] is Condition.SLOWED
        if steps_s * (AGAIN if slowed else SLOWED) >= level:
            self._level.append((steps_s, fact.tok_s, fact.running))
            if slowed:
                self._now = (Condition.WELL, "", 0)
            if self._slow:
                self._slow.clear()
            return
        if slowed or level < _SLOWEST:
            return
        self._slow.append((steps_s, fact.tok_s, at))
        if len(self._slow) >= PROOF:
            before, now = median(t for _, t, _ in self._level), median(t for _, t, _ in self._slow)
            since = f" since {self._slow[0][2][-8:]}" if self._slow[0][2] else ""
            why = f"decodes at {now:.3g} tok/s{since}, {before:.3g} before"
            self._now = (Condition.SLOWED, why, 0)
            self._slow.clear()
