"""The list of a `repeat` and its steps, written out: one round for each item, values filled in.

Owns `${each.KEY}` and what an item may be. What it gives are steps as a script could have said
them, so that everything after it, from checks to a recorded night, knows no repetition.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from console.model.fleet import Fleet
from console.model.verb import REFERENCE
from console.store.profiles import load_profiles, profiles_path
from console.store.toml import BadFile, Document, Table, nearest, one_of

MOST_STEPS = 1000
_EACH = re.compile(r"\$\{each\.([a-z][a-z0-9_]*)\}")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,31}")
_PROFILE = "profile"

Item = Mapping[str, str | int | float]


@dataclass(slots=True)
class Written:
    """One round before it is checked: its name and the tables of its steps."""

    name: str
    tables: list[Table] = field(default_factory=list)


def rounds(document: Document, table: Table, repeat: str, fleet: Fleet) -> list[Written]:
    """The rounds of a `repeat` step; every mistake is noted in the document.

    Args:
        table: what stands under `repeat`.
        repeat: the id of that step, which begins the ids of the steps of each round.
    """
    items = list(_items(document, table, fleet))
    steps = table.tables("step")
    if not items:
        table.complain("over", "repeat: over = [ … ] was expected, an item at least")
    if not steps:
        table.complain("step", "repeat: a [[step.repeat.step]] was expected at least")
    if len(items) * len(steps) > MOST_STEPS:
        table.complain("over", f"repeat: more than {MOST_STEPS:,} steps in all")
        return []
    keys = {key for item in items for key in item}
    _complain_of_keys(document, table, steps, keys)
    found = []
    for number, item in enumerate(items, 1):
        written = Written(str(item["name"]))
        for place, step in enumerate(steps, 1):
            own = _fill(step, item, repeat, number, [_id(one, at) for at, one in _numbered(steps)])
            if isinstance(own.get("id", ""), str):
                own["id"] = f"{repeat}_{number}_{_id(step, place)}"
            written.tables.append(Table(document, own, step.path))
        found.append(written)
    return found


def _numbered(steps: list[Table]) -> Iterator[tuple[int, Table]]:
    return enumerate(steps, 1)


def _id(step: Table, place: int) -> str:
    named = step.raw("id")
    return named if isinstance(named, str) else f"step{place}"


def _items(document: Document, table: Table, fleet: Fleet) -> Iterator[Item]:
    value = table.raw("over")
    for place, part in enumerate(value if isinstance(value, list) else []):
        path = (*table.path, "over", place)
        if isinstance(part, str) and part:
            yield {"name": part}
        elif isinstance(part, int | float) and not isinstance(part, bool):
            yield {"name": str(part), "value": part}
        elif isinstance(part, dict):
            yield _item(document, cast("dict[str, object]", part), path, fleet)
        else:
            document.complain(path, "over: a text, a number or a table with a name was expected")


def _item(
    document: Document, part: dict[str, object], path: tuple[str | int, ...], fleet: Fleet
) -> Item:
    item: dict[str, str | int | float] = {}
    for key, value in part.items():
        if not _KEY.fullmatch(key):
            document.complain((*path, key), f"over: {key}: lower-case letters were expected")
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            item[key] = value
        else:
            document.complain((*path, key), f"over: {key}: a text or a number was expected")
            item[key] = ""
    if not isinstance(item.get("name"), str):
        document.complain(path, 'over: name = "…" was expected in each table')
        item["name"] = "?"
    if _PROFILE in item:
        words = _profile(document, (*path, _PROFILE), str(item[_PROFILE]), fleet)
        item["env"] = f"{words} {item.get('env', '')}".strip()
    return item


def _profile(document: Document, path: tuple[str | int, ...], name: str, fleet: Fleet) -> str:
    """The variables of a profile beside the fleet file, as the words of `env`.

    Of one that cannot be read they are "?": it is complained of here, not where it is used.
    """
    try:
        known = load_profiles(profiles_path(fleet.path)).profiles if fleet.path else {}
    except BadFile as error:
        document.complain(path, f"profile: {error.problems[0]}")
        return "?"
    if name not in known:
        hint = nearest(name, known) or f" (known: {one_of(known) or 'none'})"
        document.complain(path, f'over: no profile is named "{name}"{hint}')
        return "?"
    return shlex.join(f"{key}={value}" for key, value in known[name].values.items())


def _complain_of_keys(
    document: Document, table: Table, steps: list[Table], keys: Collection[str]
) -> None:
    """Every `${each.KEY}` that no item gives, and every key of an item that no step takes."""
    taken = {"name", "value", _PROFILE}
    for step in steps:
        for path, text in _texts(step.path, {name: step.raw(name) for name in step.names()}):
            for key in _EACH.findall(text):
                taken.add(key)
                if key not in keys:
                    hint = nearest(key, keys) or f" (known: {one_of(sorted(keys))})"
                    document.complain(path, f'${{each.{key}}}: no item of over has "{key}"{hint}')
    over = table.raw("over")
    for place, item in enumerate(over if isinstance(over, list) else []):
        for key in item if isinstance(item, dict) and steps else ():
            if key not in taken and _KEY.fullmatch(key):
                hint = nearest(key, taken) or f" (taken: {one_of(sorted(taken))})"
                path = (*table.path, "over", place, key)
                document.complain(path, f"over: no step takes ${{each.{key}}}{hint}")


def _texts(
    path: tuple[str | int, ...], value: object
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    match value:
        case str():
            yield path, value
        case dict():
            for key, part in value.items():
                yield from _texts((*path, key), part)
        case list():
            for place, part in enumerate(value):
                yield from _texts((*path, place), part)


def _fill(
    step: Table, item: Item, repeat: str, number: int, ids: Collection[str]
) -> dict[str, object]:
    """A step's table with the item's values, and its own round's ids in its references.

    A field that is one `${each.KEY}` takes the value itself, and is left out where the item has
    none or an empty text.
    """

    def renamed(found: re.Match[str]) -> str:
        owner = f"{repeat}_{number}_{found[1]}" if found[1] in ids else found[1]
        return f"${{{owner}.{found[2]}}}"

    def filled(value: object) -> object:
        match value:
            case str():
                whole = _EACH.fullmatch(value)
                if whole is not None:
                    value = item.get(whole[1], "")
                    return None if value == "" else value
                text = REFERENCE.sub(renamed, value)
                return _EACH.sub(lambda found: str(item.get(found[1], "")), text)
            case dict():
                parts = {key: filled(part) for key, part in value.items()}
                return {key: part for key, part in parts.items() if part is not None}
            case list():
                return [filled(part) for part in value]
            case _:
                return value

    return cast("dict[str, object]", filled({name: step.raw(name) for name in step.names()}))
