"""`spec-console env VERB …`: NCCL's variables without a screen; each verb has its own file.

0 clean, 1 findings of severity error or a drift, 2 bad usage or an unreadable file.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.command.dispatch import dispatch
from console.model.exits import Exit
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
    return dispatch("env", VERBS, argv, refused=(Unreadable, BadFile), unreadable=Exit.USAGE)
