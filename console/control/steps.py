"""The step runner: a checked script, one verb after the other, on any control.

Knows conditions, deadlines and the order of failures; doing is the control's. Steps and their
results enter the stream, so a session says what the script found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from console.control.arguments import Step
from console.control.expression import Unknown, Value, conditions, fill, holds
from console.control.port import Argument, Control, Outcome
from console.control.recorded import recorded
from console.control.script import OnFail, Script
from console.control.waiting import Wait
from console.model.exits import Exit
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.verb import VERBS, Need
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
            given = recorded(step, self.script.variables, self.masks)
            emit(StepStarted(name, verb, where, given))
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
            if self.dry:
                return Outcome(Exit.OK, clean(f"not done: dry run, {error}", self.masks))
            return Outcome(Exit.STEP, clean(str(error), self.masks))
        if step.verb == "assert":
            return self._assert(arguments["that"])
        why_not = self.control.can(step.verb)
        if why_not is not None and VERBS[step.verb].need is not Need.UNLOCK:
            return Outcome(Exit.GUARD, clean(why_not, self.masks))
        if self.dry and step.verb in _NOT_DRY:
            return Outcome(Exit.OK, Clean("not done: dry run"))
        if step.verb == "wait":
            return await Wait(self, step, server, arguments).go()
        return await self.control.do(step.verb, server, arguments, step.timeout_s)

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
