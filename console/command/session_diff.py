"""`spec-console session diff BEFORE AFTER`: what differs between two nights."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from console.model.exits import Exit
from console.session.difference import differences
from console.session.journal import Journal


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console session diff", allow_abbrev=False)
    parser.add_argument("before", metavar="BEFORE")
    parser.add_argument("after", metavar="AFTER")
    parser.add_argument("--json", action="store_true", help="one JSON object a difference")
    parser.add_argument("--check", action="store_true", help="exit 1 when anything differs")
    options = parser.parse_args(argv)
    before, after = Journal(options.before), Journal(options.after)
    found = differences(before, after)
    for difference in found:
        print(json.dumps(asdict(difference)) if options.json else difference)
    if not options.json:
        for journal in (before, after):
            for loss in journal.losses():
                print(f"{journal.path}: {loss}")
        if not found:
            print("no difference in what both sessions tell")
    return Exit.ASSERTION if found and options.check else Exit.OK
