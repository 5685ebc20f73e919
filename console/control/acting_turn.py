"""One act from its look to its end: confirmed, locked on its host, done, written down.

Owns that order and that whatever ends an act is told, in the stream and in the audit. What an act
does to a server is the flow's.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from console.control.acting_audit import audited
from console.control.acting_flow import DONE, FAILED, End, Flow
from console.control.acting_guarded import guarded, with_load
from console.control.acting_look import Look, Looker
from console.control.acting_plan import planned
from console.control.acting_request import Request
from console.control.acting_told import told, undone
from console.control.guard import Refused
from console.control.port import Outcome
from console.control.recorded import words
from console.model.ask import NobodyToAsk, Question
from console.model.clock import US_PER_S, utc_text
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.text import Clean, clean, plain
from console.services.launcher import Held, HostRefused, Launcher
from console.services.process import LOST, UNREACHED, HostCommands
from console.stream.run_events import ActAdvanced, ActFinished, ActRequested

if TYPE_CHECKING:
    from console.control.acting import Acts

INTERRUPTED = "interrupted"
_LETTING_GO_S = 3.0


class LockLost(Exception):
    """Somebody took the host's lock over."""


class Turn:
    """One act of one request."""

    def __init__(self, acts: Acts, act: str, request: Request) -> None:
        self.acts = acts
        self.act = act
        self.request = request
        self.phase = "look"
        self._renewed_us = 0
        wire = acts.watch.wire_of(request.server)
        self.commands = HostCommands(
            wire, acts.clock, acts.pace, acts.masks, lambda text: self._say("link", text), LOST
        )
        self.launcher = Launcher(self.commands)
        self.looker = Looker(
            acts.watch.fleet, acts.clock, acts.pace, acts.masks, self.commands, self.launcher
        )

    async def go(self) -> Outcome:
        acts, request = self.acts, self.request
        look = await with_load(acts, request, self.look)
        lines = tuple(acts.clean(line) for line in told(look, request))
        if acts.guard.dry:
            why = guarded(acts, request.guard, look)
            lines += (acts.clean(f"refused as things are now: {why}"),) if why else ()
            lines += self._plan(look)
            return Outcome(Exit.OK, Clean("not done: dry run"), {"act": self.act}, lines)
        if why := guarded(acts, request.guard, look):
            raise Refused(why)
        _possible(look, self.request)
        await self._by_hand(look)
        detail = [plain(line) for line in lines]
        confirmed = "--apply"
        if request.verb != "adopt":
            confirmed = await acts.guard.confirm(
                acts.ask, request.verb, request.server, detail, look.reasons(request)
            )
        # From here on whatever cuts the link may leave something behind, so it is waited for.
        self.commands.awaited = UNREACHED
        try:
            await self._lock()
        except HostRefused as error:
            raise Refused(f"the host cannot be locked: {error}") from error
        try:
            # A person may have taken long to answer: what was confirmed must still be there.
            now = await self.look()
            if _same(look) != _same(now):
                raise Refused("what runs in the slot changed while it was confirmed; look again")
            if not self._audit("requested", now, confirmed):
                raise Refused("the audit cannot be written")
            self._emit_requested(now, confirmed)
            end = await self._run(now)
        finally:
            await self._let_go()
        return self._ended(now, end)

    async def look(self) -> Look:
        """What is there now."""
        return await self.looker.look(
            self.request, self.acts.timeline.state, self.acts.timeline.now_us
        )

    async def _by_hand(self, look: Look) -> None:
        """Where something else keeps it running, show the commands and do nothing."""
        lines = self._plan(look)
        if not lines:
            return
        name = look.runs or self.request.server
        what = f"unit {look.kept.unit}" if look.kept.unit else "a container"
        text = f"{what} keeps {name} running; to be done by hand"
        with suppress(NobodyToAsk):
            shown = Question(
                name, text, tuple(map(plain, lines)), choices=("Close",), deliberate=True
            )
            await self.acts.ask.ask(shown)
        raise Refused(text, lines)

    def _plan(self, look: Look) -> tuple[Clean, ...]:
        """The commands for a person; none where this console may act."""
        if not (self.request.stops and look.kept.by_hand):
            return ()
        name = look.runs or self.request.server
        lines = planned(look.kept, self.request, name, self.act.partition("-")[0].lower())
        return tuple(map(self.acts.clean, lines))

    async def _lock(self) -> None:
        """Take the host's lock; a stale one only when a person says so."""
        acts = self.acts
        since = utc_text(acts.clock.utc())[:19] + "Z"
        owner = f"{self.acts.who} since {since}: {self.request.verb} {self.request.server}"
        held = await self.launcher.lock(self.act, owner)
        if held is not None and held.stale:
            text = f"{held_by(held)}. Take it over?"
            if await self._may(text, (), "Take over", False):
                held = await self.launcher.lock(self.act, owner, held.act)
        if held is not None:
            raise Refused(held_by(held))
        self._renewed_us = acts.clock.now_us()

    async def _tick(self) -> None:
        """Renew the lock before it looks stale."""
        acts = self.acts
        now_us = acts.clock.now_us()
        if now_us - self._renewed_us < acts.pace.lock_stale_s / 4 * US_PER_S:
            return
        self._renewed_us = now_us
        held = await self.launcher.lock(self.act, self.acts.who)
        if held is not None:
            raise LockLost(held_by(held))

    async def _let_go(self) -> None:
        """Give the lock back; where that cannot be, it becomes stale by itself."""
        with suppress(WireError, TimeoutError):
            async with asyncio.timeout(_LETTING_GO_S):
                await asyncio.shield(asyncio.ensure_future(self.launcher.unlock(self.act)))

    async def _run(self, look: Look) -> End:
        acts = self.acts
        flow = Flow(
            self.act, self.request, look, acts.watch, acts.timeline, acts.clock, acts.pace,
            acts.masks, self.commands, self.launcher, self._say, self._may, self._tick,
        )  # fmt: skip
        try:
            return await flow.run()
        except HostRefused as error:
            return End(Exit.STEP, FAILED, str(error))
        except WireError as error:
            return End(error.kind.exit, FAILED, f"{_left(self.phase, flow)}: {error}")
        except LockLost as error:
            return End(Exit.GUARD, FAILED, f"{_left(self.phase, flow)}: {error}")
        except asyncio.CancelledError:
            self._finish(look, End(Exit.INTERRUPTED, INTERRUPTED, _left(self.phase, flow)))
            raise

    async def _may(self, text: str, detail: tuple[str, ...], yes: str, typed: bool) -> bool:
        acts, lines = self.acts, [plain(Clean(line)) for line in detail]
        return await acts.guard.may(acts.ask, self.request.server, text, lines, yes, typed=typed)

    def _ended(self, look: Look, end: End) -> Outcome:
        self._finish(look, end)
        acts = self.acts
        results: dict[str, str | int | float] = {
            "act": self.act, "outcome": end.outcome, **end.results,
        }  # fmt: skip
        lines = tuple(acts.clean(line) for line in end.lines)
        return Outcome(end.exit, acts.clean(end.text), results, lines)

    def _finish(self, look: Look, end: End) -> None:
        text = clean(end.text, self.acts.masks)
        self.acts.timeline.emit(ActFinished(Clean(self.act), Clean(end.outcome), text))
        self._audit(f"{end.outcome}: {text}", look, "")
        if end.outcome == DONE and self.request.verb != "adopt":
            self.acts.watch.environs.again(self.request.server)

    def _emit_requested(self, look: Look, confirmed: str) -> None:
        safe, request = self.acts.clean, self.request
        given = words(request.verb, request.given)
        expected_us = round(look.load_s * US_PER_S) if look.load_s and request.starts else None
        event = ActRequested(
            Clean(self.act), safe(request.verb), safe(request.server), safe(self.acts.who),
            safe(confirmed), tuple((safe(name), safe(value)) for name, value in given),
            safe(look.host), safe(look.slot), expected_us, safe(undone(look, request)),
        )  # fmt: skip
        self.acts.timeline.emit(event)

    def _say(self, phase: str, text: str) -> None:
        masks = self.acts.masks
        if phase != "link":
            self.phase = phase
        event = ActAdvanced(Clean(self.act), clean(phase, masks), clean(text, masks))
        self.acts.timeline.emit(event)

    def _audit(self, result: str, look: Look, confirmed: str) -> bool:
        """Write it down; False where it cannot be."""
        fields = audited(self.request, look, self.acts.masks)
        return self.acts.write_down(self.act, fields, result, confirmed)


