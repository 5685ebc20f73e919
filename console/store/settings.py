"""settings.toml, `schema = "settings/1"`: what a person prefers, read and checked whole.

An unknown key or a wrong value refuses the file; nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from console.model.clock import Pace
from console.model.verbs import VERBS
from console.model.zone import zone_is_known
from console.store.folders import config_folder
from console.store.keys import keys_of, known_keys
from console.store.preferences import PACE, PLAIN, Settings, When, wrong_pace
from console.store.settings_environ import overridden
from console.store.toml import Document, Table, load, nearest

SCHEMA = "settings/1"
FILE = "settings.toml"


def settings_path() -> Path:
    """Where the file lies, whether it exists or not."""
    return config_folder() / FILE


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings in effect: defaults, then the file, then the environment.

    Raises:
        BadFile: with every mistake in the file and in the variables.
    """
    path = settings_path()
    settings = read_settings(load(path)) if os.path.lexists(path) else Settings()
    return overridden(settings, environ)


def read_settings(document: Document) -> Settings:
    """The settings a parsed file describes.

    Raises:
        BadFile: with every mistake's place.
    """
    top = document.top_of(SCHEMA)
    settings = Settings()
    settings = replace(
        settings,
        theme=top.text("theme", settings.theme),
        mouse=top.flag("mouse", settings.mouse),
        ascii=top.choice("ascii", When, settings.ascii) or settings.ascii,
        zone=_zone(top, settings.zone),
        pace=_pace(top),
        keymap=_keymap(top),
    )
    top.finish()
    document.refuse()
    return replace(settings, origins=_origins(document, settings))


def _zone(top: Table, default: str) -> str:
    name = top.text("zone", default)
    if not zone_is_known(name):
        top.complain("zone", f'zone: "{name}" is no time zone known here')
    return name


def _pace(top: Table) -> Pace:
    table = top.table("pace")
    if table is None:
        return Pace()
    given: dict[str, float] = {}
    for key in PACE:
        value = table.raw(key)
        if value is None:
            continue
        wrong = wrong_pace(key, value)
        if wrong:
            table.complain(key, f"{key}: {wrong}")
        else:
            assert isinstance(value, int | float)
            given[key] = value
    table.finish()
    return replace(Pace(), **given)  # type: ignore[arg-type]  # checked key by key above


def _keymap(top: Table) -> dict[str, str]:
    """Keys by verb; dotted ids may be written quoted or as tables of their own."""
    table = top.table("keymap")
    if table is None:
        return {}
    found: dict[str, tuple[Table, str, tuple[str, ...]]] = {}
    for below, key, verb in _verbs(table):
        text = below.text(key)
        if verb not in VERBS:
            below.complain(key, f'keymap: no verb "{verb}"{nearest(verb, list(VERBS))}')
            continue
        keys = keys_of(text)
        if keys is None:
            hint = nearest(text, known_keys())
            below.complain(key, f'keymap: "{text}" names no keys{hint}')
            continue
        found[verb] = (below, key, keys)
    table.finish()
    _no_clash(found)
    return {verb: ",".join(keys) for verb, (_, _, keys) in found.items()}


def _verbs(table: Table, above: str = "") -> list[tuple[Table, str, str]]:
    found = []
    for name in table.names():
        if isinstance(table.raw(name), dict) and (below := table.table(name)) is not None:
            found += _verbs(below, f"{above}{name}.")
        else:
            found.append((table, name, f"{above}{name}"))
    return found


def _no_clash(found: Mapping[str, tuple[Table, str, tuple[str, ...]]]) -> None:
    holders: dict[str, str] = {}
    for verb in VERBS.values():
        if verb.id not in found:
            holders |= dict.fromkeys(filter(None, verb.key.split(",")), verb.id)
    for verb_id, (table, key, keys) in found.items():
        for one in keys:
            other = holders.setdefault(one, verb_id)
            if other != verb_id:
                told = f'keymap: "{one}" is the key of "{other}" ({VERBS[other].title}) already'
                table.complain(key, told)


def _origins(document: Document, settings: Settings) -> dict[str, str]:
    places = document.places

    def place(*path: str) -> str:
        return f"{document.file}:{places[path][0]}" if path in places else ""

    found = {key: place(key) for key in PLAIN}
    found |= {f"pace.{key}": place("pace", key) for key in PACE}
    for verb in settings.keymap:
        where = place("keymap", verb) or place("keymap", *verb.split("."))
        found[f'keymap."{verb}"'] = where
    return {key: where for key, where in found.items() if where}
