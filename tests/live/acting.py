"""A whole live session that acts, in this process: fleet, console, and what it said and did."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from console.cli import parser
from console.control.live import Live
from console.control.live_session import LiveSession, Stage
from console.control.port import Argument, Outcome
from console.model.ask import Ask, Nobody, Question
from console.model.clock import Pace
from console.model.text import plain
from console.store.fleet import load_fleet
from console.stream.run_events import ActAdvanced, ActFinished, ActRefused, ActRequested
from console.stream.state import Item, State
from tests.live.fleets import ROOT
from tests.rig.sshd import Sshd

FAST = replace(
    Pace(),
    act_look_s=0.05,
    act_settle_s=0.3,
    act_link_s=20.0,
    health_starting_s=0.1,
    reconnect_first_s=0.05,
    reconnect_most_s=0.2,
    tail_look_s=0.1,
    stop_grace_s=4.0,
    kill_grace_s=10.0,
    stall_s=20.0,
)


@dataclass
class Slot:
    """A slot with servers, as a fleet file describes it."""

    folder: Path
    port: int
    sshd: Sshd | None = None
    read_only: str = ""
    servers: list[str] = field(default_factory=list)
    enter: tuple[str, ...] = ()

    def add(
        self, name: str, argv: Sequence[str] | None, arm: str = "baseline", env_file: str = ""
    ) -> Path:
        """A server with its log, and its recipe unless there is none."""
        log = self.folder / f"{name}.log"
        text = (
            f'[[server]]\nname = "{name}"\nslot = "box:1"\narm = "{arm}"\nengine = "llama.cpp"\n'
            f'url = "http://127.0.0.1:{self.port}"\nlog = "{log}"\n{self.read_only}'
        )
        if argv is not None:
            text += f'[server.recipe]\nargv = {json.dumps(list(argv))}\ncwd = "{ROOT}"\n'
            text += f'env_file = "{env_file}"\n' if env_file else ""
        self.servers.append(text)
        return log

    def file(self, *, read_only: bool = False) -> Path:
        """The fleet file."""
        way = "local = true"
        if self.sshd is not None:
            way = f'ssh = "{self.sshd.alias}"\nssh_config = "{self.sshd.ssh_config}"'
        way += "\nread_only = true" if read_only else ""
        way += f"\nenter = {json.dumps(self.enter)}" if self.enter else ""
        path = self.folder / "fleet.toml"
        path.write_text(
            f'schema = "fleet/1"\n[[host]]\nname = "box"\n{way}\n'
            f'[[slot]]\nname = "box:1"\nhost = "box"\nport = {self.port}\n' + "".join(self.servers)
        )
        return path


class Person:
    """An Ask that answers as told and remembers what it was asked."""

    def __init__(self, answer: Callable[[Question], str | None]) -> None:
        self.asked: list[Question] = []
        self._answer = answer

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return self._answer(question)


@dataclass
class Console:
    """A console at work, with every item its stream gave."""

    live: Live
    items: list[Item]

    async def do(self, verb: str, server: str, **given: Argument) -> Outcome:
        """One verb, as a script or a key would have it done."""
        return await self.live.do(verb, server, given)

    @property
    def phases(self) -> list[str]:
        """Phases of acts, each once where it is said again and again."""
        told = [str(item.phase) for item in self.items if isinstance(item, ActAdvanced)]
        return [one for at, one in enumerate(told) if not at or told[at - 1] != one]

    def ends(self) -> list[tuple[str, str]]:
        """How acts went, as the stream has it."""
        found = []
        for item in self.items:
            match item:
                case ActRequested():
                    found.append((str(item.verb), "requested"))
                case ActRefused():
                    found.append((str(item.verb), f"refused: {item.why}"))
                case ActFinished():
                    found.append((str(item.outcome), plain(item.text)))
        return found


@asynccontextmanager
async def acting(
    fleet: Path, *arguments: str, ask: Ask | None = None, pace: Pace = FAST
) -> AsyncIterator[Console]:
    """A console with these options; a person is there when `ask` is given."""
    options = parser().parse_args(["--no-record", *arguments])
    session = LiveSession(options, pace)
    async with session.live(
        Stage(load_fleet(fleet)), ask or Nobody(), on_demand=ask is None
    ) as live:
        items: list[Item] = []

        def take(item: Item, _state: State) -> None:
            items.append(item)

        live.timeline.subscribe(take)
        yield Console(live, items)


def serve(models: Path, port: int, *more: str) -> list[str]:
    """The command line of a real llama.cpp server."""
    return [sys.executable, "-m", "tests.rig.llama", "serve", str(models), str(port), *more]


def by_hand(argv: Sequence[str], env: Mapping[str, str], log: Path) -> dict[str, str]:
    """How people start a server: the shell lines of `nohup` and of a script with `tee`."""
    assigned = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
    command, to = shlex.join(argv), shlex.quote(str(log))
    return {
        "nohup": f"{assigned} nohup {command} >{to} 2>&1 &",
        "tee": f"#!/bin/sh\n{assigned} {command} 2>&1 | tee {to}\n",
        "tmux": f"env {assigned} {command}",
    }
