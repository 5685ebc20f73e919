"""What a pane is given to show: one reading of the stream and of the person's choices."""

from __future__ import annotations

from dataclasses import dataclass

from console.model.fleet import LogId
from console.render.header import Mode
from console.stream.logs import Logs
from console.stream.series import Series
from console.stream.state import State


@dataclass(frozen=True, slots=True)
class Sight:
    """One look at the stream.

    Attributes:
        now_us: the position in the session.
        server: name of the selected server; empty with none.
    """

    state: State
    now_us: int
    logs: Logs
    series: Series
    mode: Mode
    server: str = ""

    @property
    def log(self) -> LogId:
        """The log of the selected server."""
        return LogId(self.server)
