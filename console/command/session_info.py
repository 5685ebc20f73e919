"""`spec-console session info FILE`: what a saved session holds."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence

from console.model.clock import US_PER_S
from console.model.exits import Exit
from console.model.text import Clean, plain
from console.session.journal import Journal
from console.stream.state import State


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console session info", allow_abbrev=False)
    parser.add_argument("file", metavar="SESSION")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(argv)
    facts = info(Journal(options.file))
    if options.json:
        print(json.dumps(_grouped(facts)))
        return Exit.OK
    for name, text in facts:
        print(f"{name:<9} {text}")
    return Exit.OK


def info(journal: Journal) -> list[tuple[str, str]]:
    """What it holds, as names with texts; some names come more than once."""
    state = journal.state_before(len(journal.index))
    told = [("file", journal.path)]
    opened = state.session.opened
    if opened is not None:
        told += [("fleet", opened.fleet), ("origin", opened.origin), ("began", opened.utc)]
        told += [("writer", opened.writer)]
    told.append(("length", f"{journal.length_us / US_PER_S:.1f} s"))
    told.append(("bytes", f"{journal.files.size:,}"))
    told.append(("closed", "in order" if journal.closed else "no: it was cut or still runs"))
    told += _servers(state)
    told += [("marker", marker.name) for marker in state.session.markers]
    counts = Counter(journal.index.kind_of(number) for number in range(len(journal.index)))
    counts.pop("seek", None)
    told.append(("events", ", ".join(f"{count} {kind}" for kind, count in counts.most_common())))
    told += [("damage", loss) for loss in journal.losses()]
    return [(name, plain(Clean(text))) for name, text in told]


def _servers(state: State) -> list[tuple[str, str]]:
    told = []
    for name, server in state.servers.items():
        arm = server.listed.arm.value if server.listed else "?"
        log = state.logs.get(name)
        lines = f", {log.mark.end - log.mark.first} log lines" if log and log.mark.end else ""
        told.append(("server", f"{name}: {arm}, {state.standing(name).value}{lines}"))
    return told


def _grouped(facts: list[tuple[str, str]]) -> dict[str, object]:
    """Names that may come more than once become lists."""
    found: dict[str, object] = {"server": [], "marker": [], "damage": []}
    for name, text in facts:
        held = found.get(name)
        if isinstance(held, list):
            held.append(text)
        else:
            found[name] = text
    return found
