"""Control of a live session: verbs become requests to services, results enter the stream.

Changes nothing on a host unless unlocked; what a verb cannot do is in its outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from console.control.answers import (
    expected_code,
    health_outcome,
    line_count,
    tail_outcome,
)
from console.control.benching import Benches
from console.control.commands import run_outcome
from console.control.environments import (
    fabric_outcome,
    profile_outcome,
    profiles_outcome,
    read_now,
)
from console.control.guard import READ_ONLY
from console.control.link_back import cut_for_now
from console.control.on_demand import token_now, topology_now
from console.control.plans import plan_read
from console.control.port import Argument, Outcome
from console.control.probing import probe
from console.model.clock import Clock
from console.model.exits import Exit
from console.model.fleet import Fleet, LogId
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.verb import Need
from console.model.verbs import VERBS
from console.session.recorder import Recorder
from console.session.segments import copy_session
from console.stream.session_events import MarkerPut, NoteWritten
from console.stream.state import Item, State
from console.stream.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.control.acting import Acts
    from console.services.live import Watch

_SETTLE_S = 0.3


class Live:
    """A control over the services of a fleet."""

    def __init__(
        self,
        watch: Watch,
        timeline: Timeline,
        clock: Clock,
        masks: Masks,
        recorder: Recorder | None,
        acts: Acts | None = None,
    ) -> None:
        self.timeline = timeline
        self._watch = watch
        self._clock = clock
        self._masks = masks
        self._recorder = recorder
        self.benches = Benches(watch, timeline, clock, masks, acts)
        self._acts = acts
        self.tell: Callable[[str], object] = lambda _line: None

    @property
    def playback(self) -> None:
        """There is no player."""
        return

    @property
    def fleet(self) -> Fleet:
        """What is watched."""
        return self._watch.fleet

    @property
    def session_path(self) -> str:
        """Where this session is recorded; empty when it is not."""
        return str(self._recorder.path) if self._recorder is not None else ""

    def can(self, verb: str, server: str = "") -> str | None:
        """None when the verb is allowed now, on this server where one is named."""
        if verb not in VERBS:
            return f"no verb {verb}"
        match VERBS[verb].need:
            case Need.NOTHING | Need.LIVE:
                return None
            case Need.REPLAY:
                return "only in a replay"
            case Need.UNLOCK:
                if self._acts is None:
                    return READ_ONLY
                guard = self._acts.guard
                return guard.refusal() or (guard.unconfirmed(server) if server else None)

    async def pass_time(self, seconds: float) -> bool:
        """Wait; there is always more time."""
        await self._clock.sleep(seconds)
        return True

    async def do(
        self,
        verb: str,
        server: str = "",
        arguments: Mapping[str, Argument] | None = None,
        timeout_s: float = 30.0,
    ) -> Outcome:
        """Do it."""
        given = arguments or {}
        why_not = self.can(verb)
        if self._acts is not None and verb in VERBS and VERBS[verb].need is Need.UNLOCK:
            # No deadline around it: an act has its own, and says what it leaves behind.
            return await self._acts.do(verb, server, given)
        if why_not is not None:
            return Outcome(Exit.GUARD, Clean(why_not))
        try:
            # A probe ends itself, profile by profile, and says which did not come to its end.
            async with asyncio.timeout(None if verb == "probe" else timeout_s):
                return await self._do(verb, server, given, timeout_s)
        except TimeoutError:
            return Outcome(Exit.DEADLINE, clean(f"{verb}: not within {timeout_s:g} s", self._masks))

    async def _do(
        self, verb: str, server: str, given: Mapping[str, Argument], timeout_s: float
    ) -> Outcome:
        match verb:
            case "health":
                path = str(given.get("path", "/health"))
                if given.get("follow"):
                    self._attend(server)
                seen = await self._watch.ask_health(server, path)
                return health_outcome(self.timeline.state, seen, expected_code(given))
            case "generate":
                return await token_now(self._watch, server, self.timeline, self._masks)
            case "topology":
                return await topology_now(self._watch, server, self._masks)
            case "tail":
                return await self._tail(server, line_count(given))
            case "marker":
                self.timeline.emit(MarkerPut(clean(str(given["name"]), self._masks)))
                return Outcome(Exit.OK, clean(f"marked: {given['name']}", self._masks))
            case "note":
                self.timeline.emit(NoteWritten(clean(str(given["text"]), self._masks)))
                return Outcome(Exit.OK, Clean("noted"))
            case "save":
                return self._save(Path(str(given["file"])))
            case "bench":
                return await self.benches.bench(server, given)
            case "bench.stop":
                return self.benches.stop()
            case "compare":
                return self.benches.compare(given)
            case "assume":
                return self.benches.assume(given)
            case "unlock" | "lock" if self._acts is not None:
                return self._acts.unlock() if verb == "unlock" else self._acts.lock()
            case "probe":
                return await self._probe(server, given)
            case "run" if self._acts is not None:
                acts = self._acts
                return await run_outcome(
                    self._watch, given, acts.guard, acts.ask, self._clock, self._masks, timeout_s
                )
            case "env" | "plan" | "profile" | "environment.profiles" | "environment.fabric":
                return await self._environment(verb, server, given)
            case _:
                return Outcome(Exit.STEP, clean(f"{verb} does nothing here", self._masks))

    async def _environment(self, verb: str, server: str, given: Mapping[str, Argument]) -> Outcome:
        """What has to do with a server's variables."""
        match verb:
            case "env":
                return await read_now(self._watch, server, given, self.timeline, self._masks)
            case "plan":
                return await plan_read(self._watch, given, self._masks)
            case "profile":
                emit, clock = self.timeline.emit, self._clock
                return profile_outcome(self.fleet, server, given, emit, clock, self._masks)
            case "environment.profiles":
                return profiles_outcome(self.fleet, self._masks)
            case _:
                return await fabric_outcome(self._watch, server, self._clock, self._masks)

    async def _probe(self, server: str, given: Mapping[str, Argument]) -> Outcome:
        """Time all-reduces; what came of it stays in the session."""
        outcome = await probe(self._watch, server, given, self._masks, self.tell)
        for line in (outcome.text, *outcome.lines) if outcome.lines else ():
            self.timeline.emit(NoteWritten(clean(f"probe {server}: {line}", self._masks)))
        return outcome

    def _attend(self, server: str) -> None:
        """Follow all that tells how far a server is; what is followed already goes on."""
        self._watch.follow_log(server)
        self._watch.follow_health(server)
        self._watch.follow_status(server)

    async def _tail(self, server: str, count: int) -> Outcome:
        """The log's last lines once its feed has said what it finds."""
        log = self._watch.follow_log(server, max(count, 200))
        if log is None:
            why = f"{server} has no log in the fleet file"
            return Outcome(Exit.STEP, clean(why, self._masks))

        def known(state: State) -> Outcome | None:
            if cut_for_now(state, LogId(log), server):
                return None
            return tail_outcome(state, self.timeline.logs, LogId(log), count)

        await self._until(lambda state: known(state) is not None)
        # Lines already written reach us a moment after the feed says that it follows.
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_S):
                await self._until(lambda state: state.logs[log].mark.end >= count)
        outcome = known(self.timeline.state)
        assert outcome is not None
        return outcome

    async def _until(self, holds: Callable[[State], bool]) -> None:
        """Return once State is so."""
        changed = asyncio.Event()
        with self._listening(lambda _item, _state: changed.set()):
            while not holds(self.timeline.state):
                changed.clear()
                await changed.wait()

    @contextmanager
    def _listening(self, take: Callable[[Item, State], None]) -> Iterator[None]:
        self.timeline.subscribe(take)
        try:
            yield
        finally:
            self.timeline.unsubscribe(take)

    def _save(self, target: Path) -> Outcome:
        recorder = self._recorder
        if recorder is None or recorder.stopped:
            return Outcome(Exit.STEP, Clean("nothing is recorded, so nothing can be saved"))
        recorder.flush()
        try:
            copy_session(recorder.path, target)
        except OSError as error:
            why = f"{target}: {(error.strerror or str(error)).lower()}"
            return Outcome(Exit.STEP, clean(why, self._masks))
        size = target.stat().st_size
        results: dict[str, str | int | float] = {"file": str(target), "bytes": size}
        return Outcome(Exit.OK, clean(f"{target}, {size:,} bytes", self._masks), results)
