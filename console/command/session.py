"""`spec-console session VERB …`: saved sessions without a screen; each verb has its own file."""

from __future__ import annotations

from collections.abc import Sequence

from console.command.dispatch import dispatch
from console.model.exits import Exit
from console.session.files import NotASession

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
    return dispatch("session", VERBS, argv, refused=(NotASession,), unreadable=Exit.STEP)
