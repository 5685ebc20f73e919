"""What the selected server really runs with: who says what, what NCCL makes of it, does it matter.

Owns where the three panes stand; every word in them is render's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from textual.app import ComposeResult
from textual.screen import Screen

from console.control.port import Control
from console.model.ask import Question
from console.model.clock import Clock
from console.model.palette import Role
from console.model.span import Span, Spans
from console.nccl.version import NEWEST
from console.render.environment import (
    basis_text,
    drift_spans,
    finding_lines,
    findings,
    findings_title,
    matter_lines,
    truth_table,
)
from console.render.spans import fitted, wrapped
from console.stream.environment import effective, machine, nccl_version, wanted_of
from console.stream.state import Server
from console.ui.panes.header import Header
from console.ui.panes.keys import Keys
from console.ui.panes.notice import Notice
from console.ui.panes.pane import Line, Pane, Resized
from console.ui.panes.replay import Replay
from console.ui.panes.text import Text
from console.ui.screens.dialog import Dialog
from console.ui.screens.variables import Variables
from console.ui.sight import Sight
from console.ui.theme import Ink

_FRAME = 2


class Environment(Screen[None], inherit_bindings=False):
    """The truth table above, findings below it, the way of the all-reduce last."""

    DEFAULT_CSS = """
    Environment #truth { height: 2fr; }
    Environment #findings { height: 1fr; }
    """

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__()
        self._control = control
        self._clock = clock
        self._sight: Sight | None = None
        self._seen: tuple[object, ...] = ()
        self._filling = False
        self.maximised: Pane | None = None
        self.header = Header(ink, "header")
        self.truth = Text(ink, "truth", "Who says what")
        self.findings = Text(ink, "findings", "Findings")
        self.matter = Text(ink, "matter", "Does it matter here?", focusable=False)
        self.notice = Notice(ink)
        self.replay = Replay(ink, "replay")
        self.keys = Keys(ink, "keys")
        self.moves: Mapping[str, Callable[[], object]] = {
            "logs.page_up": partial(self._scroll, pages=-1),
            "logs.page_down": partial(self._scroll, pages=1),
            "logs.line_up": partial(self._scroll, lines=-1),
            "logs.line_down": partial(self._scroll, lines=1),
            "view.next": partial(self.focus_next, Pane),
            "view.previous": partial(self.focus_previous, Pane),
            "view.maximise": self.maximise,
            "environment.edit": self.edit,
        }

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.truth
        yield self.findings
        yield self.matter
        yield self.notice
        yield self.replay
        yield self.keys

    def show(self, sight: Sight) -> None:
        """Hand what was seen to every pane."""
        self._sight = sight
        self.truth.display = self.maximised in (None, self.truth)
        self.findings.display = self.maximised in (None, self.findings)
        self.matter.display = self.maximised is None
        self._fill_texts(sight)
        self.header.show(sight)
        playback = self._control.playback
        self.replay.display = playback is not None
        if playback is not None:
            self.replay.show(sight.now_us, playback)
        self.notice.show(sight.state, (), self._clock.now_us())
        self.keys.show()

    def wear(self, ink: Ink) -> None:
        """Change the theme of every pane."""
        for widget in (*self.query(Pane), *self.query(Line)):
            widget.wear(ink)

    def say(self, text: str, good: bool) -> None:
        """Tell a person how what was asked for has ended."""
        self.notice.say(text, good, self._clock.now_us())

    def maximise(self) -> None:
        """Give the focused pane the whole screen, or put it back."""
        focused = self.focused
        self.maximised = focused if self.maximised is None and isinstance(focused, Pane) else None
        self._fill()

    def edit(self) -> None:
        """Edit what the selected server is wanted to run with, else what it has."""
        sight = self._sight
        server = sight.state.servers.get(sight.server) if sight is not None else None
        if sight is None or server is None:
            return
        effect = {n: v for n, v in effective(server)[0].items() if n.startswith("NCCL_")}
        wanted = wanted_of(server)
        env = effect if wanted is None else {str(n): str(v) for n, v in wanted.values}
        version = nccl_version(server) or NEWEST
        box, ink, name = machine(server, sight.state), self.header.ink, sight.server
        editor = Variables(ink, name, env, effect, version, box)
        self.app.push_screen(editor, partial(self._edited, name))

    def _edited(self, server: str, text: str | None) -> None:
        if text is not None:
            ask = "Name of the profile: letters, digits, dot, dash and underline"
            question = Question(server, ask)
            self.app.push_screen(Dialog(question), partial(self._named, server, text))

    def _named(self, server: str, text: str, name: str | None) -> None:
        if name:
            self.run_worker(self._save(server, text, name), group="verbs")

    async def _save(self, server: str, text: str, name: str) -> None:
        given = {"name": name, "env": text, "origin": "the editor", "replace": "yes"}
        outcome = await self._control.do("profile", server, given)
        self.say(outcome.text, outcome.ok)

    def on_resized(self, resized: Resized) -> None:
        """Some pane has another size: once all have theirs, fill them again."""
        resized.stop()
        if not self._filling:
            self._filling = True
            self.call_later(self._fill)

    def _fill(self) -> None:
        self._filling = False
        if self._sight is not None:
            self.show(self._sight)

    def _fill_texts(self, sight: Sight) -> None:
        """The three panes, made anew only when what they are made of has changed."""
        server = sight.state.servers.get(sight.server)
        rooms = (self.truth.room, self.findings.room, self.matter.room, self.size, self.maximised)
        facts = (sight.server, server, *rooms)
        if len(facts) == len(self._seen) and all(
            one is two or one == two for one, two in zip(facts, self._seen, strict=True)
        ):
            return
        self._seen = facts
        if server is None or not server.envs:
            nothing = ((Span("Nothing read yet: e reads it now.", Role.DIM),),)
            self.truth.put(nothing, (Span(sight.server, Role.DIM),))
            self.findings.put(())
            self.matter.put(())
            return
        self._put_truth(sight.server, server)
        found = finding_lines(findings(server, sight.state), self.findings.room)
        none: Sequence[Spans] = ((Span("Nothing to say.", Role.DIM),),)
        about = _said(findings_title(server), self.findings.room)
        self.findings.put((*about, *(found or none)))
        lines = matter_lines(server, self.matter.room)
        self.matter.put(lines)
        _tall(self.matter, str(min(len(lines), 4) + _FRAME))

    def _put_truth(self, name: str, server: Server) -> None:
        room = self.truth.room
        lost = [line for span in drift_spans(server) for line in _said(span.text, room, span.role)]
        table = truth_table(server, room)
        head = _said(basis_text(server), room)
        lines = (*head, *lost, table.heading, *table.lines)
        self.truth.put(lines, (Span(name, Role.DIM),))
        most = max(8, self.size.height // 2)
        _tall(self.truth, "1fr" if self.maximised else str(min(len(lines) + _FRAME, most)))

    def _scroll(self, *, lines: int = 0, pages: int = 0) -> None:
        pane = self.findings if self.focused is self.findings else self.truth
        pane.scroll(lines=lines, pages=pages)


def _tall(pane: Pane, height: str) -> None:
    if str(pane.styles.height) != height:
        pane.styles.height = height


def _said(text: str, room: int, role: Role = Role.DIM) -> tuple[Spans, ...]:
    """A text in lines of that room."""
    return tuple(fitted((Span(row, role),), room) for row in wrapped(text, max(8, room)))
