"""The step runner: a checked script, one verb after the other, on any control.

Knows conditions, deadlines and the order of failures; doing is the control's. Steps and their
results enter the stream, so a session says what the script found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from console.control.arguments import Step, until_log
from console.control.expression import Unknown, Value, conditions, fill, holds
from console.control.port import Argument, Control, Outcome
from console.control.script import OnFail, Script
from console.model.clock import US_PER_S
from console.model.exits import Exit
from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import Clean, clean, plain
from console.model.verb import VERBS, Need
from console.stream.fact import Standing
from console.stream.logs import lines
from console.stream.session_events import StepFinished, StepStarted

_OK = 200


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
        stopped: asked between steps and during waits; True ends the run as interrupted.
    """

    script: Script
    control: Control
    report: Report
    masks: Masks
    run: Mapping[str, str]
    stopped: Callable[[], bool] = lambda: False
    dry: bool = False
    values: dict[tuple[str, str], Value] = field(default_factory=dict)

    async def go(self) -> Exit:
        """Run every step; the first that fails decides the exit code."""
        self.values.update({("vars", name): text for name, text in self.script.variables.items()})
        self.values.update({("run", name): text for name, text in self.run.items()})
        first = Exit.OK
        for step in self.script.steps:
            stop = first is not Exit.OK and self.script.on_fail is OnFail.STOP
            if self.stopped():
                first, stop = Exit.INTERRUPTED, True
            if stop and not step.always:
                self.report.step_left_out(step, "a step before it failed")
                continue
            try:
                if not self._wanted(step):
                    self.report.step_left_out(step, "its condition does not hold")
                    continue
            except Unknown as error:
                self.report.step_left_out(step, str(error))
                continue
            for server in step.servers or ("",):
                code = await self._step(step, server)
                first = first if first is not Exit.OK else code
        return first

    def _wanted(self, step: Step) -> bool:
        return all(holds(condition, self.values)[0] for condition in step.when)

    async def _step(self, step: Step, server: str) -> Exit:
        emit = self.control.timeline.emit
        name, verb, where = (clean(text, self.masks) for text in (step.id, step.verb, server))
        if not self._playing():
            emit(StepStarted(name, verb, where))
        self.report.step_started(step, server)
        outcome = await self._outcome(step, server)
        for key, value in outcome.results.items():
            self.values[step.id, key] = value
        if not self._playing():
            results = tuple(
                (clean(key, self.masks), clean(str(value), self.masks))
                for key, value in outcome.results.items()
            )
            emit(StepFinished(name, verb, where, outcome.exit, outcome.text, results))
        self.report.step_finished(step, server, outcome)
        return outcome.exit

    def _playing(self) -> bool:
        return self.control.playback is not None

    async def _outcome(self, step: Step, server: str) -> Outcome:
        arguments: dict[str, Argument] = {}
        try:
            for key, value in step.arguments.items():
                is_text = isinstance(value, str) and VERBS[step.verb].sole != "that"
                arguments[key] = fill(str(value), self.values) if is_text else value
        except Unknown as error:
            return Outcome(Exit.STEP, clean(str(error), self.masks))
        if step.verb == "assert":
            return self._assert(arguments["that"])
        why_not = self.control.can(step.verb)
        if why_not is not None and VERBS[step.verb].need is not Need.UNLOCK:
            return Outcome(Exit.GUARD, clean(why_not, self.masks))
        if self.dry and step.verb in ("marker", "note", "save", "wait"):
            return Outcome(Exit.OK, Clean("not done: dry run"))
        if step.verb == "wait":
            return await _Wait(self, step, server, arguments).go()
        return await self.control.do(step.verb, server, arguments, step.timeout_s)

    def _assert(self, texts: Argument) -> Outcome:
        failed: list[str] = []
        assert not isinstance(texts, str | int | float)
        for text in texts:
            try:
                good, said = holds(conditions(text), self.values)
            except Unknown as error:
                good, said = False, str(error)
            if not good:
                failed.append(f"{text} fails: {said}")
        if failed:
            return Outcome(Exit.ASSERTION, clean("; ".join(failed), self.masks))
        return Outcome(Exit.OK, Clean(f"{len(texts)} held" if len(texts) > 1 else "holds"))


class _Wait:
    """One wait: look at once, then at every interval, until it holds or its time is over."""

    def __init__(
        self, steps: Steps, step: Step, server: str, arguments: Mapping[str, Argument]
    ) -> None:
        self.steps = steps
        self.step = step
        self.server = server
        self.until = str(arguments["until"])
        expected = arguments.get("expect", _OK)
        self.expect = expected if isinstance(expected, int) else _OK
        every = arguments.get("every", steps.script.every_s)
        self.every_s = float(every) if isinstance(every, int | float) else steps.script.every_s
        self.pattern = until_log(self.until)
        self.log = LogId(server)
        self.from_line = 0
        self.last = "nothing seen yet"

    async def go(self) -> Outcome:
        control, steps = self.steps.control, self.steps
        begun_us = control.timeline.now_us
        told_us = begun_us
        while True:
            results = await self._look()
            waited_us = control.timeline.now_us - begun_us
            if results is not None:
                results["waited_us"] = waited_us
                text = f"{self.until}: {self.last} after {waited_us / US_PER_S:.1f} s"
                return Outcome(Exit.OK, clean(text, steps.masks), results)
            if waited_us >= self.step.timeout_s * US_PER_S:
                return self._over(f"not within {self.step.timeout_s:g} s", waited_us)
            if steps.stopped():
                return Outcome(Exit.INTERRUPTED, Clean("interrupted"))
            if waited_us - (told_us - begun_us) >= steps.script.progress_s * US_PER_S:
                told_us = control.timeline.now_us
                said = f"{waited_us / US_PER_S:.0f} s, {self.last}"
                steps.report.progress(self.step, self.server, said)
            if not await control.pass_time(self.every_s):
                waited_us = control.timeline.now_us - begun_us
                return self._over("the recording ends before it holds", waited_us)

    def _over(self, why: str, waited_us: int) -> Outcome:
        text = clean(f"{self.until}: {why}; {self.last}", self.steps.masks)
        return Outcome(Exit.DEADLINE, text, {"waited_us": waited_us})

    async def _look(self) -> dict[str, str | int | float] | None:
        control = self.steps.control
        if self.pattern is not None:
            return await self._look_at_log()
        outcome = await control.do(
            "health", self.server, {"expect": self.expect}, self.step.timeout_s
        )
        self.last = plain(outcome.text)
        standing = control.timeline.state.standing(self.server)
        met = outcome.ok if self.until == "health" else standing is Standing(self.until)
        return {**outcome.results} if met else None

    async def _look_at_log(self) -> dict[str, str | int | float] | None:
        control = self.steps.control
        assert self.pattern is not None
        outcome = await control.do("tail", self.server, {"lines": 1}, self.step.timeout_s)
        self.last = plain(outcome.text)
        first, end = control.timeline.logs.reach(self.log)
        log = control.timeline.state.logs.get(self.log)
        end = log.mark.end if log is not None else end
        for line in lines(control.timeline.logs, self.log, max(first, self.from_line), end):
            if self.pattern.search(plain(line)):
                return {"line": line}
        self.from_line = end
        return None
