"""`spec-console COMMAND VERB …`: hands on to the verb's own file, and turns what can go wrong with
any input into one line and a code.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Coroutine, Mapping, Sequence
from importlib import import_module
from typing import Any

from console.model.exits import Exit, NotStarted
from console.store.toml import BadFile


def dispatch(
    command: str,
    verbs: Mapping[str, str],
    argv: Sequence[str],
    *,
    refused: tuple[type[Exception], ...],
    unreadable: Exit,
) -> Exit:
    """Run `console.command.COMMAND_VERB`.

    Args:
        verbs: what each of them does, in one line.
        refused: errors whose text says what is wrong with an input: bad usage.
        unreadable: the exit of a file that cannot be read or written.
    """
    arguments = list(argv)
    if not arguments or arguments[0] not in verbs:
        _parser(command, verbs).parse_args(arguments or ["--help"])
    verb = import_module(f"console.command.{command}_{arguments[0].replace('-', '_')}")
    try:
        return Exit(verb.main(arguments[1:]))
    except refused as error:
        return _told(str(error), Exit.USAGE)
    except NotStarted as error:
        return _told(str(error), error.code)
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be told, not even by the interpreter.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.STEP
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        return _told(f"{named}{(error.strerror or str(error)).lower()}", unreadable)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def run_live(work: Coroutine[Any, Any, Exit]) -> Exit:
    """Run a command over a live session; a file or a start that is refused is one line."""
    try:
        return asyncio.run(work)
    except BadFile as error:
        print(error, file=sys.stderr)
        return Exit.USAGE
    except NotStarted as error:
        return _told(str(error), error.code)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _parser(command: str, verbs: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"spec-console {command}",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {name:<10} {text}" for name, text in verbs.items()),
    )
    parser.add_argument("verb", metavar="VERB", choices=list(verbs))
    return parser


def _told(text: str, code: Exit) -> Exit:
    print(f"spec-console: {text}", file=sys.stderr)
    return code
