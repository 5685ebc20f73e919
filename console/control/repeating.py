"""One `repeat`: its time told first, its rounds one after the other, what ran before at the end.

Owns the order of the rounds, what they came to, and that an interrupted sweep goes on where it was.
The steps themselves are the step runner's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from console.bench.protocol import minutes
from console.control.arguments import Round, Step
from console.control.bench_forecast import counted
from console.control.estimate import estimate
from console.control.originals import CHANGES, Original, Originals
from console.control.port import Outcome
from console.control.resuming import Resumed
from console.model.clock import US_PER_S
from console.model.exits import Exit
from console.model.text import Clean, clean, plain
from console.stream.session_events import StepFinished

if TYPE_CHECKING:
    from console.control.steps import Steps

_RATE = "decode_tok_s"


@dataclass(frozen=True, slots=True)
class Rate:
    """What a round's benchmark came to, with its interval, in tokens a second."""

    tok_s: float
    low: float
    high: float
    name: str


@dataclass(slots=True)
class Repeat:
    """One run of one `repeat` step."""

    steps: Steps
    step: Step
    resumed: Resumed
    exit: Exit = Exit.OK
    passed: int = 0
    failed: int = 0
    changed: bool = False
    lines: list[Clean] = field(default_factory=list)
    rates: list[Rate] = field(default_factory=list)
    _took_us: list[int] = field(default_factory=list)

    async def go(self) -> Outcome:
        """Run it; every round's end is a line of the outcome."""
        before = Originals(self.steps, self.step, self.resumed)
        why_not = before.refusal()
        if why_not is not None:
            return self._told(Exit.GUARD, why_not)
        left = [one for one in self._numbered() if self._done(*one) is None]
        changes = sorted({server for step in before.changing() for server in step.servers})
        state = self.steps.control.timeline.state
        expected = estimate([one for _, one in left], state, changes, self.resumed)
        over = len(self.step.rounds) - len(left)
        again = f", {over} done before" if over else ""
        self._say(f"{counted(len(left), 'round')}{again}, {expected}")
        originals: list[Original] = []
        if changes and not self.steps.dry:
            kept = await before.keep()
            if isinstance(kept, Outcome):
                return kept
            originals = kept
        before_us, now_us = self.steps.until_us, self.steps.control.timeline.now_us
        if self.step.timeout_s:
            own_us = now_us + round(self.step.timeout_s * US_PER_S)
            self.steps.until_us = min(own_us, before_us or own_us)
        for number, one in self._numbered():
            if await self._round(number, one) is Exit.INTERRUPTED:
                break
            if self.exit is not Exit.OK and self.step.arguments.get("on_fail") == "stop":
                break
        self.steps.until_us = before_us
        if (self.changed or before.left_changed()) and self.exit is not Exit.INTERRUPTED:
            await self._put_back(before, originals)
        return self._ended()

    async def _put_back(self, before: Originals, originals: list[Original]) -> None:
        """What ran before runs again, told and kept in the session."""
        for number, original in enumerate(originals, 1):
            came = await before.back(number, original)
            self._say(plain(came.text))
            self.lines.append(came.text)
            self.exit = self.exit if self.exit is not Exit.OK else came.exit

    def _numbered(self) -> Iterator[tuple[int, Round]]:
        return iter(enumerate(self.step.rounds, 1))

    def _done(self, number: int, one: Round) -> StepFinished | None:
        return self.resumed.round(f"{self.step.id}_{number}", one.name)

    async def _round(self, number: int, one: Round) -> Exit:
        """Run a round, or take over what it came to; a step that fails ends it."""
        steps, key = self.steps, f"{self.step.id}_{number}"
        done = self._done(number, one)
        if done is not None:
            self._take_over(number, one, done)
            return Exit.OK
        begun_us = steps.control.timeline.now_us
        code, last = Exit.OK, self._told(Exit.OK, "nothing was to be done")
        for step in one.steps:
            if steps.stopped():
                code = Exit.INTERRUPTED
            if code is not Exit.OK and not step.always:
                steps.report.step_left_out(step, "a step before it failed")
                continue
            for ended in await steps.each(step):
                acted = step.verb in CHANGES and ended.exit not in (Exit.GUARD, Exit.USAGE)
                self.changed = self.changed or acted
                self._note(one.name, ended)
                last = ended if code is Exit.OK else last
                code = code if code is not Exit.OK else ended.exit
        if code is Exit.INTERRUPTED:
            self.exit = code
            return code
        self._took_us.append(steps.control.timeline.now_us - begun_us)
        self.exit = self.exit if self.exit is not Exit.OK else code
        self.passed, self.failed = (
            self.passed + (code is Exit.OK),
            self.failed + (code is not Exit.OK),
        )
        self._line(number, one, code, plain(last.text))
        results = {"round": one.name, **{k: v for k, v in last.results.items() if k == _RATE}}
        steps.record(key, "repeat", "", Outcome(code, last.text, results))
        self._say(f"round {number} of {len(self.step.rounds)}, {one.name}: {self._left(number)}")
        return code

    def _take_over(self, number: int, one: Round, done: StepFinished) -> None:
        """A round of an earlier night: its results count here, and stand in this session too."""
        for step in one.steps:
            for server in step.servers or ("",):
                event = self.resumed.steps.get((step.id, server))
                if event is None:
                    continue
                results = {plain(name): plain(value) for name, value in event.results}
                outcome = Outcome(Exit.OK, event.text, dict(results))
                self.steps.values.update({(step.id, key): v for key, v in results.items()})
                self.steps.record(step.id, step.verb, server, outcome)
                self._note(one.name, outcome)
        self.passed += 1
        self._line(number, one, Exit.OK, f"{plain(done.text)} (done before)")
        results = {plain(name): plain(value) for name, value in done.results}
        self.steps.record(
            f"{self.step.id}_{number}", "repeat", "", Outcome(Exit.OK, done.text, dict(results))
        )

    def _note(self, name: str, outcome: Outcome) -> None:
        """Keep a rate that was measured; without an interval it may be anything."""
        try:
            rate, low, high = (float(outcome.results[key]) for key in (_RATE, "low", "high"))
        except (KeyError, ValueError):
            return
        if outcome.ok:
            known = 0 < low <= high
            self.rates.append(Rate(rate, low if known else 0.0, high if known else inf, name))

    def _line(self, number: int, one: Round, code: Exit, said: str) -> None:
        word = "" if code is Exit.OK else f"failed ({code.value}): "
        self.lines.append(clean(f"{number}. {one.name}: {word}{said}", self.steps.masks))

    def _left(self, number: int) -> str:
        left = len(self.step.rounds) - number
        mean_s = sum(self._took_us) / len(self._took_us) / US_PER_S
        return f"{minutes(left * mean_s)} left" if left else "the last"

    def _ended(self) -> Outcome:
        results: dict[str, str | int | float] = {
            "rounds": len(self.step.rounds), "passed": self.passed, "failed": self.failed,
        }  # fmt: skip
        text = f"{self.passed} of {counted(len(self.step.rounds), 'round')} passed"
        if self.rates:
            best, alike = self._best()
            said = f"the best is {best.name} with {best.tok_s:.1f} tok/s"
            said += f", not told apart from {', '.join(alike)}" if alike else ""
            results |= {"best": best.name, "best_tok_s": best.tok_s, "line": said}
            text += f"; {said}"
        if self.exit is Exit.INTERRUPTED:
            text += "; what ran before is not running again yet: --resume goes on"
        return Outcome(self.exit, clean(text, self.steps.masks), results, tuple(self.lines))

    def _best(self) -> tuple[Rate, list[str]]:
        """The highest rate, and the rounds whose interval reaches into its own."""
        best = max(self.rates, key=lambda one: one.tok_s)
        alike = [one.name for one in self.rates if one.name != best.name and one.high >= best.low]
        return best, list(dict.fromkeys(alike))

    def _told(
        self,
        code: Exit,
        text: str,
        results: dict[str, str | int | float] | dict[str, str] | None = None,
    ) -> Outcome:
        return Outcome(code, clean(text, self.steps.masks), dict(results or {}))

    def _say(self, text: str) -> None:
        self.steps.report.progress(self.step, "", text)
