"""Control of a replay: the player, and the verbs that look. Acts are dead here.

Never connects to anything: the session file is all there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from console.control.answers import (
    expected_code,
    health_outcome,
    line_count,
    tail_outcome,
    topology_outcome,
)
from console.control.comparing import compare_recorded
from console.control.environments import env_recorded
from console.control.plans import plan_outcome
from console.control.port import Argument, Outcome
from console.model.clock import US_PER_S, Clock
from console.model.exits import Exit
from console.model.fleet import Fleet, LogId, Server
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.verb import Need
from console.model.verbs import VERBS
from console.session.journal import Journal
from console.session.journal_logs import JournalLogs
from console.session.journal_series import look_back
from console.session.landmarks import find, near, poll, time_of
from console.session.player import Player
from console.session.segments import copy_session
from console.stream.fold import fold_all
from console.stream.server_events import HealthSeen, ServerListed
from console.stream.session_events import Noticed
from console.stream.state import Item, Jump
from console.stream.timeline import Timeline

_JUMP_US = 10 * US_PER_S


class Replay:
    """A control over a journal."""

    def __init__(self, journal: Journal, clock: Clock, masks: Masks) -> None:
        self.timeline = Timeline(clock, logs=JournalLogs(journal))
        self._losses = tuple(
            Noticed(Clean("session file"), Clean("warning"), clean(loss, masks))
            for loss in journal.losses()
        )
        self.player = Player(journal, self._given, self.timeline.played_to)
        self.player.seek(0)
        self._masks = masks
        self._clock = clock

    def fleet(self) -> Fleet:
        """The servers this recording names, in its order."""
        index = self.player.journal.index
        servers: dict[str, Server] = {}
        for number in index.of_kind("server"):
            event = self.player.journal.event(number)
            if isinstance(event, ServerListed):
                servers[event.server] = Server(
                    event.server, event.slot, event.arm, event.url, event.engine
                )
        opened = self.timeline.state.session.opened
        return Fleet(opened.fleet if opened else "recording", servers=tuple(servers.values()))

    @property
    def playback(self) -> Player:
        """The player."""
        return self.player

    def can(self, verb: str, server: str = "") -> str | None:
        """None when the verb is allowed in a replay."""
        del server
        if verb not in VERBS:
            return f"no verb {verb}"
        match VERBS[verb].need:
            case Need.NOTHING | Need.REPLAY:
                return None
            case Need.LIVE:
                return "this is a replay: nothing new can be recorded"
            case Need.UNLOCK:
                return "this is a replay: nothing can be changed"

    def _given(self, item: Item) -> None:
        """What the player gives; what the file has lost is known at any time of it."""
        if isinstance(item, Jump):
            self.timeline.take(Jump(fold_all(item.state, self._losses), item.at_us))
            player = self.player
            look_back(self.timeline.samples, player.journal, player.next_block, item.at_us)
        else:
            self.timeline.take(item)

    async def pass_time(self, seconds: float) -> bool:
        """Play on by that much at once; a wait that looks between must not miss an answer."""
        player = self.player
        if player.at_end:
            return False
        target_us = player.position_us + round(seconds * US_PER_S)
        for number in player.next_of("health", "standing"):
            at_us = player.journal.index.t_us[number]
            stop_us = at_us - 1 if player.journal.index.kind_of(number) == "health" else at_us
            if stop_us > player.position_us:
                target_us = min(target_us, stop_us)
                break
        player.advance(target_us)
        return True

    async def do(
        self,
        verb: str,
        server: str = "",
        arguments: Mapping[str, Argument] | None = None,
        timeout_s: float = 30.0,
    ) -> Outcome:
        """Do it, from the recording."""
        del timeout_s
        given = arguments or {}
        why_not = self.can(verb)
        if why_not is not None:
            return Outcome(Exit.GUARD, Clean(why_not))
        match verb:
            case "health":
                return self._health(server, given)
            case "topology":
                listed = self.timeline.state.servers[server].listed
                host = self.timeline.state.hosts.get(listed.host) if listed else None
                joined = host.joined if host else None
                return topology_outcome(joined, Clean("how its GPUs are joined is not recorded"))
            case "tail":
                return self._tail(server, line_count(given))
            case "save":
                return self._save(Path(str(given.get("file", ""))))
            case "compare":
                return compare_recorded(self.player.journal, given, self._masks)
            case "env":
                return env_recorded(
                    self.player, self.timeline, self.fleet(), server, given, self._masks
                )
            case "plan":
                return plan_outcome(given, self._masks)
            case _ if verb.startswith("replay."):
                return self._play(verb.removeprefix("replay."), given)
            case _:
                return Outcome(Exit.STEP, clean(f"{verb} does nothing in a replay", self._masks))

    async def run(self) -> None:
        """Let time pass while playing, for a screen."""
        await self.player.run(self._clock)

    def _health(self, server: str, given: Mapping[str, Argument]) -> Outcome:
        """The next recorded answer, as a live request would bring a new one; else the latest."""
        path = str(given.get("path", "/health"))
        found: HealthSeen | None = None
        for number in self.player.next_of("health"):
            event = self.player.journal.event(number)
            if isinstance(event, HealthSeen) and (event.server, event.path) == (server, path):
                found = event
                self.player.advance(event.t_us)
                break
        else:
            cell = self.timeline.state.servers.get(server)
            latest = cell.health if cell else None
            found = latest if latest is not None and latest.path == path else None
        if found is None:
            return Outcome(
                Exit.STEP, clean(f"{server}: no {path} answer in this recording", self._masks)
            )
        return health_outcome(self.timeline.state, found, expected_code(given))

    def _tail(self, server: str, count: int) -> Outcome:
        log = LogId(server)
        outcome = tail_outcome(self.timeline.state, self.timeline.logs, log, count)
        if outcome is not None:
            return outcome
        for number in self.player.next_of("log", "feed"):
            self.player.advance(self.player.journal.index.t_us[number])
            outcome = tail_outcome(self.timeline.state, self.timeline.logs, log, count)
            if outcome is not None:
                return outcome
        return Outcome(Exit.STEP, clean(f"{server}: no log in this recording", self._masks))

    def _save(self, target: Path) -> Outcome:
        try:
            if target.exists():
                return Outcome(Exit.STEP, clean(f"{target}: exists already", self._masks))
            copy_session(Path(self.player.journal.path), target)
        except OSError as error:
            why = f"{target}: {(error.strerror or str(error)).lower()}"
            return Outcome(Exit.STEP, clean(why, self._masks))
        size = target.stat().st_size
        results: dict[str, str | int | float] = {"file": str(target), "bytes": size}
        return Outcome(Exit.OK, clean(f"{target}, {size:,} bytes", self._masks), results)

    def _play(self, verb: str, given: Mapping[str, Argument]) -> Outcome:
        player = self.player
        match verb:
            case "toggle":
                if player.at_end and not player.playing:
                    player.seek(0)
                player.playing = not player.playing
            case "faster":
                player.faster(1)
            case "slower":
                player.faster(-1)
            case "idle":
                player.idle.on = not player.idle.on
                said = (
                    "idle stretches are skipped" if player.idle.on else "idle stretches are shown"
                )
                return Outcome(Exit.OK, Clean(said))
            case "forward":
                player.seek(player.position_us + _JUMP_US)
            case "back":
                player.seek(player.position_us - _JUMP_US)
            case "next":
                player.step(1)
            case "previous":
                player.step(-1)
            case "start":
                player.seek(0)
            case "end":
                player.seek(player.length_us)
                player.playing = player.playing or not player.journal.closed
            case "goto":
                return self._go_to(given)
            case "find":
                return self._find(given)
            case _:
                way, _, what = verb.partition("_")
                return self._leap(what, 1 if way == "next" else -1)
        return Outcome(Exit.OK, Clean(""))

    def _leap(self, what: str, by: int) -> Outcome:
        """To the poll, marker, act, error or gap before or after."""
        player = self.player
        here_us = player.position_us
        if what == "poll":
            to_us = poll(player.journal, player.next_block, here_us, by)
        else:
            to_us = near(player.notches(), what, here_us, by)
        if to_us is None:
            where = "after" if by > 0 else "before"
            return Outcome(Exit.STEP, clean(f"no {what} {where} this", self._masks))
        player.seek(to_us)
        return Outcome(Exit.OK, Clean(""))

    def _go_to(self, given: Mapping[str, Argument]) -> Outcome:
        """To `at_us`, or to the time typed as `to`."""
        to = given.get("at_us", 0)
        at_us = int(to) if isinstance(to, int | float) else 0
        if "to" in given:
            opened = self.timeline.state.session.opened
            typed = str(given["to"])
            found = time_of(typed, self.player.position_us, self.player.length_us, opened)
            if found is None:
                said = f'"{typed}" is no time such as 12:41, +30, 50% or 16:57:06Z'
                return Outcome(Exit.STEP, clean(said, self._masks))
            at_us = found
        self.player.seek(at_us)
        return Outcome(Exit.OK, Clean(""))

    def _find(self, given: Mapping[str, Argument]) -> Outcome:
        """To the next event whose texts hold `text`; before this place with `by` below 0."""
        player, text = self.player, str(given.get("text", ""))
        by = given.get("by", 1)
        back = isinstance(by, int | float) and by < 0
        start = player.next_block - 2 if back else player.next_block
        number = find(player.journal, text, start, -1 if back else 1)
        if number is None:
            where = "before" if back else "after"
            return Outcome(Exit.STEP, clean(f'no "{text}" {where} this', self._masks))
        player.go_to(number)
        return Outcome(Exit.OK, Clean(""))
