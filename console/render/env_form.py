"""The editor of variables as a form: what is set and what could be, by a search over the catalogue.

Pure. The text stays the one truth: a form is read from it and every change is made in it, so that
comments and lines of other variables survive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from console.model.palette import Role
from console.model.span import Span, Spans
from console.nccl.catalogue import Variable, catalogue, lookup
from console.nccl.version import NEWEST, Version
from console.render.editing import text_of, values_of
from console.render.label import label
from console.render.spans import fitted

MOST_ROWS = 400
_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True, slots=True)
class FormRow:
    """One variable: its value in the text, None where it is not set there."""

    name: str
    value: str | None
    about: Variable | None


def form_rows(text: str, search: str, version: Version = NEWEST) -> list[FormRow]:
    """What is set first, in the order of the text; then what `version` knows, by its name and then
    by what is said of it; last a name nobody knows, if the search could be one."""
    held = values_of(text)
    words = search.lower().split()

    def fits(name: str) -> bool:
        known = lookup(name)
        said = f"{name} {known.about} {known.group}" if known is not None else name
        return all(word in said.lower() for word in words)

    rows = [FormRow(name, value, lookup(name)) for name, value in held.items() if fits(name)]
    others = [
        one
        for one in catalogue().values()
        if one.name not in held and one.lives_in(version) and fits(one.name)
    ]
    named = search.strip().upper()
    others.sort(key=lambda one: (named not in one.name, not one.documented, one.name))
    rows += [FormRow(one.name, None, one) for one in others]
    typed = named if named.startswith("NCCL_") else f"NCCL_{named}"
    if named and _NAME.fullmatch(named) and typed not in {row.name for row in rows}:
        rows.append(FormRow(typed, None, lookup(typed)))
    return rows[:MOST_ROWS]


def form_lines(rows: Sequence[FormRow], cursor: int, room: int, depth: int) -> list[Spans]:
    """As many rows as fit, the chosen one among them."""
    first = max(0, min(cursor - depth // 2, len(rows) - depth))
    wide = max(17, min(34, room - 14))
    lines = []
    for at, row in enumerate(rows[first : first + depth], first):
        chosen = at == cursor
        role = Role.STRONG if chosen else Role.TEXT if row.value is not None else Role.DIM
        mark = "▸ " if chosen else "  "
        name = fitted((Span(mark + label(row.name), role),), wide)
        lines.append(fitted((*name, Span(" "), *_cell(row, room >= 48)), room))
    return lines or [fitted((Span("no variable is called that", Role.DIM),), room)]


def _cell(row: FormRow, wide: bool) -> Spans:
    if row.value is not None:
        shown = label(row.value) or '""'
        hint = human(row.value, row.about)
        unknown = (Span("  unknown to NCCL", Role.WARNING),) if row.about is None else ()
        return (Span(shown), Span(f"  {hint}" if hint else "", Role.DIM), *unknown)
    if row.about is None:
        return (Span("unknown to NCCL" if wide else "unknown", Role.WARNING),)
    unit = f" {row.about.unit}" if row.about.unit else ""
    return (Span(f"{'– default' if wide else '–'} {row.about.default}{unit}", Role.DIM),)


def human(value: str, variable: Variable | None) -> str:
    """A number with its unit: `16 MiB` for 16777216 bytes, `8 channels`; "" where it has none."""
    if variable is None or not variable.unit or not re.fullmatch(r"[0-9]{1,15}", value):
        return ""
    number = int(value)
    if variable.unit == "bytes":
        for size, word in _SIZES:
            if number >= size:
                return f"= {number / size:g} {word}"
    return f"{variable.unit}"


def with_value(text: str, name: str, value: str) -> str:
    """The text with that value: in the last line that sets the name, else in a new one."""
    row = text_of({name: value}).removesuffix("\n")
    pattern = re.compile(rf"\s*(export\s+)?{re.escape(name)}\s*=")
    rows = text.split("\n")
    places = [at for at, line in enumerate(rows) if pattern.match(line)]
    if places:
        rows[places[-1]] = row
        changed = "\n".join(rows)
    else:
        changed = text + ("" if text.endswith("\n") or not text else "\n") + row + "\n"
    if values_of(changed).get(name) == value:
        return changed
    # A value over several lines, or a quote left open above: the variables are what counts.
    return text_of(values_of(text) | {name: value})


def without(text: str, name: str) -> str:
    """The text without the lines that set the name."""
    pattern = re.compile(rf"\s*(export\s+)?{re.escape(name)}\s*=")
    changed = "\n".join(line for line in text.split("\n") if not pattern.match(line))
    if name not in values_of(changed):
        return changed
    return text_of({key: held for key, held in values_of(text).items() if key != name})
