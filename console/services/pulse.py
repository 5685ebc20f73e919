"""The pulse of an address: what health says of it, for those who poll it only while it is up.

Owns two events that are never both set. Asks nothing itself.
"""

from __future__ import annotations

import asyncio

from console.model.failure import Failure
from console.stream.server_events import HealthSeen


class Pulse:
    """Whether an address answers 200; setting `ask` has it asked now.

    `downs` counts answers that were none, so that whoever slept through one still knows; `gone`
    those of them that say that the server itself was not there or not ready. A turn is
    held while a request is on its way: one for health, one for everything else.
    """

    def __init__(self) -> None:
        self.up = asyncio.Event()
        self.down = asyncio.Event()
        self.ask = asyncio.Event()
        self.down.set()
        self.downs = 0
        self.gone = 0
        self.health_turn = asyncio.Lock()
        self.status_turn = asyncio.Lock()

    def saw(self, health: HealthSeen) -> None:
        """One answer of a health path."""
        if health.code == 200 and health.failure is None:
            self.up.set()
            self.down.clear()
        else:
            self.up.clear()
            self.down.set()
            self.downs += 1
            if health.failure is Failure.REFUSED or health.code == 503:
                self.gone += 1
