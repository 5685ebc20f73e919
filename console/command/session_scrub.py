"""`spec-console session scrub FILE NEW`: a session without the secrets that were learned late."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from console.model.exits import Exit
from console.session.journal import Journal
from console.session.scrub import scrub


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console session scrub", allow_abbrev=False)
    parser.add_argument("file", metavar="SESSION")
    parser.add_argument("new", metavar="NEW", help="a file that does not exist yet")
    parser.add_argument(
        "--redact",
        choices=["secrets", "strict"],
        default="secrets",
        help="strict: also user names, home folders, addresses and host names",
    )
    options = parser.parse_args(argv)
    journal = Journal(options.file)
    done = scrub(journal, Path(options.new), strict=options.redact == "strict")
    print(f"{options.new}: {done.events:,} events, {done.changed:,} texts changed")
    for rule, count in sorted(done.hits.items()):
        print(f"{rule:<9} {count:,} places")
    for loss in done.losses:
        print(f"spec-console: left out: {loss}", file=sys.stderr)
    return Exit.OK
