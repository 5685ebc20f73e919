"""Doing benchmarks: the verbs `bench`, `compare`, `assume`, and stopping what is under way.

Owns that one benchmark runs at a time on a host and that a cancelled one keeps its runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from console.bench.importing import NotImported, import_results
from console.bench.plan import Plan
from console.control.bench_forecast import Order, alone, forecast, foretell, sides
from console.control.bench_history import with_history
from console.control.bench_launches import CANCELLED, Launches, Plans
from console.control.bench_outcome import benches_outcome
from console.control.bench_request import BadRequest, read_plan
from console.control.comparing import compare_outcome
from console.control.guard import READ_ONLY
from console.control.port import Argument, Outcome
from console.model.clock import Clock
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.fleet import Arm
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.store.toml import one_of
from console.stream.events import Event
from console.stream.run_events import AssumptionStated, BenchFinished
from console.stream.state import State
from console.stream.timeline import Timeline

if TYPE_CHECKING:
    from console.control.acting import Acts
    from console.services.bench import Benching
    from console.services.live import Watch

_MOST_RESULTS = 64 * 1024 * 1024


@dataclass(slots=True)
class Benches:
    """The benchmarks of a live session."""

    watch: Watch
    timeline: Timeline
    clock: Clock
    masks: Masks
    acts: Acts | None = None
    _running: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)

    async def bench(self, server: str, given: Mapping[str, Argument]) -> Outcome:
        """Measure a server, or by turns with another: by runs where both are up and one launch is
        enough, else by launches, which are acts."""
        fleet = self.watch.fleet
        names = [server]
        against = str(given.get("against", ""))
        if against:
            names.append(against)
        if against and (against == server or against not in [one.name for one in fleet.servers]):
            known = one_of([one.name for one in fleet.servers if one.name != server])
            return self._told(Exit.USAGE, f'against: no other server "{against}" ({known})')
        hosts = {fleet.host_of(fleet.server(name)).name for name in names}
        busy = hosts & set(self._running)
        if busy:
            return self._told(Exit.GUARD, f"a benchmark runs on {min(busy)} already")
        try:
            plans = {name: self._plan(name, given, alone=not against) for name in names}
        except BadRequest as error:
            return self._told(Exit.USAGE, str(error))
        for host in hosts:
            self.watch.follow_gpus(host)
        self._foretell(plans)
        task = asyncio.create_task(self._all(plans))
        self._running.update(dict.fromkeys(hosts, task))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                raise
            return self._told(Exit.STEP, CANCELLED)
        finally:
            for host in hosts:
                del self._running[host]

    def _plan(self, name: str, given: Mapping[str, Argument], *, alone: bool) -> tuple[Arm, Plan]:
        usual = self.watch.fleet.server(name).arm
        arm = arm_asked(given, usual) if alone else usual
        return arm, read_plan(given, arm, alone=alone)

    def _by_launches(self, plans: Plans) -> bool:
        """Whether servers have to be ended and started: in one slot, or for several launches."""
        slots = {self.watch.fleet.server(name).slot for name in plans}
        launches = max(plan.protocol.launches for _, plan in plans.values())
        return len(plans) > 1 and (len(slots) == 1 or launches > 1)

    def _foretell(self, plans: Plans) -> None:
        """Say how long it takes, before anything begins; by launches that is known after a look."""
        if self._by_launches(plans):
            return
        (name, (_, plan)), *more = plans.items()
        state = self.timeline.state
        lines: tuple[str, ...] = (alone(state, name, plan),)
        if more:
            order = Order(sides(self.watch.fleet, tuple(plans)), both_up=True)
            lines = forecast(state, order, plan)
        foretell(self.timeline, name, lines, self.masks)

    async def _all(self, plans: Plans) -> Outcome:
        """Measure what is up; where launches are wanted, have them done one after the other."""
        if not self._by_launches(plans):
            return await self._measure(plans)
        if self.acts is None:
            return self._told(Exit.GUARD, READ_ONLY)
        before = set(self.timeline.state.benches)
        ended = await Launches(self.acts, plans, self._measure).go()
        benches = [name for name in self.timeline.state.benches if name not in before]
        if not benches:
            return ended
        summed = benches_outcome(self.timeline.state, benches, self.masks)
        text = clean(f"{summed.text}; {ended.text}", self.masks)
        return Outcome(summed.exit if ended.ok else ended.exit, text, summed.results)

    def stop(self) -> Outcome:
        """Cancel every benchmark under way; what was measured is kept."""
        if not self._running:
            return self._told(Exit.STEP, "no benchmark runs")
        for task in set(self._running.values()):
            task.cancel()
        return self._told(Exit.OK, "the benchmark ends here; its runs are kept")

    def compare(self, given: Mapping[str, Argument]) -> Outcome:
        """Compare two arms of this session."""
        outcome, event = compare_outcome(self.timeline.state, given, self.masks)
        if event is not None:
            self.timeline.emit(event)
        return outcome

    def assume(self, given: Mapping[str, Argument]) -> Outcome:
        """State a figure that somebody believes, typed in or from another tool's results."""
        name = str(given.get("name", "believed"))
        try:
            tok_s, source = assumed(given)
        except BadRequest as error:
            return self._told(Exit.USAGE, str(error))
        shown = clean(source, self.masks)
        self.timeline.emit(AssumptionStated(clean(name, self.masks), tok_s, shown))
        text = clean(f"{name}: {tok_s:g} tok/s assumed, {source}; no baseline", self.masks)
        return Outcome(Exit.OK, text, {"tok_s": tok_s})

    async def _measure(self, plans: Plans) -> Outcome:
        from console.services.bench_order import measured
        from console.services.bench_start import OtherArm

        emit = self.timeline.emit
        try:
            async with AsyncExitStack() as stack:
                arms: list[Benching] = []
                for name, (arm, plan) in plans.items():
                    state = self.timeline.state
                    bench = Clean(next_name(state, arm, len(arms)))
                    if not plan.launch:
                        plan = replace(plan, launch=launch_number(state, name, plan.name))
                    begun = self.watch.benchmarks.begin(bench, name, arm, plan)
                    arms.append(await stack.enter_async_context(begun))
                try:
                    async with aclosing(measured(arms)) as events:
                        async for event in events:
                            emit(self._with_history(event))
                except asyncio.CancelledError:
                    for one in arms:
                        emit(one.finished(CANCELLED))
        except WireError as error:
            return self._told(error.kind.exit, f"{error.kind.value}: {error.told}")
        except OtherArm as error:
            return self._told(Exit.GUARD, str(error))
        benches = [one.bench for one in arms]
        return benches_outcome(self.timeline.state, benches, self.masks)

    def _with_history(self, event: Event) -> Event:
        if not isinstance(event, BenchFinished):
            return event
        cell = self.timeline.state.benches[event.bench]
        return with_history(event, cell, self.clock, self.timeline.emit, self.masks)

    def _told(self, code: Exit, text: str) -> Outcome:
        return Outcome(code, clean(text, self.masks))


