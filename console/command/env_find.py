"""`spec-console env find FOLDER`: which files set NCCL's variables, here or on a host.

Looks only: bounded in depth, size, number and time, and nothing that is found is run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Sequence

from console.command.env_given import shown
from console.command.env_live import given_fleet
from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.exits import Exit, NotStarted
from console.model.failure import WireError
from console.model.fleet import Host
from console.nccl.importing.found import Found, Imported, State
from console.services.settings_files import Bounds, Files, find_settings
from console.transport.wires import wire_to

_SHOWN = (State.SET, State.COMMENTED, State.UNRESOLVED, State.LOST)


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    options = _parser().parse_args(argv)
    host = _host(options)
    bounds = Bounds(options.depth, options.size_kib * 1024, options.files, options.seconds)
    try:
        files = asyncio.run(_search(host, options.folder, bounds))
    except WireError as error:
        raise NotStarted(error.kind.exit, shown(f"{host.name}: {error.told}")) from error
    for imported in files.imported:
        if options.json:
            print(json.dumps(_as_json(imported, host.name)))
            continue
        for line in lines_of(imported):
            print(line)
    for text in files.troubles:
        print(f"spec-console: {shown(text)}", file=sys.stderr)
    if not files.imported and not options.json:
        print("no file sets NCCL's variables there", file=sys.stderr)
    return Exit.OK


def _parser() -> argparse.ArgumentParser:
    bounds = Bounds()
    parser = argparse.ArgumentParser(prog="spec-console env find", allow_abbrev=False)
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--on", metavar="HOST", help="a host of the fleet; here if left out")
    parser.add_argument("--fleet", metavar="FILE", help="the fleet it is in")
    parser.add_argument("--depth", type=int, default=bounds.deep, metavar="N", help="folders deep")
    parser.add_argument(
        "--size-kib", type=int, default=bounds.most_bytes // 1024, metavar="N", help="of a file"
    )
    parser.add_argument("--files", type=int, default=bounds.most_files, metavar="N", help="at most")
    parser.add_argument(
        "--seconds", type=float, default=bounds.seconds, metavar="S", help="at most"
    )
    parser.add_argument("--json", action="store_true", help="a JSON object a file")
    return parser


def _host(options: Namespace) -> Host:
    if options.on is None:
        return Host("here")
    fleet = given_fleet(options)
    names = [host.name for host in fleet.hosts]
    if options.on not in names:
        known = ", ".join(names)
        raise NotStarted(Exit.USAGE, f'no host is named "{options.on}" (known: {known})')
    return fleet.host(options.on)


async def _search(host: Host, folder: str, bounds: Bounds) -> Files:
    wire = wire_to(host, SystemClock(), Pace(), Nobody())
    try:
        return await find_settings(wire, folder, bounds)
    finally:
        await wire.close()


def lines_of(imported: Imported) -> list[str]:
    """A line per place: `file:line: NAME=value`, with its state where it is not plainly set."""
    told = []
    for one in imported.found:
        if one.state not in _SHOWN:
            continue
        place = f"{imported.file}:{one.lines[0] if one.lines else 0}"
        told.append(shown(f"{place}: {one.name}={one.value or one.raw}{_state(one)}"))
    return told


def _state(one: Found) -> str:
    return "" if one.state is State.SET else f"   ({one.state.value})"


def _as_json(imported: Imported, host: str) -> dict[str, object]:
    return {
        "host": host,
        "file": imported.file,
        "format": imported.format,
        "values": imported.values(),
        "found": [
            {
                "name": one.name,
                "value": one.value or one.raw,
                "state": one.state.value,
                "lines": list(one.lines),
            }
            for one in imported.found
        ],
    }
