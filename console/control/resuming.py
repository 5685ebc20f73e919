"""What an interrupted script had done, read from its session: where a `repeat` goes on.

Reads that one file and changes nothing. A round counts when it ended well and bears the same name;
everything else is done again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    steps: Mapping[tuple[str, str], StepFinished] = field(default_factory=dict)

    def round(self, step_id: str, name: str) -> StepFinished | None:
        """A round of a `repeat` that passed under this name."""
        found = self.steps.get((step_id, ""))
        same = found is not None and (Clean("round"), Clean(name)) in found.results
        return found if same else None


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
