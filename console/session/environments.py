"""What a live session keeps of its servers' environments, and what earlier ones kept.

Emits the history that the drift rule judges by, and replaces it as the rule's own room decides.
Reads no process and never says a drift itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from console.model.fleet import Fleet
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.store.environments import keep_environment, read_environments
from console.store.profiles import load_profiles, profiles_path
from console.store.toml import BadFile
from console.stream.drifting import Kept, history_of, recorded_now, successor
from console.stream.environment import WANTED
from console.stream.events import Event
from console.stream.fact import Completeness
from console.stream.run_events import BenchFinished
from console.stream.server_events import EnvRead, ProcessSeen
from console.stream.session_events import HistoryKnown, Noticed
from console.stream.state import Item, State

_RATE = Clean("decode_tok_s")


def wanted(fleet: Fleet, masks: Masks) -> Iterator[EnvRead | Noticed]:
    """The profile each server of the fleet is wanted to run with; nothing where it has none."""
    if not fleet.path:
        return
    try:
        profiles = load_profiles(profiles_path(fleet.path))
    except BadFile as error:
        text = str(error.problems[0]) if error.problems else str(error)
        yield Noticed(Clean("profiles"), Clean("error"), clean(text, masks))
        return
    for server in fleet.servers:
        profile = profiles.of(server.name)
        if profile is None:
            continue
        values = tuple((clean(n, masks), clean(v, masks)) for n, v in profile.values.items())
        why = profile.name + (f" from {profile.origin}" if profile.origin else "")
        name = clean(server.name, masks)
        yield EnvRead(name, WANTED, Completeness.WHOLE, values, None, clean(why, masks))


class EnvironmentKeeper:
    """A subscriber that keeps the environment of each server's last good run.

    Attributes:
        unkept: why the last one could not be kept; empty where it was.
    """

    def __init__(
        self, path: Path, fleet: Fleet, emit: Callable[[Event], object], masks: Masks
    ) -> None:
        self._path = path
        self._hosts = {server.name: fleet.host_of(server).name for server in fleet.servers}
        self._emit = emit
        self._masks = masks
        self._kept: dict[str, Kept] = {}
        self.unkept = ""

    def known(self) -> Iterator[HistoryKnown | Noticed]:
        """What earlier sessions kept of the fleet's servers."""
        try:
            past = read_environments(self._path)
        except OSError as error:
            yield self._trouble(f"earlier environments cannot be read: {error.strerror or error}")
            return
        if past.lost:
            yield self._trouble(f"{past.lost} entries of {self._path.name} cannot be read")
        for server, host in self._hosts.items():
            kept = past.by_server.get((host, server))
            if kept is not None:
                self._kept[server] = kept
                yield self._history(server, kept)

    def take(self, item: Item, state: State) -> None:
        """Follow readings and runs; returns at once, writing comes after."""
        match item:
            case ProcessSeen():
                self._judge(item.server, state, None)
            case BenchFinished() if item.valid:
                bench = state.benches.get(item.bench)
                rate = dict(item.figures).get(_RATE)
                if bench is not None and bench.started is not None and rate is not None:
                    self._judge(bench.started.server, state, rate)
            case _:
                pass

    def accept(self, server: str, state: State) -> bool:
        """Keep the environment of now, whatever was kept; False while none is known."""
        now = recorded_now(state.servers[server], state) if server in state.servers else None
        if now is None:
            return False
        self._keep(server, now)
        return True

    def _judge(self, server: str, state: State, run_tok_s: float | None) -> None:
        cell = state.servers.get(server)
        now = recorded_now(cell, state) if cell is not None and server in self._hosts else None
        if now is None:
            return
        new = successor(self._kept.get(server), now, run_tok_s)
        if new is not None:
            self._kept[server] = new
            asyncio.get_running_loop().call_soon(self._keep, server, new)

    def _keep(self, server: str, kept: Kept) -> None:
        self._kept[server] = kept
        try:
            keep_environment(self._path, (self._hosts[server], server), kept)
        except OSError as error:
            self.unkept = f"environments cannot be kept: {error.strerror or error}"
            self._emit(self._trouble(self.unkept))
            return
        self.unkept = ""
        self._emit(self._history(server, kept))

    def _history(self, server: str, kept: Kept) -> HistoryKnown:
        """As an event; a file is edited by hand too, so its texts are cleaned again."""
        masks = self._masks
        env = {str(clean(n, masks)): str(clean(v, masks)) for n, v in kept.env.items()}
        boot_id, container_id = clean(kept.boot_id, masks), clean(kept.container_id, masks)
        safe = replace(kept, env=env, boot_id=boot_id, container_id=container_id)
        return history_of(clean(server, masks), safe)

    def _trouble(self, text: str) -> Noticed:
        return Noticed(Clean("history"), Clean("warning"), clean(text, self._masks))
