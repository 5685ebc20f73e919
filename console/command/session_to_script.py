"""`spec-console session to-script FILE`: what was done that night, as a script."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from console.command.session_file import add_output, write
from console.control.to_script import to_script
from console.model.exits import Exit
from console.session.journal import Journal


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console session to-script", allow_abbrev=False)
    parser.add_argument("file", metavar="SESSION")
    add_output(parser)
    options = parser.parse_args(argv)
    write(to_script(Journal(options.file)).removesuffix("\n").split("\n"), options.output)
    return Exit.OK
