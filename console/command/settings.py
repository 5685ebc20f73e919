"""`spec-console settings`: every setting with its value, where it was set, and what it is for."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from console.model.exits import Exit
from console.store.preferences import PACE, PLAIN, Settings, variable
from console.store.settings import load_settings, settings_path
from console.store.toml import BadFile, nearest

_ELSEWHERE = ("SPEC_CONSOLE_STATE", "SPEC_CONSOLE_CONFIG")
_KEYMAP = "Keys of a verb, comma separated: their names or characters."


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    return _Parser(
        prog="spec-console settings",
        description="All settings with their origin: a default, settings.toml, or a variable. "
        "The output is a settings.toml.",
        allow_abbrev=False,
    )


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser().parse_args(argv)
    try:
        settings = load_settings()
    except BadFile as error:
        print(error, file=sys.stderr)
        return Exit.USAGE
    for line in _lines(settings):
        print(line)
    for hint in _unknown():
        print(hint, file=sys.stderr)
    return Exit.OK


def _lines(settings: Settings) -> list[str]:
    where = settings_path()
    found = [f"# {where}{'' if where.exists() else ' (not there: all of it is optional)'}"]
    found.append('schema = "settings/1"')
    table = ""
    values = settings.all()
    sentences = PLAIN | {f"pace.{key}": text for key, text in PACE.items()}
    for key, value in values.items():
        above, _, name = key.rpartition(".") if key.startswith("pace.") else ("", "", key)
        if key.startswith("keymap."):
            above, name = "keymap", key.removeprefix("keymap.")
        if above != table:
            found += ["", f"[{above}]"]
            table = above
        origin = settings.origins.get(key, "default")
        found += ["", f"# {sentences.get(key, _KEYMAP)}"]
        found.append(f"# {origin}" + ("" if above == "keymap" else f"; variable {variable(key)}"))
        found.append(f"{name} = {value}")
    return found


def _unknown() -> list[str]:
    known = [variable(key) for key in (*PLAIN, *(f"pace.{key}" for key in PACE))]
    known += _ELSEWHERE
    return [
        f"spec-console: {name} is no setting{nearest(name, known)}"
        for name in sorted(os.environ)
        if name.startswith("SPEC_CONSOLE_") and name not in known
    ]
