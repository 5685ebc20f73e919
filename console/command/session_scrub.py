"""`spec-console session scrub FILE NEW`: a session without the secrets that were learned late."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from console.model.exits import Exit
from console.model.mask import Masks
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
    parser.add_argument(
        "--secrets", metavar="FILE", help="secrets to take out, one a line; - for standard input"
    )
    parser.add_argument(
        "--secret-env",
        metavar="NAME",
        action="append",
        default=[],
        help="take out the value that this variable has here",
    )
    options = parser.parse_args(argv)
    journal, masks = Journal(options.file), Masks()
    for name in options.secret_env:
        masks.learn(os.environ.get(name, ""))
    for line in _lines(options.secrets):
        masks.learn(line)
    done = scrub(journal, Path(options.new), masks, strict=options.redact == "strict")
    print(f"{options.new}: {done.events:,} events, {done.changed:,} texts changed")
    for rule, count in sorted(done.hits.items()):
        print(f"{rule:<9} {count:,} places")
    for loss in done.losses:
        print(f"spec-console: left out: {loss}", file=sys.stderr)
    return Exit.OK


def _lines(file: str | None) -> list[str]:
    if file is None:
        return []
    if file == "-":
        return sys.stdin.read().splitlines()
    return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
