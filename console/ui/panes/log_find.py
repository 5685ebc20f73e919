"""What a person wants to see of a log, and the search for it, in slices.

Owns the patterns, the preset of noise and the sieve of the log in view. A slice ends after a few
milliseconds; whoever drives it lets others run in between.
"""

from __future__ import annotations

from dataclasses import replace

from console.model.clock import Clock
from console.model.fleet import LogId
from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.pattern import Pattern
from console.render.reading import PRESETS
from console.render.units import count, counted
from console.stream.logs import Logs
from console.ui.panes.log_sieve import Sieve, Wanted
from console.ui.panes.log_sifted import Sifted
from console.ui.window import Line, Source, Whole

SLICE_US = 2_500
_SLICE_LINES = 8_192
_STRETCH = 256


class Find:
    """The search of one pane."""

    def __init__(self, clock: Clock) -> None:
        self.wanted = Wanted()
        self.case = False
        self.word = False
        self.preset = 0
        self.stopped = ""
        self.end = 0
        self.sieve: Sieve | None = None
        self._clock = clock
        self._logs: Logs | None = None
        self._log = LogId("")
        self._source: Source | None = None

    def source(self, logs: Logs, log: LogId, end: int, start: int) -> Source:
        """Where the window takes lines from; a new search begins about `start`."""
        sieve = self.sieve
        stale = (logs, log) != (self._logs, self._log) or (sieve is not None and end < sieve.high)
        self.end = end
        if self._source is None or stale:
            self._logs, self._log = logs, log
            self._source, self.sieve = self._made(logs, log, min(start, end))
        if self.sieve is not None:
            self.sieve.search_on(end, _SLICE_LINES, self._clock.now_us() + SLICE_US)
        return self._source

    @property
    def more(self) -> bool:
        """Whether something is left to be searched."""
        sieve = self.sieve
        if sieve is None or sieve.stopped:
            return False
        return sieve.high < self.end or (self.wanted.searched and not sieve.whole)

    def slice(self) -> None:
        """Search on for a few milliseconds, older and newer lines in turn."""
        sieve = self.sieve
        due_us, left = self._clock.now_us() + SLICE_US, _SLICE_LINES
        while sieve is not None and self.more and left > 0:
            if sieve.high < self.end:
                sieve.search_on(self.end, _STRETCH, due_us)
            if self.wanted.searched:
                sieve.search_back(_STRETCH)
            left -= _STRETCH
            if self._clock.now_us() >= due_us:
                return

    def give_up(self) -> bool:
        """End patterns that were too slow, everything else as it was; whether there were any."""
        sieve = self.sieve
        if sieve is None or not sieve.stopped:
            return False
        self.want(include=None, exclude=None, mark=None)
        self.sieve, self.stopped = None, sieve.stopped
        return True

    def want(self, **changes: Pattern | bool | frozenset[str] | None) -> None:
        """Change what is wanted; the search begins anew."""
        self.wanted = replace(self.wanted, **changes)  # type: ignore[arg-type]
        self._source, self.stopped = None, ""

    def pattern(self, text: str) -> Pattern | None:
        """A pattern with the toggles as they are; None for an empty text.

        Raises:
            NotAPattern: it cannot be compiled.
        """
        return Pattern(text, self.case, self.word) if text else None

    def toggle(self, case: bool = False, word: bool = False) -> None:
        """Let case or words count, or no longer; patterns in use are made anew."""
        self.case ^= case
        self.word ^= word
        used = self.wanted
        made = {
            name: self.pattern(held.text)
            for name, held in (
                ("include", used.include),
                ("exclude", used.exclude),
                ("mark", used.mark),
            )
            if held is not None
        }
        if made:
            self.want(**made)

    def next_preset(self) -> str:
        """Hide the next group of noise, or nothing again; what is hidden, in words."""
        self.preset = (self.preset + 1) % len(PRESETS)
        words, quiet = PRESETS[self.preset]
        self.want(quiet=quiet)
        return words

    def clear(self) -> None:
        """Show everything again."""
        self.preset = 0
        self.want(include=None, exclude=None, mark=None, quiet=frozenset())

    def spans(self, text: str) -> list[tuple[int, int]]:
        """What to lift out of a plain text."""
        found = self.wanted.include or self.wanted.mark
        return found.spans(text) if found is not None else []

    @property
    def lifts(self) -> bool:
        """Whether there is something to lift out."""
        return (self.wanted.include or self.wanted.mark) is not None

    def folded(self, line: Line) -> tuple[Spans, str]:
        """What a line stands for: how often it came or how many lines, and what was raised."""
        sieve = self.sieve
        if sieve is None or line.notice:
            return (), ""
        body = sieve.bodies.get(line.number)
        if body is not None:
            lines = counted(len(body) + 1, "line")
            return (Span(f"▸ {lines}", Role.KEY),), sieve.tails.get(line.number, "")
        times = sieve.repeats.get(line.number)
        return ((Span(f"×{count(times)}", Role.KEY),), "") if times else ((), "")

    def told(self, at: int | None) -> Spans:
        """The search in the pane's top line: patterns, how many lines match, what is hidden."""
        wanted, sieve, spans = self.wanted, self.sieve, list[Span]()
        for sign, pattern in (("/", wanted.include), ("*", wanted.mark), ("!", wanted.exclude)):
            if pattern is not None:
                spans.append(Span(f"{sign}{pattern.text}{_flags(pattern)} ", Role.LOG_MATCH))
        if self.stopped:
            spans.append(Span("search stopped", Role.WARNING))
        if sieve is None:
            return tuple(spans)
        so_far = "+" if self.more else ""
        if self.lifts:
            found = at is not None and at in sieve.hits
            place = f"{count(sieve.hits.below(at or 0) + 1)} of " if found else ""
            spans.append(Span(f"{place}{count(len(sieve.hits))}{so_far} match", Role.TEXT))
        if sieve.hidden:
            apart = " · " if self.lifts or self.stopped else ""
            spans.append(Span(f"{apart}{count(sieve.hidden)}{so_far} hidden", Role.DIM))
        return tuple(spans)

    def _made(self, logs: Logs, log: LogId, start: int) -> tuple[Source, Sieve | None]:
        if self.wanted.all_shown and not self.wanted.searched:
            return Whole(logs, log), None
        sieve = Sieve(logs, log, self.wanted, start, self._clock)
        return Sifted(logs, log, sieve), sieve


def _flags(pattern: Pattern) -> str:
    return ("/c" if pattern.case else "") + ("/w" if pattern.word else "")
