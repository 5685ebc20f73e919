"""The verbs `env` and `profile`: what a server really runs with, and what it is wanted to.

An environment passes between steps as text, `NAME=VALUE` words of a shell; nothing in it is ever
run. Reads hosts through the services only and changes nothing anywhere.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from console.control.port import Argument, Outcome
from console.model.clock import Clock, Pace
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.fleet import Fleet
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.nccl.export import export
from console.nccl.importing.read import import_source
from console.nccl.profile import Profile
from console.nccl.truth import Extent, same_reading
from console.nccl.version import NEWEST, Version
from console.session.environments import wanted
from console.session.player import Player
from console.store.profiles import (
    Unwritten,
    load_profiles,
    profiles_path,
    save_profile,
    want_profile,
)
from console.store.toml import BadFile
from console.stream.environment import basis, effective, nccl_version
from console.stream.events import Event
from console.stream.fact import Completeness
from console.stream.server_events import ProcessSeen
from console.stream.state import Server, State
from console.stream.timeline import Timeline

if TYPE_CHECKING:
    from console.services.live import Watch

ALL = "NCCL_*"


class Bad(Exception):
    """What was given cannot be used; the text says why, `code` how the step ends."""

    def __init__(self, code: Exit, text: str) -> None:
        super().__init__(text)
        self.code = code


async def read_now(
    watch: Watch, server: str, given: Mapping[str, Argument], timeline: Timeline, masks: Masks
) -> Outcome:
    """Read a server's environment on its host, then answer as `env_outcome` does."""
    try:
        await watch.environs.read(server)
    except WireError as error:
        return Outcome(error.kind.exit, clean(f"{server}: {error.told}", masks))
    return env_outcome(timeline.state, watch.fleet, server, given, masks)


def env_recorded(
    player: Player,
    timeline: Timeline,
    fleet: Fleet,
    server: str,
    given: Mapping[str, Argument],
    masks: Masks,
) -> Outcome:
    """The next recorded reading, as a live one would bring a new one; else the latest."""
    for number in player.next_of("process"):
        event = player.journal.event(number)
        if isinstance(event, ProcessSeen) and event.server == server:
            player.advance(event.t_us)
            break
    return env_outcome(timeline.state, fleet, server, given, masks)


def env_outcome(
    state: State, fleet: Fleet, server: str, given: Mapping[str, Argument], masks: Masks
) -> Outcome:
    """What a server runs with, from State; an assertion fails where it is not what was asked."""
    cell = state.servers.get(server)
    if cell is None or cell.process is None:
        return Outcome(Exit.STEP, clean(f"{server}: its environment was not read", masks))
    if cell.process.pid is None:
        return Outcome(Exit.STEP, clean(f"{server}: {cell.process.why}", masks))
    pattern = str(given.get("match", ALL))
    try:
        held, extent = _held(cell, str(given.get("read", "")))
        wanted = as_env(str(given["same_as"]), fleet, state) if "same_as" in given else {}
    except Bad as error:
        return Outcome(error.code, clean(f"{server}: {error}", masks))
    found = {name: value for name, value in held.items() if fnmatchcase(name, pattern)}
    decides, _ = basis(cell)
    results: dict[str, str | int | float] = {
        "env": as_text(found),
        "count": len(found),
        "whole": "yes" if extent is Extent.WHOLE else "no",
        "source": decides.source if decides is not None else "",
    }
    drift = cell.drift
    gone = drift is not None and bool(drift.lost or drift.changed)
    results["drift"] = drift.why if drift is not None and gone else "none"
    wrong = _differences(held, extent, wanted, nccl_version(cell) or NEWEST)
    results["missing"] = len(wrong)
    if wrong:
        return Outcome(Exit.ASSERTION, clean("; ".join(wrong), masks), results)
    said = f"{len(found)} variables {pattern} in effect"
    if wanted:
        said = f"all {len(wanted)} variables are in effect"
    if extent is not Extent.WHOLE:
        said += "; not all could be read"
    lines = [clean(f"{name}={value}", masks) for name, value in found.items()]
    return Outcome(Exit.OK, clean(said, masks), results, lines)


def _held(cell: Server, read: str) -> tuple[dict[str, str], Extent]:
    """What is in effect, or what one source says."""
    if not read or read == "effect":
        return effective(cell)
    source = cell.envs.get(Clean(read))
    if source is None:
        known = ", ".join(cell.envs)
        raise Bad(Exit.STEP, f'nothing was read from "{read}" (read: effect, {known})')
    whole = source.completeness is Completeness.WHOLE
    values = {str(name): str(value) for name, value in source.values}
    return values, Extent.WHOLE if whole else Extent.PARTLY


