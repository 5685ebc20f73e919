"""`spec-console script lint FILE`: check a script against a fleet without running it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from console.control.script import load_script
from console.model.exits import Exit
from console.model.fleet import Fleet
from console.store.fleet import find_fleet, load_fleet
from console.store.toml import BadFile


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console script", allow_abbrev=False)
    parser.add_argument("what", choices=["lint"], help="lint: check without running")
    parser.add_argument("file", metavar="SCRIPT")
    parser.add_argument("--fleet", metavar="FILE", help="the fleet it runs on")
    parser.add_argument("--replay", metavar="SESSION", help="the recording it runs on")
    options = parser.parse_args(argv)
    try:
        script = load_script(options.file, _fleet(options))
    except BadFile as error:
        print(error, file=sys.stderr)
        return Exit.USAGE
    steps = len(script.steps)
    print(f"{options.file}: {steps} step{'' if steps == 1 else 's'}, no mistakes")
    return Exit.OK


def _fleet(options: argparse.Namespace) -> Fleet:
    if options.replay is not None:
        from console.launch import open_replay

        return open_replay(options.replay).fleet()
    path = find_fleet(options.fleet)
    return load_fleet(path) if path is not None else Fleet("none")
