"""The replay bar, where there is a player."""

from __future__ import annotations

from console.control.port import Playback
from console.render.bar import bar_spans
from console.ui.panes.pane import Line


class Replay(Line):
    """The bar."""

    def show(self, now_us: int, playback: Playback) -> None:
        """Show the player's position."""
        self.put(
            bar_spans(
                now_us,
                playback.length_us,
                playback.speed,
                playback.playing,
                playback.notches(),
                self.size.width,
                playback.skipped,
            )
        )
