"""Where a session subcommand writes: standard output, or a new file that only its owner reads."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from console.store import whole


def add_output(parser: argparse.ArgumentParser) -> None:
    """The option `--output FILE`."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="a new file instead of standard output"
    )


def write(lines: Iterable[str], output: str | None) -> None:
    """Write the lines.

    Raises:
        OSError: the file exists already, or cannot be written.
    """
    if output is None:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        return
    whole.create(Path(output), (f"{line}\n".encode() for line in lines))
