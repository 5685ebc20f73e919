"""`spec-console session info FILE`: what a saved session holds, without a screen."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from console.model.clock import US_PER_S
from console.model.exits import Exit
from console.session.journal import Journal, NotASession
from console.stream.state import State


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console session", allow_abbrev=False)
    parser.add_argument("what", choices=["info"], help="info: what the session holds")
    parser.add_argument("file", metavar="SESSION")
    options = parser.parse_args(argv)
    try:
        journal = Journal(options.file)
    except NotASession as error:
        print(f"spec-console: {error}", file=sys.stderr)
        return Exit.USAGE
    for line in info(journal):
        print(line)
    return Exit.OK


def info(journal: Journal) -> list[str]:
    """What it holds, one fact a line."""
    state = journal.state_before(len(journal.index))
    told = [f"file      {journal.path}"]
    opened = state.session.opened
    if opened is not None:
        told.append(f"fleet     {opened.fleet}")
        told.append(f"origin    {opened.origin}")
        told.append(f"began     {opened.utc}")
        told.append(f"writer    {opened.writer}")
    told.append(f"length    {journal.length_us / US_PER_S:.1f} s")
    told.append(f"closed    {'in order' if journal.closed else 'no: it was cut or still runs'}")
    told.extend(_servers(state))
    counts = Counter(journal.index.kind_of(number) for number in range(len(journal.index)))
    counts.pop("seek", None)
    told.append("events    " + ", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    told.extend(f"damage    {loss}" for loss in journal.losses())
    return told


def _servers(state: State) -> list[str]:
    told = []
    for name, server in state.servers.items():
        arm = server.listed.arm.value if server.listed else "?"
        log = state.logs.get(name)
        lines = f", {log.mark.end - log.mark.first} log lines" if log and log.mark.end else ""
        told.append(f"server    {name}: {arm}, {state.standing(name).value}{lines}")
    return told
