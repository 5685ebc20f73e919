"""ui.toml in the state folder: how a person left the screen of each fleet, for the next start.

Written whole and in one step. What cannot be read is never overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import tomli_w

from console.store import whole
from console.store.folders import state_folder
from console.store.toml import BadFile, Problem, load

SCHEMA = "ui/1"
FILE = "ui.toml"
MOST_FLEETS = 50

Kept = Mapping[str, str | int | bool]
"""What is remembered of one fleet: a flat table."""


def load_layout(fleet: str) -> Kept:
    """What was remembered of a fleet; empty when nothing was.

    Raises:
        BadFile: the file cannot be read, or is not one of this program.
        OSError: the state folder cannot be made.
    """
    return _all(state_folder() / FILE).get(fleet, {})


def save_layout(fleet: str, kept: Kept) -> None:
    """Remember it; of more than fifty fleets those of longest ago are forgotten.

    Raises:
        BadFile: what is there cannot be read, so it is left as it is.
        OSError: it cannot be written.
    """
    path = state_folder() / FILE
    known = {name: table for name, table in _all(path).items() if name != fleet}
    known[fleet] = kept
    newest = dict(list(known.items())[-MOST_FLEETS:])
    text = tomli_w.dumps({"schema": SCHEMA, "fleet": newest})
    whole.replace(path, text.encode())


def _all(path: Path) -> dict[str, Kept]:
    if not os.path.lexists(path):
        return {}
    document = load(path)
    if document.table.get("schema") != SCHEMA:
        raise BadFile([Problem(str(path), 1, 1, f'schema: "{SCHEMA}" was expected')])
    fleets = document.table.get("fleet", {})
    if not isinstance(fleets, dict):
        raise BadFile([Problem(str(path), 1, 1, "[fleet.NAME] was expected")])
    return {
        str(name): {
            str(key): value for key, value in table.items() if isinstance(value, str | int | bool)
        }
        for name, table in fleets.items()
        if isinstance(table, dict)
    }
