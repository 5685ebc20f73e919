"""`spec-console doctor [SERVER]`: all that a server needs, and how to mend what is missing."""

from __future__ import annotations

import argparse
import asyncio
import locale
import os
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from typing import NoReturn

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.fleet import Fleet, Server
from console.model.mask import Masks
from console.model.text import clean, plain
from console.services.checking import Check, answers, log_found, reached, tools
from console.services.credential import key_headers
from console.store import audit
from console.store.fleet import find_fleet, load_fleet
from console.store.folders import state_folder
from console.store.settings import load_settings
from console.store.toml import BadFile, nearest
from console.transport.http import Http
from console.transport.wires import wire_to

_ROOM_BYTES = 64 * 1024 * 1024
"""Less than this is worth a word; one file of a session grows as large."""

MARKS = {True: "ok", False: "MISSING", None: "note"}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = _Parser(
        prog="spec-console doctor",
        description="Check everything a server needs. Changes nothing. Exit 0: all there; "
        "3: something is missing; 4: a host cannot be reached.",
        allow_abbrev=False,
    )
    made.add_argument("server", metavar="SERVER", nargs="?", help="one server; all when left out")
    made.add_argument("--fleet", metavar="FILE", help="the fleet file")
    return made


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    options = parser().parse_args(argv)
    try:
        settings = load_settings()
        path = find_fleet(options.fleet)
        fleet = load_fleet(path) if path is not None else Fleet("none")
    except BadFile as error:
        print(error, file=sys.stderr)
        return Exit.USAGE
    names = [server.name for server in fleet.servers]
    if options.server is not None and options.server not in names:
        hint = nearest(options.server, names)
        print(f'spec-console: no server "{options.server}"{hint}', file=sys.stderr)
        return Exit.USAGE
    chosen = [s for s in fleet.servers if options.server in (None, s.name)]
    return asyncio.run(_all(fleet, chosen, settings.pace))


async def _all(fleet: Fleet, chosen: Sequence[Server], pace: Pace) -> Exit:
    masks, codes = Masks(), {Exit.OK}

    def tell(subject: str, check: Check) -> None:
        codes.add(check.code)
        told = f"{MARKS[check.good]:<8}{subject:<14} {check.name:<12} {check.told}"
        print(plain(clean(told, masks)), flush=True)
        if check.mend:
            print(plain(clean(f"{'':<36}-> {check.mend}", masks)), flush=True)

    for check in own():
        tell("here", check)
    if not fleet.servers:
        mend = "start spec-console in a terminal to add a server, or try: spec-console --demo"
        tell("fleet", Check("file", False, "no fleet.toml found", mend, Exit.STEP))
    for host in dict.fromkeys(fleet.host_of(server).name for server in chosen):
        servers = [server for server in chosen if fleet.host_of(server).name == host]
        async for subject, check in _host(fleet, host, servers, pace, masks):
            tell(subject, check)
    return Exit.UNREACHABLE if Exit.UNREACHABLE in codes else max(codes & {Exit.OK, Exit.STEP})


async def _host(
    fleet: Fleet, name: str, servers: Sequence[Server], pace: Pace, masks: Masks
) -> AsyncIterator[tuple[str, Check]]:
    clock, host = SystemClock(), fleet.host(name)
    wire = None
    try:
        wire = wire_to(host, clock, pace, Nobody())
        up = await reached(wire, pace.connect_deadline_s)
        yield name, up
        if not up.good:
            return
        for check in await tools(wire, pace.read_deadline_s):
            yield name, check
        for server in servers:
            key, headers = api_key(server, masks)
            if key is not None:
                yield server.name, key
            http = Http(wire, clock, headers)
            try:
                yield server.name, (await answers(server.url, http, pace.health_deadline_s))[0]
            finally:
                await http.close()
            yield server.name, await log_found(wire, server.log, pace.read_deadline_s)
    except WireError as error:
        yield name, Check("host", False, str(error), "; ".join(error.detail), error.kind.exit)
    finally:
        if wire is not None:
            await wire.close()


def api_key(server: Server, masks: Masks) -> tuple[Check | None, dict[str, str]]:
    """Whether the key a server names can be had, and the headers that carry it."""
    if not (server.api_key_env or server.api_key_file):
        return None, {}
    named = server.api_key_env or server.api_key_file
    try:
        headers = key_headers(server, masks)
    except WireError as error:
        mend = f"export {named}" if server.api_key_env else f"write the key into {named}"
        return Check("api key", False, error.why, mend, Exit.STEP), {}
    return Check("api key", True, f"from {named}"), headers


def own() -> list[Check]:
    """What this machine and terminal need."""
    found = []
    try:
        folder = state_folder()
        good: bool | None = os.access(folder, os.W_OK | os.X_OK)
        told, mend = str(folder), "" if good else f"chmod u+wx {folder}"
    except OSError as error:
        good, told = False, f"{error.filename}: {(error.strerror or '').lower()}"
        mend = "make it, or name another folder in SPEC_CONSOLE_STATE"
    if good and (free := shutil.disk_usage(told).free) < _ROOM_BYTES:
        good, mend = (
            (None, "") if free else (False, "make room: nothing is recorded, no act begins")
        )
        told += f": {free / 2**20:.1f} MiB are left"
    found.append(Check("state", good, told, mend, Exit.STEP if good is False else Exit.OK))
    found += _audited() if good is not False else []
    term = os.environ.get("TERM", "")
    if not sys.stdout.isatty():
        found.append(Check("terminal", None, "standard output is no terminal: scripts only"))
    elif term in ("", "dumb", "unknown"):
        mend = "set TERM, for example to xterm-256color"
        found.append(Check("terminal", False, f'TERM is "{term}"', mend, Exit.STEP))
    else:
        found.append(Check("terminal", True, term))
    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") == "utf8":
        found.append(Check("locale", True, encoding))
    else:
        mend = "set LC_ALL=C.UTF-8 for lines and symbols; ASCII is drawn until then"
        found.append(Check("locale", None, encoding, mend))
    return found


def _audited() -> list[Check]:
    """Whether every line of what was changed is as it was written."""
    try:
        lines = audit.read_all()
    except OSError as error:
        why = f"{error.filename}: {(error.strerror or '').lower()}"
        return [Check("audit", False, why, "make it readable", Exit.STEP)]
    broken = audit.chained(lines)
    if broken is None:
        told = f"{len(lines)} lines, each follows from the one before" if lines else "nothing yet"
        return [Check("audit", True, told)]
    told = f"line {broken + 1} of {audit.FILE} does not follow from the one before it"
    mend = "lines were changed or taken out, or a full disk cut one: do not rely on what it says"
    return [Check("audit", None, told, mend)]
