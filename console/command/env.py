"""`spec-console env VERB …`: NCCL's variables without a screen; each verb has its own file.

Hands on to that file and turns what can go wrong with any input into one line and a code:
0 clean, 1 findings of severity error or a drift, 2 bad usage or an unreadable file.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from console.model.exits import Exit, NotStarted
from console.store.toml import BadFile

VERBS = {
    "check": "what NCCL makes of a file's variables",
    "explain": "what a variable is, in which versions",
    "diff": "what differs between two sets",
    "import": "variables of a document in another form",
    "truth": "what a running server really has",
    "drift": "what servers lost since their last good run",
    "find": "which files of a folder set NCCL's variables",
}


class Unreadable(Exception):
    """An input that cannot be used; the text says which and why."""


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    arguments = list(argv)
    if not arguments or arguments[0] not in VERBS:
        _parser().parse_args(arguments or ["--help"])
    command = import_module(f"console.command.env_{arguments[0]}")
    try:
        return Exit(command.main(arguments[1:]))
    except (Unreadable, BadFile) as error:
        return _refused(str(error), Exit.USAGE)
    except NotStarted as error:
        return _refused(str(error), error.code)
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be told, not even by the interpreter.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.STEP
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        return _refused(f"{named}{(error.strerror or str(error)).lower()}", Exit.USAGE)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spec-console env",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {name:<10} {text}" for name, text in VERBS.items()),
    )
    parser.add_argument("verb", metavar="VERB", choices=list(VERBS))
    return parser


def _refused(text: str, code: Exit) -> Exit:
    print(f"spec-console: {text}", file=sys.stderr)
    return code
