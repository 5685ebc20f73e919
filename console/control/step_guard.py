"""The `guard` of a script's step: when its act may be done at all, whatever was confirmed.

Pure. Read and checked with the script; an act holds what it finds against it before anything is
changed. What is not known is never taken for idle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from console.control.guard import UNKNOWN_LOAD
from console.control.port import Argument
from console.model.verb import Verb
from console.store.toml import Table, nearest, one_of

GUARD = "guard"
ACTS = ("adopt", "launch", "stop", "swap", "restart")
ANY = "any"
WINDOW = r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d"


def read_guard(table: Table, verb: Verb | None, servers: tuple[str, ...]) -> dict[str, str | int]:
    """What a step's `guard` says, as arguments of its act: `guard.idle`, `guard.window`, …"""
    below = table.table(GUARD)
    if below is None:
        return {}
    if verb is not None and verb.id not in ACTS:
        table.complain(GUARD, f"guard: only acts have one: {one_of(ACTS)}")
    said: dict[str, str | int] = {
        "confirm": _confirmed(below, servers),
        "idle": int(below.flag("idle")),
        "max_running": below.number("max_running", most=1_000_000),
        "window": _window(below),
    }
    below.finish()
    return {f"{GUARD}.{name}": value for name, value in said.items() if name in below.names()}


def _confirmed(below: Table, servers: tuple[str, ...]) -> str:
    name = below.text("confirm")
    if "confirm" in below.names() and servers and servers != (name,):
        hint = nearest(name, servers) or f" (it is for: {one_of(servers)})"
        below.complain("confirm", f'confirm: "{name}" is not what the step is for{hint}')
    return name


def _window(below: Table) -> str:
    text = below.text("window", ANY)
    if text != ANY and not re.fullmatch(WINDOW, text):
        below.complain("window", f'window: "HH:MM-HH:MM" or "any" was expected, not "{text}"')
    elif text != ANY and text[:5] == text[6:]:
        below.complain("window", f'window: "{text}" begins when it ends; "any" is the whole day')
    return text


@dataclass(frozen=True, slots=True)
class StepGuard:
    """What has to hold.

    Attributes:
        most_running: requests that may run; None for any number.
        idle: none may run and none wait.
        window: `HH:MM-HH:MM` of the day, past midnight where it ends before it begins.
    """

    most_running: int | None = None
    idle: bool = False
    window: str = ANY

    @classmethod
    def of(cls, given: Mapping[str, Argument]) -> StepGuard:
        """As `read_guard` gave it to an act."""
        most = given.get(f"{GUARD}.max_running")
        return cls(
            most if isinstance(most, int) else None,
            bool(given.get(f"{GUARD}.idle")),
            str(given.get(f"{GUARD}.window", ANY)),
        )

    @property
    def of_load(self) -> bool:
        """Whether it has to be known what runs."""
        return self.idle or self.most_running is not None

    def untimely(self, now: datetime) -> str:
        """Why not at this time of the day, in the zone of `now`; empty where it is allowed."""
        if self.window == ANY:
            return ""
        begin, _, end = self.window.partition("-")
        clock = f"{now:%H:%M}"
        inside = begin <= clock < end if begin < end else clock >= begin or clock < end
        zone = now.tzname() or "local"
        return "" if inside else f"guard: it is {clock} {zone}, outside its window {self.window}"

    def busy(self, running: float | None, queued: float | None) -> str:
        """Why not under this load; None where a figure is not known."""
        if not self.of_load:
            return ""
        if running is None:
            return f"guard: {UNKNOWN_LOAD}"
        if self.most_running is not None and running > self.most_running:
            return f"guard: {running:.0f} requests run, more than {self.most_running}"
        if self.idle and (running or queued):
            return f"guard: not idle: {running:.0f} requests run, {queued or 0:.0f} wait"
        return ""
