"""Theme files: `themes/*.toml` with `schema = "theme/1"`, every colour parsed before use.

A file is refused whole, with file, line, key and value. Knows roles and colours, no toolkit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from console.model.palette import Role
from console.store.folders import bundled, config_folder
from console.store.toml import BadFile, Problem, Table, load, nearest, one_of

SCHEMA = "theme/1"
ANSI_NAMES = tuple(
    f"{bright}{name}"
    for bright in ("", "bright_")
    for name in ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
)
ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse")
GROUND = ("background", "surface", "panel", "border", "focus", "accent", "selected")
"""Keys of [colors] that are no roles: surfaces, frames, the row under the cursor."""

ROLE_KEYS: dict[Role, tuple[str, str]] = {
    Role.TEXT: ("colors", "text"),
    Role.DIM: ("colors", "dim"),
    Role.STRONG: ("colors", "strong"),
    Role.TITLE: ("colors", "title"),
    Role.KEY: ("colors", "key"),
    **{
        role: ("status", role.value.partition(".")[2])
        for role in Role
        if role.value.startswith(("status.", "standing."))
    },
    Role.BASELINE: ("chart", "baseline"),
    Role.SPECULATIVE: ("chart", "speculative"),
    **{
        role: ("log", role.value.partition(".")[2])
        for role in Role
        if role.value.startswith("log.")
    },
}
"""Where each role stands in a theme file."""

CHART_KEYS = ("assumed", "grid")
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_VARIABLE = re.compile(r"[a-z][a-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class Pen:
    """A colour and attributes.

    Attributes:
        colour: `#rrggbb`, one of the sixteen names, or `default` (the terminal's own).
    """

    colour: str
    attributes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Theme:
    """One theme.

    Attributes:
        ansi: it uses the terminal's sixteen colours only.
        ground: colours by key of GROUND.
        variables: further variables of the screen toolkit, each a colour.
    """

    name: str
    dark: bool
    ansi: bool
    ground: Mapping[str, str]
    pens: Mapping[Role, Pen]
    chart: Mapping[str, Pen]
    variables: Mapping[str, str] = field(default_factory=dict)


def theme_names() -> tuple[str, ...]:
    """The names of all themes: those that come along, then the user's own, each once."""
    return tuple(dict.fromkeys(path.stem for path in _files()))


def load_theme(name: str) -> Theme:
    """The theme of that name; the user's own stands before one that comes along.

    Raises:
        BadFile: there is none of that name, or its file is wrong.
    """
    for folder in _folders():
        path = folder / f"{name}.toml"
        if path.is_file():
            return read_theme(path)
    hint = nearest(name, theme_names()) or f" (known: {one_of(theme_names())})"
    raise BadFile([Problem("theme", 1, 1, f'no theme "{name}"{hint}')])


def read_theme(path: Path) -> Theme:
    """Read one file.

    Raises:
        BadFile: every mistake with its line, key and value.
    """
    document = load(path)
    top = document.top_of(SCHEMA)
    dark = top.flag("dark", True)
    ansi = top.flag("ansi")
    tables = {key: _section(top, key, ansi) for key in ("colors", "status", "chart", "log")}
    pens = {role: tables[table].take(key) for role, (table, key) in ROLE_KEYS.items()}
    ground = {key: tables["colors"].take(key).colour for key in GROUND}
    chart = {key: tables["chart"].take(key) for key in CHART_KEYS}
    for section in tables.values():
        section.table.finish()
    variables = _variables(top)
    top.finish()
    document.refuse()
    return Theme(path.stem, dark, ansi, ground, pens, chart, variables)


def pen_of(text: str) -> Pen | None:
    """The pen of `#7fd48a bold` or `bright_red`; None for other words."""
    colour, *attributes = text.split() or [""]
    known = _HEX.fullmatch(colour) or colour in ANSI_NAMES or colour == "default"
    if not known or not set(attributes) <= set(ATTRIBUTES):
        return None
    return Pen(colour, frozenset(attributes))


class _Section:
    """A table of pens being read."""

    def __init__(self, table: Table, ansi: bool) -> None:
        self.table = table
        self._ansi = ansi

    def take(self, key: str) -> Pen:
        text = self.table.text(key, required=True)
        if not text:
            return Pen("default")
        pen = pen_of(text)
        if pen is None:
            self.table.complain(key, f'{key}: "{text}" is no colour: {_expected(self._ansi)}')
            return Pen("default")
        if self._ansi and pen.colour.startswith("#"):
            self.table.complain(key, f'{key}: "{text}" in a theme of sixteen colours')
        return pen


def _expected(ansi: bool) -> str:
    colour = "a name such as bright_red" if ansi else '"#rrggbb"'
    return f"{colour} was expected, then any of {', '.join(ATTRIBUTES)}"


def _section(top: Table, key: str, ansi: bool) -> _Section:
    table = top.table(key)
    if table is None:
        top.complain("", f"[{key}] is missing")
        table = Table(top.document, {}, (key,))
    return _Section(table, ansi)


def _variables(top: Table) -> dict[str, str]:
    table = top.table("variables")
    found: dict[str, str] = {}
    for key in table.names() if table else ():
        assert table is not None
        value = table.text(key)
        pen = pen_of(value)
        if not _VARIABLE.fullmatch(key):
            table.complain(key, f'"{key}" is no name of a variable')
        elif pen is None or pen.attributes:
            table.complain(key, f'{key}: "{value}" is no colour')
        else:
            found[key] = pen.colour
    return found


def _folders() -> tuple[Path, Path]:
    return config_folder() / "themes", bundled("themes")


def _files() -> list[Path]:
    own, along = _folders()
    return [*sorted(along.glob("*.toml")), *sorted(own.glob("*.toml"))]
