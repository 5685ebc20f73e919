"""`spec-console session VERB …`: saved sessions without a screen; each verb has its own file.

Hands on to that file and turns what can go wrong with any session file into one line and a code.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from console.model.exits import Exit
from console.session.journal import NotASession

VERBS = {
    "info": "what the session holds",
    "export": "JSON lines, CSV of its series, a page of evidence, or a picture",
    "diff": "what differs between two sessions",
    "scrub": "write it anew without secrets that were learned late",
    "to-script": "what was done that night, as a script",
    "follow": "tell what a console that still records sees",
}


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    arguments = list(argv)
    if not arguments or arguments[0] not in VERBS:
        _parser().parse_args(arguments or ["--help"])
    command = import_module(f"console.command.session_{arguments[0].replace('-', '_')}")
    try:
        return Exit(command.main(arguments[1:]))
    except NotASession as error:
        return _refused(str(error), Exit.USAGE)
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be told, not even by the interpreter.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.STEP
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        return _refused(f"{named}{(error.strerror or str(error)).lower()}", Exit.STEP)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spec-console session",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {name:<10} {text}" for name, text in VERBS.items()),
    )
    parser.add_argument("verb", metavar="VERB", choices=list(VERBS))
    return parser


def _refused(text: str, code: Exit) -> Exit:
    print(f"spec-console: {text}", file=sys.stderr)
    return code
