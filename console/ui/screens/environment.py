"""What the selected server really runs with: who says what, what NCCL makes of it, does it matter.

Owns where the three panes stand; every word in them is render's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from console.control.port import Control
from console.model.ask import Question
from console.model.clock import Clock
from console.model.palette import Role
from console.model.span import Span, Spans
from console.nccl.version import NEWEST
from console.render.editing import values_of
from console.render.environment import (
    basis_text,
    drift_spans,
    finding_lines,
    findings,
    findings_title,
    matter_lines,
    truth_table,
)
from console.render.label import label
from console.render.spans import fitted, wrapped
from console.stream.environment import effective, machine, nccl_version, wanted_of
from console.stream.state import Server
from console.ui.panes.text import Text
from console.ui.screens.dialog import Dialog
from console.ui.screens.mode_screen import ModeScreen, stand, tall
from console.ui.screens.variables import Variables
from console.ui.sight import Sight
from console.ui.theme import Ink

LEVEL = "NCCL_P2P_LEVEL"
_FRAME = 2
_HIGH = 30
_OTHERS = 13
"""Lines that a low screen keeps for findings, matter, header and foot."""


class Environment(ModeScreen, inherit_bindings=False):
    """The truth table above, findings below it, the way of the all-reduce last."""

    DEFAULT_CSS = """
    Environment #truth { height: 2fr; }
    Environment #findings { height: 1fr; }
    """

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__(control, clock, ink)
        self._seen: tuple[object, ...] = ()
        self.truth = Text(ink, "truth", "Who says what")
        self.findings = Text(ink, "findings", "Findings")
        self.matter = Text(ink, "matter", "Does it matter here?")
        self.moves = {
            "logs.page_up": partial(self._scroll, pages=-1),
            "logs.page_down": partial(self._scroll, pages=1),
            "logs.line_up": partial(self._scroll, lines=-1),
            "logs.line_down": partial(self._scroll, lines=1),
            **self.between_panes(),
            "environment.edit": self.edit,
        }

    def panes(self) -> tuple[Text, Text, Text]:
        """The table, its findings, the way of the all-reduce."""
        return self.truth, self.findings, self.matter

    def fill(self, sight: Sight) -> None:
        """Hand what was seen to every pane."""
        server = sight.state.servers.get(sight.server)
        # Of a server of which nothing was read there is nothing to find: no empty frames.
        read = server is not None and bool(server.envs)
        stand(self.truth, self.maximised in (None, self.truth) or not read)
        stand(self.findings, read and self.maximised in (None, self.findings))
        stand(self.matter, read and self.maximised in (None, self.matter))
        self._fill_texts(sight)

    def edit(self) -> None:
        """Edit what the selected server is wanted to run with, else what it has."""
        sight = self.sight
        server = sight.state.servers.get(sight.server) if sight is not None else None
        if sight is None or server is None:
            return
        effect = {n: v for n, v in effective(server)[0].items() if n.startswith("NCCL_")}
        wanted = wanted_of(server)
        env = effect if wanted is None else {str(n): str(v) for n, v in wanted.values}
        version = nccl_version(server) or NEWEST
        box, ink, name = machine(server, sight.state), self.header.ink, sight.server
        editor = Variables(ink, name, env, effect, version, box, self._profiles)
        new = env.get(LEVEL), effect.get(LEVEL)
        self.app.push_screen(editor, partial(self._edited, name, new))

    async def _profiles(self) -> dict[str, dict[str, str]]:
        """The profiles beside the fleet, to compare with."""
        outcome = await self._control.do("environment.profiles")
        return {f"profile {name}": values_of(str(env)) for name, env in outcome.results.items()}

    def _edited(self, server: str, before: tuple[str | None, str | None], text: str | None) -> None:
        if text is None:
            return
        level = values_of(text).get(LEVEL)
        if level is not None and level not in before and before[1] is None:
            self.run_worker(self._warned(server, level, text), group="verbs")
        else:
            self._ask_name(server, text)

    async def _warned(self, server: str, level: str, text: str) -> None:
        """What the box says of peer access, before a first P2P_LEVEL on it is saved."""
        outcome = await self._control.do("environment.fabric", server)
        told = tuple(map(label, outcome.lines)) or (label(outcome.text),)
        said = f"{LEVEL}={level} is new on this box; a wrong setting can wedge its GPUs"
        question = Question(server, said, told, choices=("Cancel", "Save"))
        if await self.app.push_screen_wait(Dialog(question)) == "Save":
            self._ask_name(server, text)

    def _ask_name(self, server: str, text: str) -> None:
        if text:
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
        if outcome.ok and self._control.can("envfile", server) is None:
            asked = "Put them into an environment file on the host as well?"
            question = Question(server, asked, choices=("No", "Write"))
            if await self.app.push_screen_wait(Dialog(question)) == "Write":
                outcome = await self._control.do("envfile", server, {"profile": name})
                self.say(outcome.text, outcome.ok)

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
        about = findings_title(server).removeprefix("Findings")
        self.findings.put(found or none, about=about)
        lines = matter_lines(server, self.matter.room)
        self.matter.put(lines)
        most = 4 if self.size.height >= _HIGH else 2
        tall(self.matter, None if self.maximised else min(len(lines), most) + _FRAME)

    def _put_truth(self, name: str, server: Server) -> None:
        room = self.truth.room
        lost = [line for span in drift_spans(server) for line in _said(span.text, room, span.role)]
        table = truth_table(server, room)
        head = _said(basis_text(server), room)
        lines = (*head, *lost, table.heading, *table.lines)
        self.truth.put(lines, (Span(name, Role.DIM),))
        height = self.size.height
        most = max(8, height // 2 if height >= _HIGH else height - _OTHERS)
        tall(self.truth, None if self.maximised else min(len(lines) + _FRAME, most))

    def _scroll(self, *, lines: int = 0, pages: int = 0) -> None:
        focused = self.focused
        pane = focused if isinstance(focused, Text) else self.truth
        pane.scroll(lines=lines, pages=pages)


def _said(text: str, room: int, role: Role = Role.DIM) -> tuple[Spans, ...]:
    """A text in lines of that room."""
    return tuple(fitted((Span(row, role),), room) for row in wrapped(text, max(8, room)))
