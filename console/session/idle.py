"""The idle cut: stretches in which nothing happens, passed over while playing.

Knows which blocks come by themselves; what it passes over is said, never lost: the player still
gives every event.
"""

from __future__ import annotations

from console.model.clock import US_PER_S
from console.session.blocks import Index

KEPT_US = US_PER_S
"""What stays after the last event and before the next."""

_QUIET = ("clock", "gpu", "health", "metric", "seek")
"""Blocks that come by themselves: without others among them nothing happens."""


class IdleCut:
    """Where play leaps on.

    Attributes:
        on: whether it leaps at all.
    """

    def __init__(self, index: Index) -> None:
        self.on = False
        self._index = index
        self._next = 0
        self._last: tuple[int, int] | None = None

    def leap(self, number: int, position_us: int, target_us: int) -> int:
        """Where to play on to instead of `target_us`, block `number` being the next."""
        if not self.on:
            return target_us
        from_us = self._active_before(number, position_us) + KEPT_US
        to_us = self._active_from(number) - KEPT_US
        if not from_us <= target_us < to_us:
            return target_us
        self._last = (to_us, to_us - target_us)
        return to_us

    def told(self, position_us: int, speed: float) -> str:
        """`148 s skipped` for a moment after a leap; else nothing."""
        if self._last is None:
            return ""
        at_us, skipped_us = self._last
        shown_us = 2 * KEPT_US * max(1.0, speed)
        near = 0 <= position_us - at_us <= shown_us
        return f"{round(skipped_us / US_PER_S):,} s skipped" if near else ""

    def forget(self) -> None:
        """The position was moved by hand: nothing was skipped."""
        self._last = None
        self._next = 0

    def _active_from(self, number: int) -> int:
        """When something happens next; the last block counts as something."""
        index = self._index
        self._next = max(self._next, number)
        while self._next < len(index) - 1 and index.kind_of(self._next) in _QUIET:
            self._next += 1
        return index.t_us[min(self._next, len(index) - 1)]

    def _active_before(self, number: int, position_us: int) -> int:
        """When something happened last, as far as that is less than KEPT_US ago."""
        index = self._index
        for before in range(number - 1, -1, -1):
            at_us = index.t_us[before]
            if at_us < position_us - KEPT_US or index.kind_of(before) not in _QUIET:
                return at_us
        return -KEPT_US
