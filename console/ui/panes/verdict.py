"""What the comparison of both arms came to, how far a benchmark is, and what to do next.

What there is no room for is counted in the frame: the newest verdict's own words stay longest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span, Spans
from console.model.verbs import VERBS
from console.render.advice import Step, env_problems, next_steps
from console.render.keys import key_name
from console.render.results import progress_lines, verdict_head, verdict_reasons, wrapped
from console.ui.acting import permitting
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink

if TYPE_CHECKING:
    from console.ui.app import ConsoleApp

_KEY: Spans = (Span("c", Role.KEY), Span(" compare", Role.DIM))
_MOST_STEPS = 2
_LACKS, _STEPS = 3, 4
_RANKS = ((0, 0), (1, 4), (6, 6), (2, 7), (3, 5))
"""How early the first line, and each other one, of every part goes where there is little room."""


class Verdict(Pane):
    """The newest verdict, below what is being measured.

    Args:
        advises: whether it also says what the environments lack and what to do next.
    """

    def __init__(self, ink: Ink, *, advises: bool = False) -> None:
        super().__init__(ink, "verdict")
        self.title = (Span("Verdict", Role.TITLE),)
        self.state = _KEY
        self._advises = advises
        self._key: tuple[object, ...] = ()
        self._going: tuple[Spans, ...] = ()
        self._parts: tuple[tuple[Spans, ...], ...] = ()
        self._lines: tuple[Spans, ...] = ()

    @property
    def wanted(self) -> int:
        """How many lines it has to show."""
        return max(1, len(self._going) + sum(map(len, self._parts)))

    def show(self, sight: Sight) -> None:
        state = sight.state
        going = progress_lines(state, sight.now_us, self.room)
        second = sight.now_us // 1_000_000
        key = (state.verdicts, state.benches, sight.server, second, self.room, self.depth)
        if (
            going != self._going
            or len(key) != len(self._key)
            or any(new is not old and new != old for new, old in zip(key, self._key, strict=True))
        ):
            self._key, self._going = key, going
            self._parts = self._made(sight, bool(going))
            self._put()

    def row(self, y: int) -> Strip:
        return self.ink.strip(self._lines[y] if y < len(self._lines) else (), self.room)

    def _made(self, sight: Sight, going: bool) -> tuple[tuple[Spans, ...], ...]:
        """Verdict, reasons, what the environments lack, what to do next."""
        state, room = sight.state, self.room
        head = verdict_head(state, room) if state.verdicts or not going else ()
        reasons = verdict_reasons(state, room)
        if not self._advises:
            return head, reasons, (), ()
        lacks = tuple(
            line for told in env_problems(state) for line in wrapped("✗ ", told, room, Role.ERROR)
        )
        app = cast("ConsoleApp", self.app)
        steps = [
            step
            for step in next_steps(state, sight.server)
            if app.refusal(step[0]) is None or permitting(app, step[0])
        ]
        return head, reasons, lacks, self._steps(steps[:_MOST_STEPS])

    def _steps(self, steps: list[Step]) -> tuple[Spans, ...]:
        found = []
        for place, (verb, text) in enumerate(steps):
            lead = Span("Next: " if place == 0 else "      ", Role.DIM)
            found.append((lead, Span(self._named(verb), Role.KEY), Span(f"  {text}")))
        return tuple(found)

    def _named(self, verb: str) -> str:
        """Its first key, else the palette's and its name there; before it what permits it."""
        app = cast("ConsoleApp", self.app)
        own = app.keys[verb].split(",")[0]
        title = VERBS[verb].title.lower()
        name = key_name(own) if own else f"{key_name(app.keys['view.palette'])} {title}"
        permits = permitting(app, verb) if app.refusal(verb) is not None else ""
        return f"{permits} {name}" if permits else name

    def _put(self) -> None:
        """What is wanted most in the room there is, and how much is left out."""
        head, reasons, lacks, steps = self._parts
        parts = (self._going, head, reasons, lacks, steps)
        ranked = sorted(
            (_RANKS[part][line > 0], part, line)
            for part, lines in enumerate(parts)
            for line in range(len(lines))
        )
        kept = sorted((part, line) for _, part, line in ranked[: self.depth])
        spare = self.depth - len(kept)
        lines: list[Spans] = []
        for part, line in kept:
            if line == 0 and part in (_LACKS, _STEPS) and lines and spare > 0:
                lines.append(())
                spare -= 1
            lines.append(parts[part][line])
        left_out = len(ranked) - len(kept)
        more = (Span(f"{left_out} more · ", Role.DIM),) if left_out and self.depth else ()
        self.entitle(self.title, (*more, *_KEY))
        if tuple(lines) != self._lines:
            self._lines = tuple(lines)
            self.refresh_rows()
