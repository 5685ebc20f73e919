"""Two arms measured by turns of launches: B S S B in one slot, or both anew in every round.

Owns which act comes before a round, that all of them are confirmed before the first run, and that
it ends as soon as what was measured can no longer be compared. How an act is done is acting's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from console.bench.arm import LEAST_RUNS, Measured, compare
from console.bench.plan import Plan
from console.bench.protocol import BASELINE, SPECULATIVE, Side, rounds
from console.bench.verdict import Word, verdict
from console.control.arms import Chosen, choose
from console.control.bench_cooling import Temperatures, cooled, temperatures
from console.control.bench_forecast import Order, forecast, foretell, sides
from console.control.bench_request import MOST_LAUNCHES
from console.control.guard import UNKNOWN_LOAD, Refused, Series, never
from console.control.port import Outcome
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.fleet import Arm
from console.model.text import plain
from console.stream.run_events import RunMeasured
from console.stream.server_events import MetricSeen
from console.stream.state import Item, State

if TYPE_CHECKING:
    from console.control.acting import Acts
    from console.control.acting_look import Look

CANCELLED = "cancelled"
_FRESH = 3.0
"""How many polls long an act waits for figures that were paused while a run was timed."""

Plans = Mapping[str, tuple[Arm, Plan]]
Measure = Callable[[Plans], Awaitable[Outcome]]


class _Over(Exception):
    """No more launches; the exit code and why."""

    def __init__(self, code: Exit, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(slots=True)
class Launches:
    """One benchmark by launches.

    Attributes:
        plans: both servers with their plans, in the order they were named.
        measure: measures those that are up, by turns where there are two.
    """

    acts: Acts
    plans: Plans
    measure: Measure
    _servers: dict[Side, str] = field(default_factory=dict)
    _confirmed: frozenset[str] = frozenset()
    _found: dict[str, object] = field(default_factory=dict)
    _done: int = 0
    _cool: Temperatures | None = None

    async def go(self) -> Outcome:
        """All of it. OK when every launch is valid; however it ends, what was measured is kept and
        the text says how many launches were left out."""
        launches = self._plan.protocol.launches
        planned = 0
        self.acts.timeline.subscribe(self._take)
        try:
            order = await self._ordered(launches)
            while True:
                turns = rounds(launches, order.both_up, order.first)
                planned = len(turns)
                for arms in turns[self._done :]:
                    await self._round(order, arms)
                    self._done += 1
                if launches >= MOST_LAUNCHES or not self._too_wide():
                    return Outcome(Exit.OK, self.acts.clean(self._left(turns)))
                launches += 1
        except Refused as error:
            if not self._done:
                return self.acts.refuse("bench", next(iter(self.plans)), str(error))
            code, why = Exit.GUARD, str(error)
        except WireError as error:
            code, why = error.kind.exit, f"{error.kind.value}: {error.told}"
        except _Over as error:
            code, why = error.code, str(error)
        except asyncio.CancelledError:
            code, why = Exit.INTERRUPTED, CANCELLED
        finally:
            self.acts.timeline.unsubscribe(self._take)
        left = planned - self._done
        return Outcome(code, self.acts.clean(f"{why}; {left} of {planned} launches left out"))

    def _left(self, turns: tuple[tuple[tuple[Side, int], ...], ...]) -> str:
        """Who is left running: the last one of each slot."""
        names = [self._servers[side] for side, _ in turns[-1]]
        return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} left running"

    def _take(self, item: Item, _state: State) -> None:
        """A run is something done: what was unlocked for it stays so."""
        if isinstance(item, RunMeasured):
            self.acts.guard.touch()

    async def _ordered(self, launches: int) -> Order:
        """Look at what is there, find the order, and have all of it confirmed."""
        acts = self.acts
        fleet = acts.watch.fleet
        entries = {name: fleet.server(name) for name in self.plans}
        for entry in entries.values():
            refusal = never(fleet, entry) or acts.guard.refusal()
            if refusal is not None:
                raise Refused(refusal)
        looks: dict[str, Look] = {}
        reasons: dict[str, None] = {}
        for name in self.plans:
            request, look = await acts.preview("swap", name)
            looks[name] = look
            reasons |= dict.fromkeys(look.reasons(request))
            if look.no_start and (launches > 1 or look.runs != name):
                raise Refused(f"{name} could not be launched: {look.no_start}")
        self._servers = sides(fleet, tuple(self.plans))
        both_up = len({entry.slot for entry in entries.values()}) > 1
        up = frozenset(side for side, name in self._servers.items() if looks[name].runs == name)
        first = SPECULATIVE if not both_up and up == {SPECULATIVE} else BASELINE
        order = Order(self._servers, both_up, first, up)
        self._found = {look.slot: _process(look) for look in looks.values()}
        self._confirmed = frozenset(reasons)
        told = forecast(self._state, order, self._plan)
        foretell(acts.timeline, next(iter(self.plans)), told, acts.masks)
        detail = (*told, *_ended(looks))
        unnamed = [name for name in self.plans if name not in acts.guard.yes_targets]
        if unnamed:
            await acts.guard.confirm(acts.ask, "bench", unnamed[0], detail, tuple(reasons))
        return order

    @property
    def _plan(self) -> Plan:
        return next(iter(self.plans.values()))[1]

    async def _round(self, order: Order, arms: tuple[tuple[Side, int], ...]) -> None:
        """Launch what has to be, then measure."""
        plans: dict[str, tuple[Arm, Plan]] = {}
        for side, launch in arms:
            name = self._servers[side]
            arm, plan = self.plans[name]
            plans[name] = (arm, replace(plan, launch=launch))
            if launch > 1 or side not in order.up:
                await self._launch(name)
        await self._cooled(plans)
        outcome = await self.measure(plans)
        if outcome.exit not in (Exit.OK, Exit.STEP):
            raise _Over(outcome.exit, plain(outcome.text))
        self._judge()

    async def _cooled(self, plans: Plans) -> None:
        """Begin every launch with GPUs about as warm as before the first."""
        acts = self.acts
        if self._cool is None:
            fleet = acts.watch.fleet
            hosts = {fleet.host_of(fleet.server(name)).name for name in self.plans}
            self._cool = temperatures(self._state, hosts)
            return
        server, scale = next(iter(plans)), acts.pace.scale
        await cooled(acts.timeline, acts.clock, scale, self._cool, server, acts.masks)

    async def _launch(self, name: str) -> None:
        """End what runs in the slot and start this one; covered by what was confirmed as long as
        it is still that."""
        acts = self.acts
        await self._told_again(name)
        _, look = await acts.preview("swap", name)
        reasons = self._confirmed
        if look.slot in self._found:
            if _process(look) != self._found.pop(look.slot):
                raise Refused(f"what runs in {look.slot} is not what was confirmed")
        else:
            reasons &= {UNKNOWN_LOAD}
        verb = "launch" if _process(look) is None and not look.tree.listening else "swap"
        if look.runs == name:
            verb = "restart"
        acts.guard.series = Series(name, reasons)
        try:
            outcome = await acts.do(verb, name, {})
        finally:
            acts.guard.series = None
        if not outcome.ok:
            raise _Over(outcome.exit, f"{verb} {name}: {plain(outcome.text)}")

    async def _told_again(self, name: str) -> None:
        """Let figures that were paused come back: what is not known to be idle is asked about."""
        acts = self.acts
        state = acts.timeline.state
        slot = acts.watch.fleet.server(name).slot
        own = {one.name for one in acts.watch.fleet.servers if one.slot == slot}
        polled = any(state.servers[one].metric is not None for one in own if one in state.servers)
        if not polled or name in acts.guard.yes_targets:
            return
        fresh = asyncio.Event()

        def take(item: Item, _state: State) -> None:
            if isinstance(item, MetricSeen) and item.server in own:
                fresh.set()

        acts.timeline.subscribe(take)
        try:
            async with asyncio.timeout(_FRESH * acts.pace.metrics_s):
                await fresh.wait()
        except TimeoutError:
            pass
        finally:
            acts.timeline.unsubscribe(take)

    @property
    def _state(self) -> State:
        return self.acts.timeline.state

    def _arms(self) -> tuple[Chosen, Chosen] | None:
        """Both arms as a comparison would take them; None until both were measured."""
        measured = {b.started.server for b in self._state.benches.values() if b.started is not None}
        if not {self.acts.clean(name) for name in self.plans} <= measured:
            return None
        base, spec = self._servers[BASELINE], self._servers[SPECULATIVE]
        return choose(self._state, base, Arm.BASELINE), choose(self._state, spec, Arm.SPECULATIVE)

    def _judge(self) -> None:
        """End it where launches to come could not be compared any more."""
        arms = self._arms()
        if arms is None:
            return
        found = verdict(arms[0].arm, arms[1].arm)
        if found.word is Word.NOT_COMPARABLE:
            self._done += 1
            raise _Over(Exit.ASSERTION, found.line)

    def _too_wide(self) -> bool:
        """Whether launches are to be added: decided on the width of the ratio alone."""
        arms = self._arms()
        if not self._plan.within or arms is None:
            return False
        ours, theirs = arms[0].arm, arms[1].arm
        if not isinstance(ours, Measured) or not isinstance(theirs, Measured):
            return False
        if min(len(ours.rates()), len(theirs.rates())) < LEAST_RUNS:
            return False
        return compare(ours, theirs).ratio.half() > self._plan.within


def _process(look: Look) -> object:
    """Which process has the slot; None where there is none."""
    launcher = look.tree.launcher
    return None if launcher is None else launcher.identity


def _ended(looks: Mapping[str, Look]) -> list[str]:
    """What runs now and is ended, and whose it is."""
    found: dict[str, str] = {}
    for look in looks.values():
        if look.tree.launcher is None:
            found[look.slot] = f"nothing runs in {look.slot}"
        else:
            name = look.runs or "a server that is not known"
            found[look.slot] = f"ends {name} in {look.slot}, started by {look.owner}"
    return [*found.values(), "then starts and ends its own launches, and leaves the last one up"]
