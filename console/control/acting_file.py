"""The act `envfile`: a profile's variables into an environment file on the server's host.

Owns which file and which variables, and what a person is told first: among it IOMMU, ACS and peer
access of the box before a first P2P_LEVEL. What runs is not touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.control.acting_turn import held_by
from console.control.environments import Bad, as_env
from console.control.guard import Refused
from console.control.port import Argument, Outcome
from console.model.clock import utc_text
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.fleet import Server
from console.model.text import Clean
from console.services.env_file import Unwritten, fabric, file_text, write_env_file
from console.services.launcher import HostRefused, Launcher
from console.services.process import UNREACHED, HostCommands
from console.store.profiles import load_profiles, profiles_path
from console.store.toml import BadFile
from console.stream.environment import effective
from console.stream.run_events import ActFinished, ActRequested

if TYPE_CHECKING:
    from console.control.acting import Acts

LEVEL = "NCCL_P2P_LEVEL"


@dataclass(frozen=True, slots=True)
class FileRequest:
    """Where what is written, and the name of the set or ""."""

    path: str
    env: Mapping[str, str]
    profile: str
    text: str


def read_file_request(acts: Acts, entry: Server, given: Mapping[str, Argument]) -> FileRequest:
    """What was asked for, else the wanted profile into the recipe's file.

    Raises:
        Refused: nothing can be written so; the text says why.
    """
    recipe = entry.recipe
    path = str(given.get("file", "")) or (recipe.env_file if recipe is not None else "")
    if recipe is not None and path and not path.startswith("/"):
        path = f"{recipe.cwd.rstrip('/')}/{path}"
    if not path.startswith("/") or any(letter in path for letter in "\0\n\r"):
        raise Refused('no file: file = "/PATH" on the host, or env_file in the recipe')
    fleet = acts.watch.fleet
    name, typed = str(given.get("profile", "")), str(given.get("env", ""))
    try:
        if not (name or typed) and fleet.path:
            wanted = load_profiles(profiles_path(fleet.path)).of(entry.name)
            name = wanted.name if wanted is not None else ""
        found = as_env(typed or name, fleet, acts.timeline.state)
        env = {key: value for key, value in found.items() if key.startswith("NCCL_")}
        if not env:
            raise Refused("no variables: no profile is wanted, and neither profile nor env given")
        return FileRequest(path, env, name, file_text(env))
    except (Bad, BadFile, Unwritten) as error:
        raise Refused(str(error)) from error


async def write_file(acts: Acts, act: str, server: str, given: Mapping[str, Argument]) -> Outcome:
    """Do it: told, confirmed, locked, written, kept in stream and audit.

    Raises:
        Refused: by the guard, the person, the lock or the host.
        WireError: the host was not reached.
    """
    entry = acts.watch.fleet.server(server)
    request = read_file_request(acts, entry, given)
    host = HostCommands(acts.watch.wire_of(server), acts.clock, acts.pace, acts.masks)
    lines = [acts.clean(line) for line in await _told(acts, server, request, host)]
    if acts.guard.dry:
        return Outcome(Exit.OK, Clean("not done: dry run"), {"act": act}, lines)
    asked = [str(line) for line in lines]
    confirmed = await acts.guard.confirm(acts.ask, "envfile", server, asked, ())
    launcher = Launcher(host)
    since = utc_text(acts.clock.utc())[:19] + "Z"
    try:
        held = await launcher.lock(act, f"{acts.who} since {since}: envfile {server}")
    except HostRefused as error:
        raise Refused(f"the host cannot be locked: {error}") from error
    if held is not None:
        raise Refused(held_by(held))
    host.awaited = UNREACHED
    try:
        fields = {"host": host.wire.host.name, "verb": "envfile", "server": server}
        fields["file"] = request.path
        if not acts.write_down(act, fields, "requested", confirmed):
            raise Refused("the audit cannot be written")
        kept = f"{request.path}.{act}"
        acts.timeline.emit(_requested(acts, act, server, request, confirmed))
        try:
            written, old = await write_env_file(host, request.path, kept, request.text)
        except Unwritten as error:
            _finished(acts, act, fields, "failed", str(error))
            return Outcome(Exit.STEP, acts.clean(f"envfile: {error}"), {"act": act})
        except WireError as error:
            _finished(acts, act, fields, "failed", str(error))
            raise
    finally:
        await launcher.unlock(act)
    said = f"{len(request.env)} variables in {written}" + (f"; the old one is {old}" if old else "")
    _finished(acts, act, fields, "done", said)
    results: dict[str, str | int | float] = {"act": act, "file": written, "kept": old}
    return Outcome(Exit.OK, acts.clean(said), results | {"count": len(request.env)})


async def _told(acts: Acts, server: str, request: FileRequest, host: HostCommands) -> list[str]:
    """What a person sees before."""
    cell = acts.timeline.state.servers.get(server)
    held = effective(cell)[0] if cell is not None else {}
    origin = f" of profile {request.profile}" if request.profile else ""
    told = [f"{request.path} on {host.wire.host.name}: {len(request.env)} variables{origin}"]
    for name, value in request.env.items():
        before = held.get(name)
        now = "" if before == value else f"   in effect now: {before or 'unset or not read'}"
        told.append(f"  {name}={value}{now}")
    told.append("other lines stay; the old file is kept beside it; a restart makes it count")
    if LEVEL in request.env and held.get(LEVEL) is None:
        told.append(f"{LEVEL} is new here; a wrong setting can wedge the GPUs:")
        told += [f"  {line}" for line in await fabric(host)]
    return told


def _requested(
    acts: Acts, act: str, server: str, request: FileRequest, confirmed: str
) -> ActRequested:
    safe = acts.clean
    given = (("file", request.path), ("profile", request.profile), ("env", request.text))
    host = acts.watch.fleet.host_of(acts.watch.fleet.server(server)).name
    return ActRequested(
        Clean(act),
        Clean("envfile"),
        safe(server),
        safe(acts.who),
        safe(confirmed),
        tuple(
            (safe(name), safe(value.replace("\n", " ").strip())) for name, value in given if value
        ),
        safe(host),
        undo=safe(f"the old file is kept as {request.path}.{act}"),
    )


def _finished(acts: Acts, act: str, fields: Mapping[str, str], how: str, said: str) -> None:
    text = acts.clean(said)
    acts.timeline.emit(ActFinished(Clean(act), Clean(how), text))
    acts.write_down(act, fields, f"{how}: {text}")
