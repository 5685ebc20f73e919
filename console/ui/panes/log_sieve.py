"""Which lines of a log are wanted: searched in slices, towards both ends from where one reads.

Keeps numbers, never texts. Whoever drives it decides how long a slice may take; a pattern that is
too slow stops the search for good and is said.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from console.model.clock import Clock
from console.model.fleet import LogId
from console.model.text import Clean
from console.render.folds import Folds, raised, stands_alone
from console.render.label import label
from console.render.pattern import Pattern, TooSlow
from console.render.reading import is_noise
from console.stream.logs import Chunk, Logs
from console.ui.panes.log_numbers import Numbers

_ALIGN_LINES = 256
_MOST_DENIED = 10_000
_MOST_TAIL = 300
TOO_LONG_US = 250_000
"""A stretch that a pattern needs longer for is its last."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants to see of a log.

    Attributes:
        include: only lines with it are shown.
        exclude: lines with it are not shown.
        mark: lines with it are counted and can be gone to.
        quiet: kinds of noise to hide.
        fold: tracebacks and repeats under their first line.
    """

    include: Pattern | None = None
    exclude: Pattern | None = None
    mark: Pattern | None = None
    quiet: frozenset[str] = frozenset()
    fold: bool = True

    @property
    def all_shown(self) -> bool:
        """Whether every line is shown as a line of its own."""
        return not (self.include or self.exclude or self.quiet or self.fold)

    @property
    def timed(self) -> bool:
        """Whether a pattern decides how long a line takes."""
        return bool(self.include or self.exclude or self.mark)

    @property
    def searched(self) -> bool:
        """Whether the whole log must be gone through, to count."""
        return self.timed or bool(self.quiet)


@dataclass(slots=True)
class _Found:
    """What one stretch of lines came to."""

    shown: list[int]
    hits: list[int]
    late: list[int]


class Sieve:
    """The wanted numbers of one log, searched from `low` up to before `high` so far."""

    def __init__(self, logs: Logs, log: LogId, wanted: Wanted, start: int, clock: Clock) -> None:
        self._logs, self._log, self._clock = logs, log, clock
        self.wanted = wanted
        self.shown = Numbers()
        self.hits = Numbers()
        self.repeats: dict[int, int] = {}
        self.bodies: dict[int, array[int]] = {}
        self.tails: dict[int, str] = {}
        self.hidden = 0
        self.stopped = ""
        self.low = self.high = _aligned(logs, log, start) if wanted.fold else start
        # Several logs laid together are folded each by itself: what repeats in another one is
        # another server's, and a traceback goes on in the log where it began.
        self._live: dict[LogId, Folds] = {}
        self._denied: set[int] = set()

    @property
    def first_held(self) -> int:
        """The oldest number the log still holds."""
        return self._logs.reach(self._log)[0]

    @property
    def whole(self) -> bool:
        """Whether everything older has been gone through."""
        return self.low <= self.first_held or bool(self.stopped)

    def search_on(self, end: int, most: int, due_us: int) -> bool:
        """Search newer lines, up to `most` or until the clock says `due_us`; True when all are."""
        left = most
        for chunk in self._logs.chunks(self._log, self.high, end):
            if self.stopped or left <= 0:
                return bool(self.stopped)
            if chunk.gap is not None:
                self.shown.add_newer((chunk.first,))
                self.high = chunk.end
                # What stands after it goes on with nothing before it.
                self._live.pop(chunk.log, None)
                continue
            start = max(self.high, chunk.first)
            part = chunk.lines[
                start - chunk.first : min(end - chunk.first, start - chunk.first + left)
            ]
            found = _Found([], [], [])
            self.high = self._search(start, part, _of(self._live, chunk), found, due_us)
            self.shown.add_newer(found.shown)
            self.hits.add_newer(found.hits)
            for number in found.late:
                if self.wanted.include:
                    self.shown.insert(number)
                self.hits.insert(number)
            left -= len(part)
            if self.high < start + len(part):
                return bool(self.stopped)
        self._forget()
        return self.high >= end or bool(self.stopped)

    def search_back(self, most: int) -> bool:
        """Search up to `most` older lines, those next to `low`; True when none is left."""
        if self.whole:
            return True
        end = self.low
        start = max(self.first_held, end - most)
        if self.wanted.fold:
            start = max(self.first_held, _aligned(self._logs, self._log, start))
        found = _Found([], [], [])
        folds, begun_us = dict[LogId, Folds](), self._clock.now_us()
        for chunk in self._logs.chunks(self._log, start, end):
            if chunk.gap is not None:
                if start <= chunk.first < end:
                    found.shown.append(chunk.first)
                folds.pop(chunk.log, None)
                continue
            begin = max(start, chunk.first)
            part = chunk.lines[begin - chunk.first : end - chunk.first]
            # A stretch is always searched whole, since its folds hang together.
            self._search(begin, part, _of(folds, chunk), found, begun_us + TOO_LONG_US)
            if self.stopped:
                return True
            if self.wanted.timed and self._clock.now_us() >= begun_us + TOO_LONG_US:
                self.stopped = f"the pattern is too slow: over {TOO_LONG_US // 1000} ms for "
                self.stopped += f"{most:,} lines"
                return True
        for number in found.late:
            if self.wanted.include:
                _put(found.shown, number)
            _put(found.hits, number)
        self.shown.add_older(found.shown)
        self.hits.add_older(found.hits)
        self.low = start
        return self.whole

    def _search(
        self,
        start: int,
        texts: Sequence[Clean],
        folds: Folds,
        found: _Found,
        due_us: int,
    ) -> int:
        """Judge lines numbered from `start`; the number after the last one judged."""
        wanted = self.wanted
        if not wanted.searched:
            self._fold(start, texts, folds, found)
            return start + len(texts)
        timed = wanted.timed
        for number, text in enumerate(texts, start):
            head, again = folds.place(number, text) if wanted.fold else (number, False)
            try:
                self._judge(number, text, head, again, found)
            except TooSlow as error:
                self.stopped = str(error)
                return number
            if timed and self._clock.now_us() >= due_us:
                return number + 1
        return start + len(texts)

    def _fold(self, start: int, texts: Sequence[Clean], folds: Folds, found: _Found) -> None:
        """Where nothing is searched: every line that stands under none is shown."""
        under = folds.under(start, texts)
        folded = {number for number, _, _ in under}
        numbers = range(start, start + len(texts))
        found.shown += [n for n in numbers if n not in folded] if folded else numbers
        for number, head, again in under:
            self._judge(number, texts[number - start], head, again, found)

    def _judge(self, number: int, text: Clean, head: int, again: bool, found: _Found) -> None:
        wanted = self.wanted
        if head != number:
            if again:
                self.repeats[head] = self.repeats.get(head, 1) + 1
            else:
                self.bodies.setdefault(head, array("q")).append(number)
                if raised(text):
                    self.tails[head] = label(text)[:_MOST_TAIL]
            if head in self._denied:
                self.hidden += 1
            sought = wanted.include or wanted.mark
            if not again and head not in self._denied and sought and sought.found(text):
                found.late.append(head)
            return
        if is_noise(text, wanted.quiet) or (wanted.exclude and wanted.exclude.found(text)):
            self.hidden += 1
            self._deny(number)
        elif wanted.include is None:
            found.shown.append(number)
            if wanted.mark is not None and wanted.mark.found(text):
                found.hits.append(number)
        elif wanted.include.found(text):
            found.shown.append(number)
            found.hits.append(number)

    def _deny(self, number: int) -> None:
        if len(self._denied) >= _MOST_DENIED:
            self._denied.clear()
        self._denied.add(number)

    def _forget(self) -> None:
        first = self.first_held
        if self.low >= first:
            return
        self.low = first
        self.shown.forget(first)
        self.hits.forget(first)
        for kept in (self.repeats, self.bodies, self.tails):
            for number in [number for number in kept if number < first]:
                del kept[number]


def _of(folds: dict[LogId, Folds], chunk: Chunk) -> Folds:
    return folds.setdefault(chunk.log, Folds())


def _put(numbers: list[int], number: int) -> None:
    place = bisect_left(numbers, number)
    if place == len(numbers) or numbers[place] != number:
        numbers.insert(place, number)


def _aligned(logs: Logs, log: LogId, start: int) -> int:
    """A number at or a little before `start` where surely no record goes on."""
    least = max(logs.reach(log)[0], start - _ALIGN_LINES)
    after: tuple[int, Clean] | None = None
    for chunk in logs.chunks_back(log, start):
        if chunk.gap is not None:
            break
        for place in range(min(len(chunk.lines), start - chunk.first) - 1, -1, -1):
            text = chunk.lines[place]
            if after is not None and stands_alone(after[1], text):
                return after[0]
            after = chunk.first + place, text
            if after[0] <= least:
                return least
    return after[0] if after is not None else start
