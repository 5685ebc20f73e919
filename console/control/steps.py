"""The step runner: a checked script, one verb after the other, on any control.

Knows conditions, deadlines and the order of failures; doing is the control's. Steps and their
results enter the stream, so a session says what the script found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from console.control.arguments import Step, until_log
from console.control.expression import Unknown, Value, conditions, fill, holds
from console.control.link_back import LOOKS, link_back, link_lost
from console.control.port import Argument, Control, Outcome
from console.control.recorded import recorded
from console.control.repeating import Repeat
from console.control.resuming import Resumed
from console.control.script import OnFail, Script
from console.control.waiting import Wait
from console.control.watchdog import Watchdog
from console.model.clock import US_PER_S
from console.model.exits import Exit
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.verb import Need
from console.model.verbs import VERBS
from console.stream.session_events import StepFinished, StepStarted

_NOT_DRY = ("marker", "note", "save", "wait", "bench", "compare", "assume", "profile")
"""What a dry run leaves out: what would be recorded, written, measured or waited for."""


class Report(Protocol):
    """Who is told how a script goes on."""

    def step_started(self, step: Step, server: str) -> None:
        """A step began on a server ("" for a verb without one)."""
        ...

    def progress(self, step: Step, server: str, text: str) -> None:
        """A wait goes on."""
        ...

    def step_finished(self, step: Step, server: str, outcome: Outcome) -> None:
        """A step ended."""
        ...

    def step_left_out(self, step: Step, why: str) -> None:
        """A step did not run."""
        ...


@dataclass(slots=True)
class Steps:
    """One run of one script.

    Attributes:
        run: what `${run.…}` gives.
        stopped: asked between steps and during waits; True ends the run as interrupted, but for
            steps that always run.
        resumed: what an interrupted run of this script had done.
        until_us: when the time of the script, or of a `repeat` in it, is over; None for never.
    """

    script: Script
    control: Control
    report: Report
    masks: Masks
    run: Mapping[str, str]
    stopped: Callable[[], bool] = lambda: False
    dry: bool = False
    resumed: Resumed = field(default_factory=Resumed)
    values: dict[tuple[str, str], Value] = field(default_factory=dict)
    until_us: int | None = None

    async def go(self) -> Exit:
        """Run every step; the first that fails decides the exit code."""
        self.values.update({("vars", name): text for name, text in self.script.variables.items()})
        self.values.update({("run", name): text for name, text in self.run.items()})
        await self._follow_logs()
        if self.script.timeout_s:
            self.until_us = self.control.timeline.now_us + round(self.script.timeout_s * US_PER_S)
        first = Exit.OK
        for step in self.script.steps:
            stop = first is not Exit.OK and self.script.on_fail is OnFail.STOP
            if self.stopped():
                first, stop = Exit.INTERRUPTED, True
            if stop and not step.always:
                self.report.step_left_out(step, "a step before it failed")
                continue
            for outcome in await self.each(step):
                first = first if first is not Exit.OK else outcome.exit
        return Exit.INTERRUPTED if self.stopped() else first

    async def each(self, step: Step) -> list[Outcome]:
        """Run a step on each of its servers, if it is wanted; how each ended."""
        try:
            if not self._wanted(step):
                self.report.step_left_out(step, "its condition does not hold")
                return []
        except Unknown as error:
            self.report.step_left_out(step, str(error))
            return []
        return [await self._step(step, server) for server in step.servers or ("",)]

    def record(self, step: str, verb: str, server: str, outcome: Outcome) -> None:
        """Keep in the session how something ended."""
        if self._playing():
            return
        name, verb, where = (clean(text, self.masks) for text in (step, verb, server))
        results = tuple(
            (clean(key, self.masks), clean(str(value), self.masks))
            for key, value in outcome.results.items()
        )
        self.control.timeline.emit(
            StepFinished(name, verb, where, outcome.exit, outcome.text, results)
        )

    async def _follow_logs(self) -> None:
        """Follow what fail-fast patterns read, so that what a log held before is no news."""
        if self._playing() or self.dry:
            return
        steps = [
            *self.script.steps,
            *(s for t in self.script.steps for r in t.rounds for s in r.steps),
        ]
        watched = {s for t in steps if any(map(until_log, t.fail_fast)) for s in t.servers}
        for server in sorted(watched):
            await self.control.do("tail", server, {"lines": 1})

    def _wanted(self, step: Step) -> bool:
        return all(holds(condition, self.values)[0] for condition in step.when)

    async def _step(self, step: Step, server: str) -> Outcome:
        if not self._playing():
            name, verb, where = (clean(text, self.masks) for text in (step.id, step.verb, server))
            given = recorded(step, self.script.variables, self.masks)
            self.control.timeline.emit(StepStarted(name, verb, where, given))
        self.report.step_started(step, server)
        try:
            outcome = await self._outcome(step, server)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.stopped() or task is None:
                raise
            task.uncancel()  # what always runs still does
            outcome = Outcome(Exit.INTERRUPTED, Clean("interrupted"))
        for key, value in outcome.results.items():
            self.values[step.id, key] = value
        self.record(step.id, step.verb, server, outcome)
        self.report.step_finished(step, server, outcome)
        return outcome

    def _playing(self) -> bool:
        return self.control.playback is not None

    async def _outcome(self, step: Step, server: str) -> Outcome:
        arguments: dict[str, Argument] = {}
        try:
            for key, value in step.arguments.items():
                is_text = isinstance(value, str) and VERBS[step.verb].sole != "that"
                arguments[key] = fill(str(value), self.values) if is_text else value
        except Unknown as error:
            if self.dry:
                return Outcome(Exit.OK, clean(f"not done: dry run, {error}", self.masks))
            return Outcome(Exit.STEP, clean(str(error), self.masks))
        if step.verb == "assert":
            return self._assert(arguments["that"])
        why_not = self.control.can(step.verb)
        if why_not is not None and VERBS[step.verb].need is not Need.UNLOCK:
            return Outcome(Exit.GUARD, clean(why_not, self.masks))
        if step.verb == "repeat":
            return await Repeat(self, step, self.resumed).go()
        if self.dry and step.verb in _NOT_DRY:
            return Outcome(Exit.OK, Clean("not done: dry run"))
        until_us = None if step.always else self.until_us
        with Watchdog(self.control, step, server, self.masks, until_us) as watchdog:
            if step.verb == "wait":
                return await Wait(self, step, server, arguments, watchdog).go()
            if (over := watchdog.over()) is not None:
                return over
            work = self._do(step, server, arguments)
            return await (work if self._playing() else watchdog.around(work))

    async def _do(self, step: Step, server: str, arguments: dict[str, Argument]) -> Outcome:
        control, timeline = self.control, self.control.timeline
        if self._playing():
            return await control.do(step.verb, server, arguments, step.timeout_s)
        await link_back(timeline, server, step.timeout_s)
        outcome = await control.do(step.verb, server, arguments, step.timeout_s)
        again = outcome.exit is Exit.UNREACHABLE and step.verb in LOOKS
        if again and await link_lost(timeline, server):
            await link_back(timeline, server, step.timeout_s)
            outcome = await control.do(step.verb, server, arguments, step.timeout_s)
        return outcome

    def _assert(self, texts: Argument) -> Outcome:
        """In a dry run a condition on what was not done is passed over, and said to be."""
        failed: list[str] = []
        passed_over: list[str] = []
        assert not isinstance(texts, str | int | float)
        for text in texts:
            try:
                good, said = holds(conditions(text), self.values)
            except Unknown as error:
                good, said = False, str(error)
                if self.dry:
                    passed_over.append(f"{text} not looked at: {said}")
                    continue
            if not good:
                failed.append(f"{text} fails: {said}")
        if failed:
            return Outcome(Exit.ASSERTION, clean("; ".join(failed + passed_over), self.masks))
        held = len(texts) - len(passed_over)
        told = [f"{held} held" if len(texts) > 1 else "holds"] if held else []
        return Outcome(Exit.OK, clean("; ".join(told + passed_over), self.masks))
