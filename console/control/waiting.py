"""One wait of a script: until health, a standing or a line, or until it can no longer come.

A deadline only warns while a load visibly moves. What ends a wait early is a reason: a load that
failed, or one that stands still.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from console.control.arguments import Step, until_log
from console.control.port import Argument, Outcome
from console.model.clock import US_PER_S
from console.model.exits import Exit
from console.model.fleet import LogId
from console.model.text import Clean, clean, plain
from console.stream.fact import Standing
from console.stream.logs import lines
from console.stream.server_events import LoadAdvanced
from console.stream.standing import UP
from console.stream.state import Server

if TYPE_CHECKING:
    from console.control.steps import Steps
    from console.control.watchdog import Watchdog

_OK = 200
_ANSWERS_S = 60.0
"""A server whose log says that it is ready has so long to answer."""
_MEETS = {
    Standing.REACHABLE: (Standing.REACHABLE, *UP),
    Standing.ALIVE: (Standing.ALIVE, Standing.GENERATING, Standing.IDLE),
}
"""Standings that are levels: what stands higher has reached them too."""

Results = dict[str, str | int | float]


class Wait:
    """One wait: look at once, then at every interval, until it holds or its time is over."""

    def __init__(
        self,
        steps: Steps,
        step: Step,
        server: str,
        arguments: Mapping[str, Argument],
        watchdog: Watchdog,
    ) -> None:
        self.steps = steps
        self.step = step
        self.server = server
        self.watchdog = watchdog
        self.until = str(arguments["until"])
        expected = arguments.get("expect", _OK)
        self.expect = expected if isinstance(expected, int) else _OK
        every = arguments.get("every", steps.script.every_s)
        self.every_s = float(every) if isinstance(every, int | float) else steps.script.every_s
        self.pattern = until_log(self.until)
        self.log = LogId(server)
        self.from_line = 0
        self.last = "nothing seen yet"
        self.since = steps.control.timeline.seq
        self.warned = False

    async def go(self) -> Outcome:
        """How it ended: OK with `waited_us` in its results, or why not."""
        control, steps = self.steps.control, self.steps
        begun_us = told_us = control.timeline.now_us
        while True:
            results = await self._look()
            waited_us = control.timeline.now_us - begun_us
            if results is not None:
                results["waited_us"] = waited_us
                text = f"{self.until}: {self.last} after {waited_us / US_PER_S:.1f} s"
                return Outcome(Exit.OK, clean(text, steps.masks), results)
            if (over := self.watchdog.over() or self._ended(waited_us)) is not None:
                return over
            if steps.stopped():
                return Outcome(Exit.INTERRUPTED, Clean("interrupted"))
            if waited_us - (told_us - begun_us) >= self.step.progress_s * US_PER_S:
                told_us = control.timeline.now_us
                said = f"{waited_us / US_PER_S:.0f} s, {self.last}"
                steps.report.progress(self.step, self.server, said)
            if not await control.pass_time(self.every_s):
                waited_us = control.timeline.now_us - begun_us
                return self._over(Exit.DEADLINE, "the recording ends before it holds", waited_us)

    def _ended(self, waited_us: int) -> Outcome | None:
        """Why it makes no sense to go on: failed, stalled, or late without any progress."""
        cell = self._cell()
        end, load = cell.load_end, cell.load
        failed = end is not None and not end.ready and (load is None or load.seq < end.seq)
        if failed and end is not None and waited_us >= self.every_s * US_PER_S:
            # A launch of just now may not have written yet: its log still ends as it did before.
            return self._over(Exit.ASSERTION, f"the load failed: {plain(end.why)}", waited_us)
        standing = cell.standing
        stalled = standing is not None and standing.standing is Standing.STALLED
        if stalled and standing is not None and self.until != Standing.STALLED:
            return self._over(Exit.DEADLINE, f"stalled: {plain(standing.why)}", waited_us)
        if waited_us < self.step.timeout_s * US_PER_S:
            return None
        late = f"not within {self.step.timeout_s:g} s"
        if not self._moves(cell):
            return self._over(Exit.DEADLINE, late, waited_us)
        if not self.warned:
            self.warned = True
            self.steps.report.progress(self.step, self.server, f"{late}, but it moves: {self.last}")
        return None

    def _moves(self, cell: Server) -> bool:
        """Whether a load seen by this wait goes on, or has ended so lately that its health may
        follow; what is waited for in the log does not come of itself."""
        load, end, standing = cell.load, cell.load_end, cell.standing
        starting = standing is not None and standing.standing is Standing.STARTING
        if load is None or load.seq <= self.since or not starting:
            return False
        if end is None or end.seq < load.seq:
            return True
        since_us = self.steps.control.timeline.now_us - end.t_us
        return self.pattern is None and since_us < _ANSWERS_S * US_PER_S

    def _over(self, code: Exit, why: str, waited_us: int) -> Outcome:
        text = clean(f"{self.until}: {why}; {self.last}", self.steps.masks)
        return Outcome(code, text, {"waited_us": waited_us})

    def _cell(self) -> Server:
        return self.steps.control.timeline.state.servers.get(self.server, Server())

    async def _look(self) -> Results | None:
        control = self.steps.control
        if self.pattern is not None:
            return await self._look_at_log()
        outcome = await control.do(
            "health", self.server, {"expect": self.expect, "follow": 1}, self.step.timeout_s
        )
        self.last = plain(outcome.text)
        cell = self._cell()
        if self.until == "health":
            met = outcome.ok
        else:
            wanted = Standing(self.until)
            standing = control.timeline.state.standing(self.server)
            met = standing in _MEETS.get(wanted, (wanted,))
            if met and cell.standing is not None:
                self.last = f"{standing.value}, {plain(cell.standing.why)}"
        if met:
            return {**outcome.results}
        if cell.load is not None and (cell.load_end is None or cell.load_end.seq < cell.load.seq):
            self.last = _progress(cell.load)
        return None

    async def _look_at_log(self) -> Results | None:
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


def _progress(load: LoadAdvanced) -> str:
    """How far a load is, in words."""
    parts = [f"loading: {plain(load.phase)}"]
    if load.done is not None and load.total:
        parts.append(f"{load.done}/{load.total}")
    if load.eta_us is not None:
        parts.append(f"~{load.eta_us / US_PER_S:.0f} s left")
    if load.slowest:
        parts.append(plain(load.slowest))
    return ", ".join(parts)