def _possible(look: Look, request: Request) -> None:
    """Refuse what cannot be meant."""
    server = request.server
    if request.starts and look.no_start:
        raise Refused(look.no_start)
    if request.verb == "launch" and (look.tree.listening or look.tree.launcher is not None):
        runs = look.runs or "a server that is not known"
        how = "is up" if look.tree.listening else "still loads"
        raise Refused(f"{runs} {how} in this slot; swap or restart")
    if request.verb in ("adopt", "stop", "restart") and look.runs not in ("", server):
        raise Refused(f"{look.runs} runs in this slot, not {server}; swap changes arms")
    if request.verb == "swap" and look.runs == server:
        raise Refused(f"{server} runs already; restart begins it anew")
    if request.stops and look.tree.launcher is None and look.tree.listening:
        raise Refused(look.tree.why)


def _left(phase: str, flow: Flow) -> str:
    """What is left as it is, in words: never that nothing runs, without saying so."""
    text = f"left in phase {phase}"
    if flow.started is not None:
        return f"{text}: process {flow.started.pid} was started and goes on"
    return f"{text}: {flow.standing}" if flow.standing else text


def _same(look: Look) -> tuple[object, ...]:
    """What a person confirmed, so that another process is never taken for it."""
    launcher = look.tree.launcher
    if launcher is None:
        return (None, look.tree.listening)
    one = launcher.identity
    return (one.boot_id, one.pid, one.start_ticks, one.cmdline_sum)


def held_by(held: Held) -> str:
    """Who has the host's lock, in words."""
    who = held.owner or "somebody"
    if not held.stale:
        return f"another act has this host: {who}"
    return (
        f"a stale lock: {who}; not renewed for {held.age_s} s, so its console is gone or cut off; "
        f"its lock is {held.place} on the host"
    )
