"""What the editor of variables says beside the text: hints, completions, findings, the difference.

Pure: the text and where the cursor is go in, spans and words come out. A text is one assignment a
line, as an environment file has them; nothing in it is expanded.
"""

from __future__ import annotations

from collections.abc import Mapping

from console.model.palette import Role
from console.model.span import Span, Spans
from console.nccl.catalogue import catalogue, lookup
from console.nccl.check import check
from console.nccl.export import export
from console.nccl.importing.read import import_source
from console.nccl.profile import diff
from console.nccl.rules import UNKNOWN_MACHINE, Machine
from console.nccl.version import NEWEST, Version
from console.render.environment import finding_lines
from console.render.label import label
from console.render.spans import fitted, wrapped

MOST_WORDS = 8
"""Completions that are shown."""


def values_of(text: str) -> dict[str, str]:
    """The variables a text sets; the last of a name holds."""
    return import_source(text, "profile.env", "env").values()


def text_of(env: Mapping[str, str]) -> str:
    """Variables as a text that `values_of` reads back."""
    return export(env, "env").text


def completions(line: str, version: Version = NEWEST) -> list[str]:
    """How a line up to the cursor may go on: whole names, or whole `NAME=value`."""
    name, equals, value = line.strip().partition("=")
    if equals:
        variable = lookup(name)
        words = variable.values_in(version) if variable is not None else ()
        return [f"{name}={word}" for word in words if word.lower().startswith(value.lower())]
    typed = name.upper()
    known = [one.name for one in catalogue().values() if one.lives_in(version)]
    begins = [one for one in known if one.startswith((typed, f"NCCL_{typed}"))]
    holds = [one for one in known if typed in one and one not in begins]
    return [f"{one}=" for one in (*begins, *holds)] if typed else []


def hint_lines(line: str, room: int, version: Version = NEWEST) -> list[Spans]:
    """What the variable of a line is: meaning, default, unit, values."""
    name = line.strip().partition("=")[0]
    variable = lookup(name)
    if variable is None:
        words = completions(line, version)[:MOST_WORDS]
        return [fitted((Span(word, Role.DIM),), room) for word in words]
    told = [variable.about, f"default {variable.default_in(version)}"]
    if variable.unit:
        told[-1] += f", in {variable.unit}"
    values = variable.values_in(version)
    if values:
        told.append(f"one of {', '.join(values)}")
    if variable.syntax:
        told.append(variable.syntax)
    lines = [fitted((Span(name, Role.STRONG),), room)]
    for text in told:
        lines += [fitted((Span(row),), room) for row in wrapped(label(text), room)]
    return lines


def check_lines(
    text: str,
    line: str,
    room: int,
    version: Version = NEWEST,
    machine: Machine = UNKNOWN_MACHINE,
) -> tuple[list[Spans], list[Spans]]:
    """What NCCL would make of the text, worst first: of the line's variable, and of the rest."""
    found = sorted(check(values_of(text), version, machine), key=lambda one: -one.severity.rank)
    name = line.strip().removeprefix("export ").partition("=")[0].strip()
    own = [one for one in found if name in one.names]
    others = [one for one in found if name not in one.names]
    nothing = [fitted((Span("✓ nothing to say", Role.GOOD),), room)]
    more = [fitted((Span("✓ nothing more to say", Role.GOOD),), room)]
    rest = finding_lines(others, room) if others else more if own else nothing
    return finding_lines(own, room), rest


def diff_lines(text: str, against: Mapping[str, str], room: int) -> list[Spans]:
    """What differs from another set: its value, then that of the text."""
    lines = []
    for one in diff(against, values_of(text)):
        before = "unset" if one.before is None else one.before
        after = "unset" if one.after is None else one.after
        spans = (Span(one.name), Span(f"  {label(before)} → {label(after)}", Role.DIM))
        lines.append(fitted(spans, room))
    return lines or [fitted((Span("no difference", Role.DIM),), room)]
