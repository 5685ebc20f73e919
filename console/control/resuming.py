"""What an interrupted script had done, read from its session: where a `repeat` goes on.

Reads that one file and changes nothing. A round counts when it ended well and bears the same name;
everything else is done again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from console.model.exits import Exit, NotStarted
from console.model.text import Clean, plain
from console.session.files import NotASession
from console.session.journal import Journal
from console.stream.session_events import StepFinished


@dataclass(frozen=True, slots=True)
class Resumed:
    """The steps that passed that night, the last of each id and server."""

    session: str = ""
    steps: dict[tuple[str, str], StepFinished] = field(default_factory=dict)

    def round(self, step_id: str, name: str) -> StepFinished | None:
        """A round of a `repeat` that passed under this name."""
        found = self.steps.get((step_id, ""))
        same = found is not None and (Clean("round"), Clean(name)) in found.results
        return found if same else None

    def figure(self, server: str, name: str) -> float | None:
        """A figure above 0 that the last step on a server gave under this name."""
        for (_, where), event in reversed(self.steps.items()):
            value = dict(event.results).get(Clean(name)) if where == server else None
            try:
                number = float(value or 0.0)
            except ValueError:
                continue
            if 0 < number < inf:
                return number
        return None


def resumed(path: str | Path) -> Resumed:
    """Read what a session's steps came to.

    Raises:
        NotStarted: the file is no session.
    """
    try:
        journal = Journal(path)
    except NotASession as error:
        raise NotStarted(Exit.USAGE, f"--resume {error}") from error
    found: dict[tuple[str, str], StepFinished] = {}
    for number in journal.index.of_kind("step_end"):
        event = journal.event(number)
        if isinstance(event, StepFinished) and event.exit == Exit.OK:
            found[plain(event.step), plain(event.server)] = event
    return Resumed(str(path), found)
