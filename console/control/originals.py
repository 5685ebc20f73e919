"""What ran in the slots that a `repeat` changes: kept on its host before, run again at the end.

Owns that nothing is changed which could not come back: who may not be restarted in the end is not
touched in the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.control.arguments import Step
from console.control.port import Outcome
from console.control.resuming import Resumed
from console.model.exits import Exit
from console.model.text import Clean, clean, plain

if TYPE_CHECKING:
    from console.control.steps import Steps

CHANGES = ("launch", "restart", "stop", "swap")
ACT_S = 30.0
"""Acts have deadlines of their own."""


@dataclass(frozen=True, slots=True)
class Original:
    """What ran in a slot before: a server and its recipe on the host; nothing for an empty one."""

    slot: str
    server: str = ""
    recipe: str = ""


@dataclass(slots=True)
class Originals:
    """What ran before one `repeat`."""

    steps: Steps
    step: Step
    resumed: Resumed

    def changing(self) -> Iterator[Step]:
        for one in self.step.rounds:
            yield from (step for step in one.steps if step.verb in CHANGES)

    def refusal(self) -> str | None:
        """Why nothing is begun: what would change a server may not."""
        for step in self.changing():
            for server in step.servers:
                why_not = self.steps.control.can(step.verb, server)
                if why_not is not None:
                    return f"{step.id}: {step.verb} {server}: {why_not}"
        return None

    def left_changed(self) -> bool:
        """Whether the interrupted night began to change something and did not bring it back."""
        passed = {step for step, _ in self.resumed.steps}
        kept = f"{self.step.id}_original_"
        numbers = [step.removeprefix(kept) for step in passed if step.startswith(kept)]
        return any(f"{self.step.id}_again_{number}" not in passed for number in numbers)

    async def keep(self) -> list[Original] | Outcome:
        """What runs now in every slot that is changed, kept on its host to be run again."""
        found: list[Original] = []
        slots = self._slots()
        for slot in dict.fromkeys(
            slots[server] for step in self.changing() for server in step.servers
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
            results: dict[str, str | int | float] = {
                "server": original.server,
                "recipe": original.recipe,
            }
            ran = original.server or "nothing"
            self.steps.record(
                key, "adopt", "", Outcome(Exit.OK, self._clean(f"{slot}: {ran} ran"), results)
            )
        return found

    def _slots(self) -> dict[str, str]:
        """The slot of every server, by name."""
        servers = self.steps.control.timeline.state.servers.items()
        return {name: str(cell.listed.slot) for name, cell in servers if cell.listed is not None}

    async def _adopt(self, slot: str, names: list[str]) -> Original | Outcome:
        """Adopt whichever of the slot's servers runs; nothing runs when each says so."""
        wanted = [name for step in self.changing() for name in step.servers if name in names]
        outcome = self._told(Exit.OK, "")
        for name in dict.fromkeys([*wanted, *names]):
            outcome = await self.steps.control.do("adopt", name, {}, ACT_S)
            if outcome.ok:
                return Original(slot, name, str(outcome.results.get("recipe", "")))
            if outcome.exit is Exit.STEP and "nothing to adopt: nothing listens" in outcome.text:
                return Original(slot)
        text = f"what runs in {slot} cannot be kept: {plain(outcome.text)}"
        return self._told(outcome.exit, text)

    async def back(self, number: int, original: Original) -> Outcome:
        """Run again what ran before, and keep in the session how that went."""
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
                for step in self.changing()
                for server in step.servers
                if self._slots()[server] == original.slot
            )
            outcome = await do("stop", server, {}, seconds)
            said = f"{original.slot} is empty as before: {plain(outcome.text)}"
        ended = Outcome(outcome.exit, self._clean(said))
        self.steps.record(f"{self.step.id}_again_{number}", "repeat", "", ended)
        return ended

    def _told(self, code: Exit, text: str) -> Outcome:
        return Outcome(code, self._clean(text))

    def _clean(self, text: str) -> Clean:
        return clean(text, self.steps.masks)
