"""The top line of every screen."""

from __future__ import annotations

from console.render.header import Mode, header_spans
from console.stream.state import Session
from console.ui.panes.pane import Line
from console.ui.sight import Sight


class Header(Line):
    """Fleet, hosts, recording, the session's time."""

    _seen: tuple[Session, object, Mode, int, int] | None = None

    def show(self, sight: Sight) -> None:
        """Put the line together again when something in it may have changed."""
        state = sight.state
        seen = (
            state.session,
            state.hosts,
            sight.mode,
            sight.now_us // 1_000_000,
            self.size.width,
        )
        if self._seen is not None and all(
            a is b or a == b for a, b in zip(seen, self._seen, strict=True)
        ):
            return
        self._seen = seen
        self.put(header_spans(state, sight.now_us, sight.mode, self.size.width))
