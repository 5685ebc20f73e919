"""A verb: the form of one row of the tables of verbs.

Specs only; handlers live in control. Single words are script verbs; dotted names only move the
screen or the player and never enter a script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

REFERENCE = re.compile(r"\$\{([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)\}")
"""How a script refers to a variable, to the run, or to a result of a step before."""


class Need(StrEnum):
    """What a verb needs to be allowed."""

    NOTHING = "nothing"
    LIVE = "live"
    """A live feed: refused in a replay."""
    REPLAY = "replay"
    """A player: refused while live."""
    UNLOCK = "unlock"
    """It changes a host: refused while read-only and in a replay."""


class Kind(StrEnum):
    """What a field of a script step holds."""

    TEXT = "text"
    PATH = "path"
    NUMBER = "number"
    DECIMAL = "decimal"
    DURATION = "duration"
    CONDITIONS = "conditions"
    UNTIL = "until"
    COMMAND = "command"
    ITEMS = "items"
    STEPS = "steps"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a verb in a script."""

    name: str
    kind: Kind
    help: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb.

    Attributes:
        id: also the id of its key binding.
        title: as the palette and the footer show it.
        key: default keys, comma separated; empty for none.
        script: its fields in a script; None when it is no script verb.
        sole: the field that a bare value stands for (`marker = "text"`).
        per_server: it runs once for each targeted server.
        gives: names of the results a later `${step.name}` may use.
        on_screen: a person may ask for it; others make sense only among the steps of a script.
    """

    id: str
    title: str
    help: str
    key: str = ""
    need: Need = Need.NOTHING
    script: tuple[Field, ...] | None = None
    sole: str = ""
    per_server: bool = False
    gives: tuple[str, ...] = ()
    on_screen: bool = True
