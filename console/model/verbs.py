"""The table of verbs: everything a key, a palette entry, a subcommand or a script step can do."""

from __future__ import annotations

from console.model.verb import Verb
from console.model.verbs_act import ACT
from console.model.verbs_look import LOOK
from console.model.verbs_screen import SCREEN

VERBS: dict[str, Verb] = {verb.id: verb for verb in (*LOOK, *ACT, *SCREEN)}


def script_verbs() -> tuple[str, ...]:
    """The names a script step may use."""
    return tuple(verb.id for verb in VERBS.values() if verb.script is not None)
