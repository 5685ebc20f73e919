"""The player: a saved session as a feed.

Moves a position through a journal and gives items; it sleeps on the clock it is given and knows
nothing of screens. Playing never touches anything but the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from console.model.clock import US_PER_S, Clock
from console.session.idle import IdleCut
from console.session.journal import Journal
from console.session.landmarks import Notch, notches
from console.stream.events import Event
from console.stream.state import Item, Jump

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
TICK_S = 0.05
READ_ON_US = US_PER_S
GIVEN_UP_US = 90 * US_PER_S
"""A recorder writes UTC every minute: a file that stands still for longer is over."""
Take = Callable[[Item], None]


class Player:
    """A position in a journal.

    Args:
        take: called with every item, in order.
        moved: called with the position whenever it changes without an event.

    Attributes:
        next_block: the number of the block that comes next.
        idle: whether play leaps over stretches in which nothing happens.
    """

    def __init__(
        self,
        journal: Journal,
        take: Take,
        moved: Callable[[int], None],
    ) -> None:
        self.journal = journal
        self.position_us = 0
        self.speed = 1.0
        self.playing = False
        self.next_block = 0
        self.idle = IdleCut(journal.index)
        self._take = take
        self._moved = moved
        self._notches: list[Notch] = []
        self._notched = 0

    @property
    def length_us(self) -> int:
        """How long the session is."""
        return self.journal.length_us

    @property
    def at_end(self) -> bool:
        """Whether every event has been given."""
        return self.next_block >= len(self.journal.index)

    @property
    def skipped(self) -> str:
        """`148 s skipped` for a moment after an idle cut; else nothing."""
        return self.idle.told(self.position_us, self.speed)

    def notches(self) -> list[Notch]:
        """What the bar shows: acts, errors, gaps, markers with their times."""
        if self._notched < len(self.journal.index):
            self._notches = sorted(self._notches + notches(self.journal, self._notched))
            self._notched = len(self.journal.index)
        return self._notches

    def until(self, t_us: int) -> Iterator[Event]:
        """Move on to `t_us`, giving each event on the way to the caller too."""
        index = self.journal.index
        while self.next_block < len(index) and index.t_us[self.next_block] <= t_us:
            number = self.next_block
            self.next_block += 1
            event = self.journal.event(number)
            if event is not None:
                self.position_us = max(self.position_us, index.t_us[number])
                self._moved(self.position_us)
                self._take(event)
                yield event
        self.position_us = max(self.position_us, min(t_us, self.length_us))
        self._moved(self.position_us)

    def advance(self, t_us: int) -> None:
        """Move on to `t_us`."""
        for _ in self.until(t_us):
            pass

    def seek(self, t_us: int) -> None:
        """Go to a time, either way: State as it was then, in one jump."""
        t_us = max(0, min(t_us, self.length_us))
        self._jump(self.journal.block_after(t_us), t_us)

    def step(self, by: int) -> None:
        """Go one event on or back."""
        target = self.next_block
        while True:
            target += by
            if not 0 <= target <= len(self.journal.index):
                return
            before = target - 1
            if before < 0 or self.journal.index.kind_of(before) != "seek":
                break
        at_us = self.journal.index.t_us[target - 1] if target else 0
        self._jump(target, at_us)

    def next_of(self, *kinds: str) -> Iterator[int]:
        """The numbers of the coming blocks of these kinds."""
        index = self.journal.index
        wanted = {index.kinds.index(kind) for kind in kinds if kind in index.kinds}
        for number in range(self.next_block, len(index)):
            if index.kind[number] in wanted:
                yield number

    def faster(self, by: int) -> None:
        """One step up or down the speeds."""
        place = SPEEDS.index(self.speed) + by
        self.speed = SPEEDS[max(0, min(place, len(SPEEDS) - 1))]

    def go_to(self, number: int) -> None:
        """Go to just after a block."""
        self._jump(number + 1, self.journal.index.t_us[number])

    def read_on(self) -> bool:
        """Take in what another console wrote since; who plays at the end stays at the end."""
        at_end = self.at_end
        if not self.journal.read_on():
            return False
        if at_end and self.playing:
            self.advance(self.length_us)
        return True

    async def run(self, clock: Clock) -> None:
        """Play in real time at the chosen speed, for as long as the program runs."""
        last_us = looked_us = grown_us = clock.now_us()
        while True:
            await clock.sleep(TICK_S)
            now_us = clock.now_us()
            if not self.journal.closed and now_us - looked_us >= READ_ON_US:
                looked_us = now_us
                if self.read_on():
                    grown_us = now_us
            if self.playing:
                target_us = self.position_us + round((now_us - last_us) * self.speed)
                self.advance(self.idle.leap(self.next_block, self.position_us, target_us))
                over = self.journal.closed or now_us - grown_us > GIVEN_UP_US
                self.playing = not (self.at_end and over)
            last_us = now_us

    def _jump(self, number: int, at_us: int) -> None:
        self.next_block = number
        self.position_us = at_us
        self.idle.forget()
        self._take(Jump(self.journal.state_before(number), at_us))
