"""One `repeat`: its time told first, its rounds one after the other, what ran before at the end.

Owns what is kept of the servers it changes and how they come back, and that an interrupted sweep
goes on where it was. The steps themselves are the step runner's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.bench.protocol import minutes
from console.control.arguments import Round, Step
from console.control.estimate import estimate
from console.control.port import Outcome
from console.control.resuming import Resumed
from console.model.clock import US_PER_S
from console.model.exits import Exit
from console.model.text import Clean, clean, plain
from console.stream.session_events import StepFinished

if TYPE_CHECKING:
    from console.control.steps import Steps

CHANGES = ("launch", "restart", "stop", "swap")
ACT_S = 30.0
"""Acts have deadlines of their own."""
_RATE = "decode_tok_s"


@dataclass(frozen=True, slots=True)
class Original:
    """What ran in a slot before: a server and its recipe on the host; nothing for an empty one."""

    slot: str
    server: str = ""
    recipe: str = ""


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
    best: tuple[float, str] = (0.0, "")
    _took_us: list[int] = field(default_factory=list)

    async def go(self) -> Outcome:
        """Run it; every round's end is a line of the outcome."""
        why_not = self._refusal()
        if why_not is not None:
            return self._told(Exit.GUARD, why_not)
        left = [one for one in self._numbered() if self._done(*one) is None]
        changes = sorted({server for step in self._changing() for server in step.servers})
        expected = estimate([one for _, one in left], self.steps.control.timeline.state, changes)
        again = f", {len(self.step.rounds) - len(left)} done before" if self._skips(left) else ""
        self._say(f"{len(left)} rounds{again}, {expected}")
        originals: list[Original] = []
        if changes and not self.steps.dry:
            kept = await self._keep()
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
        if self.changed and self.exit is not Exit.INTERRUPTED:
            for original in originals:
                await self._back(original)
        return self._ended()

    def _numbered(self) -> Iterator[tuple[int, Round]]:
        return iter(enumerate(self.step.rounds, 1))

    def _skips(self, left: list[tuple[int, Round]]) -> bool:
        return len(left) < len(self.step.rounds)

    def _changing(self) -> Iterator[Step]:
        for one in self.step.rounds:
            yield from (step for step in one.steps if step.verb in CHANGES)

    def _refusal(self) -> str | None:
        """Why nothing is begun: what would change a server may not."""
        for step in self._changing():
            for server in step.servers:
                why_not = self.steps.control.can(step.verb, server)
                if why_not is not None:
                    return f"{step.id}: {step.verb} {server}: {why_not}"
        return None

    async def _keep(self) -> list[Original] | Outcome:
        """What runs now in every slot that is changed, kept on its host to be run again."""
        found: list[Original] = []
        slots = self._slots()
        for slot in dict.fromkeys(
            slots[server] for step in self._changing() for server in step.servers
        ):
            key = f"{self.step.id}_original_{len(found) + 1}"
            before = self.resumed.steps.get((key, ""))
            if before is not None:
                held = {plain(name): plain(value) for name, value in before.results}
                original = Original(slot, held.get("server", ""), held.get("recipe", ""))
            else:
                kept = await self._adopt(slot, [name for name, at in slots.items() if at == slot])
                if isinstance(kept, Outcome):
                    return kept
                original = kept
            if original.server:
                why_not = self.steps.control.can("restart", original.server)
                if why_not is not None:
                    text = f"{original.server} runs in {slot} and has to come back: {why_not}"
                    return self._told(Exit.GUARD, text)
            found.append(original)
            results = {"server": original.server, "recipe": original.recipe}
            ran = original.server or "nothing"
            self.steps.record(key, "adopt", "", self._told(Exit.OK, f"{slot}: {ran} ran", results))
        return found

    def _slots(self) -> dict[str, str]:
        """The slot of every server, by name."""
        servers = self.steps.control.timeline.state.servers.items()
        return {name: str(cell.listed.slot) for name, cell in servers if cell.listed is not None}

    async def _adopt(self, slot: str, names: list[str]) -> Original | Outcome:
        """Adopt whichever of the slot's servers runs; nothing runs when each says so."""
        wanted = [name for step in self._changing() for name in step.servers if name in names]
        outcome = self._told(Exit.OK, "")
        for name in dict.fromkeys([*wanted, *names]):
            outcome = await self.steps.control.do("adopt", name, {}, ACT_S)
            if outcome.ok:
                return Original(slot, name, str(outcome.results.get("recipe", "")))
            if outcome.exit is Exit.STEP and "nothing to adopt: nothing listens" in outcome.text:
                return Original(slot)
        text = f"what runs in {slot} cannot be kept: {plain(outcome.text)}"
        return self._told(outcome.exit, text)

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
        """Keep the best rate."""
        try:
            rate = float(outcome.results.get(_RATE, 0.0))
        except ValueError:
            return
        if outcome.ok:
            self.best = max(self.best, (rate, name), key=lambda one: one[0])

    def _line(self, number: int, one: Round, code: Exit, said: str) -> None:
        word = "" if code is Exit.OK else f"failed ({code.value}): "
        self.lines.append(clean(f"{number}. {one.name}: {word}{said}", self.steps.masks))

    def _left(self, number: int) -> str:
        left = len(self.step.rounds) - number
        mean_s = sum(self._took_us) / len(self._took_us) / US_PER_S
        return f"{minutes(left * mean_s)} left" if left else "the last"

    async def _back(self, original: Original) -> None:
        """Run again what ran before; a failure of that is the failure of the whole."""
        do, seconds = self.steps.control.do, ACT_S
        if original.server:
            given = {"recipe": original.recipe}
            outcome = await do("restart", original.server, given, seconds)
            if outcome.exit is Exit.GUARD:
                outcome = await do("swap", original.server, given, seconds)
            said = f"{original.server} again as before: {plain(outcome.text)}"
        else:
            server = next(
                server
                for step in self._changing()
                for server in step.servers
                if self._slots()[server] == original.slot
            )
            outcome = await do("stop", server, {}, seconds)
            said = f"{original.slot} is empty as before: {plain(outcome.text)}"
        self._say(said)
        self.lines.append(clean(said, self.steps.masks))
        self.exit = self.exit if self.exit is not Exit.OK else outcome.exit

    def _ended(self) -> Outcome:
        rate, name = self.best
        results: dict[str, str | int | float] = {
            "rounds": len(self.step.rounds), "passed": self.passed, "failed": self.failed,
        }  # fmt: skip
        if name:
            results |= {"best": name, "best_tok_s": rate}
        text = f"{self.passed} of {len(self.step.rounds)} rounds passed"
        text += f"; the best is {name} with {rate:.1f} tok/s" if name else ""
        if self.exit is Exit.INTERRUPTED:
            text += "; what ran before is not running again yet: --resume goes on"
        return Outcome(self.exit, clean(text, self.steps.masks), results, tuple(self.lines))

    def _told(
        self,
        code: Exit,
        text: str,
        results: dict[str, str | int | float] | dict[str, str] | None = None,
    ) -> Outcome:
        return Outcome(code, clean(text, self.steps.masks), dict(results or {}))

    def _say(self, text: str) -> None:
        self.steps.report.progress(self.step, "", text)