def arm_asked(given: Mapping[str, Argument], usual: Arm) -> Arm:
    """The arm a benchmark is of; BadRequest for a word that is none."""
    word = str(given.get("arm", usual.value))
    if word not in list(Arm):
        raise BadRequest(f'arm: "{word}" is neither baseline nor speculative')
    return Arm(word)


def next_name(state: State, arm: Arm, more: int = 0) -> str:
    """`b1`, `s1`, …: one number more than any before, and than `more` that are about to begin."""
    numbers = [int(name[1:]) for name in state.benches if name[1:].isdecimal()]
    return f"{arm.value[0]}{max(numbers, default=0) + 1 + more}"


def launch_number(state: State, server: str, protocol: str) -> int:
    """Which launch of a confirmed benchmark this is: one more than benchmarks of it before."""
    before = [
        bench
        for bench in state.benches.values()
        if bench.started is not None
        and (bench.started.server, bench.started.protocol) == (server, protocol)
        and bench.finished is not None
        and bench.finished.valid
    ]
    return len(before) + 1


def assumed(given: Mapping[str, Argument]) -> tuple[float, str]:
    """Rate and source of an assumption.

    Raises:
        BadRequest: neither a rate nor a file of results that holds one.
    """
    tok_s = given.get("tok_s")
    if isinstance(tok_s, str):
        try:
            tok_s = float(tok_s)
        except ValueError:
            raise BadRequest(f'tok_s: "{tok_s}" is no number') from None
    if isinstance(tok_s, int | float):
        if not 0 < tok_s < 1e6:
            raise BadRequest("tok_s: a rate above 0 was expected")
        return float(tok_s), str(given.get("source", "typed in"))
    path = str(given.get("file", ""))
    if not path:
        raise BadRequest("tok_s or file was expected")
    try:
        with Path(path).expanduser().open("rb") as file:
            raw = file.read(_MOST_RESULTS)
    except OSError as error:
        raise BadRequest(f"{path}: {(error.strerror or str(error)).lower()}") from None
    found = import_results(raw.decode("utf-8", "replace"))
    if isinstance(found, NotImported):
        raise BadRequest(f"{path}: {found.why}")
    rates = [one for one in found if one.decode_tok_s is not None]
    if not rates:
        raise BadRequest(f"{path}: {'; '.join(found[0].caveats())}")
    only = rates[0]
    assert only.decode_tok_s is not None
    source = ", ".join((f"{only.tool}: {only.definition}", *only.caveats()))
    return only.decode_tok_s, source