def as_env(text: str, fleet: Fleet, state: State) -> dict[str, str]:
    """A set of variables: assignments, a profile's name, or what another server runs with.

    Raises:
        Bad: it is none of these, or the profiles cannot be read.
    """
    if "=" in text:
        return _assigned(text)
    if text in state.servers:
        values, _ = effective(state.servers[text])
        return {name: value for name, value in values.items() if name.startswith("NCCL_")}
    if not text:
        return {}
    if fleet.path:
        try:
            profiles = load_profiles(profiles_path(fleet.path)).profiles
        except BadFile as error:
            raise Bad(Exit.USAGE, str(error)) from error
        if text in profiles:
            return dict(profiles[text].values)
    raise Bad(Exit.STEP, f'"{text}" is no profile, no server and no NAME=VALUE')


def _differences(
    held: Mapping[str, str], extent: Extent, wanted: Mapping[str, str], version: Version
) -> list[str]:
    wrong = []
    for name, value in wanted.items():
        if name in held and not same_reading(name, value, held[name], version):
            wrong.append(f"{name} is {held[name]}, not {value}")
        elif name not in held and extent is Extent.WHOLE:
            wrong.append(f"{name} is lost")
        elif name not in held:
            wrong.append(f"{name} could not be read")
    return wrong


def profile_outcome(
    fleet: Fleet,
    server: str,
    given: Mapping[str, Argument],
    emit: Callable[[Event], object],
    clock: Clock,
    masks: Masks,
) -> Outcome:
    """Keep variables as a profile beside the fleet; the server is wanted to run with it."""
    name = str(given["name"])
    if not fleet.path:
        return Outcome(Exit.STEP, Clean("there is no fleet file to keep a profile beside"))
    values = _assigned(str(given["env"]))
    if not values:
        return Outcome(Exit.STEP, clean(f"{name}: no NAME=VALUE was given", masks))
    note, origin = str(given.get("note", "")), str(given.get("origin", ""))
    made = clock.utc().strftime("%Y-%m-%d")
    path = profiles_path(fleet.path)
    try:
        profile = Profile(name, values, note, origin, made)
        save_profile(path, profile, replacing=bool(given.get("replace", "")))
        want_profile(path, server, name)
    except (BadFile, Unwritten) as error:
        return Outcome(Exit.STEP, clean(str(error), masks))
    except OSError as error:
        return Outcome(Exit.STEP, clean(f"{path}: {(error.strerror or '').lower()}", masks))
    for event in wanted(fleet, masks):
        emit(event)
    said = f"{name}: {len(values)} variables, wanted for {server}"
    return Outcome(Exit.OK, clean(said, masks), {"profile": name, "count": len(values)})


def profiles_outcome(fleet: Fleet, masks: Masks) -> Outcome:
    """Every profile beside the fleet as a result: its name, its variables a line each."""
    if not fleet.path:
        return Outcome(Exit.OK, Clean("no profiles"))
    try:
        held = load_profiles(profiles_path(fleet.path)).profiles
    except BadFile as error:
        return Outcome(Exit.USAGE, clean(str(error), masks))
    results: dict[str, str | int | float] = {
        name: export(one.values, "env").text for name, one in held.items()
    }
    return Outcome(Exit.OK, clean(f"{len(held)} profiles", masks), results)


async def fabric_outcome(watch: Watch, server: str, clock: Clock, masks: Masks) -> Outcome:
    """What a host says of its IOMMU, of ACS and of peer access, a line each."""
    from console.services.env_file import fabric
    from console.services.process import HostCommands

    try:
        told = await fabric(HostCommands(watch.wire_of(server), clock, Pace(), masks))
    except WireError as error:
        why = f"IOMMU, ACS and peer access are not known: {error.why}"
        return Outcome(error.kind.exit, clean(why, masks))
    return Outcome(Exit.OK, told[0], {}, told)


def _assigned(text: str) -> dict[str, str]:
    """Assignments, one or several a line."""
    if "\n" in text.strip():
        return import_source(text, "given.env", "env").values()
    return import_source(f"export {text}", "given.sh", "shell").values()


def as_text(env: Mapping[str, str]) -> str:
    """An environment as one line of assignments, which `as_env` reads back."""
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
