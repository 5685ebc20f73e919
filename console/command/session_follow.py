"""`spec-console session follow FILE`: tell what another console records, while it records."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence

from console.model.clock import Clock, SystemClock
from console.model.exits import Exit
from console.session.journal import Journal
from console.session.words import as_record, told

LOOK_S = 0.5


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console session follow", allow_abbrev=False)
    parser.add_argument("file", metavar="SESSION")
    parser.add_argument("--json", action="store_true", help="one JSON object an event")
    parser.add_argument("--all", action="store_true", help="what was recorded so far as well")
    options = parser.parse_args(argv)
    journal = Journal(options.file)
    first = 0 if options.all else len(journal.index)
    asyncio.run(_follow(journal, first, SystemClock(), as_json=options.json))
    return Exit.OK


async def _follow(journal: Journal, first: int, clock: Clock, *, as_json: bool) -> None:
    """Until the session is closed."""
    while True:
        for line in _lines(journal, first, as_json):
            print(line, flush=True)
        first = len(journal.index)
        if journal.closed:
            return
        await clock.sleep(LOOK_S)
        journal.read_on()


def _lines(journal: Journal, first: int, as_json: bool) -> Iterator[str]:
    for event in journal.events(first, bulk=True):
        if as_json:
            yield json.dumps(as_record(event), allow_nan=False)
        else:
            yield from told(event)
