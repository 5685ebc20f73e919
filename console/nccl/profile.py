"""Profiles: named sets of environment variables with note, origin and date, as plain values and
plain dictionaries. Reads and writes no file; what TOML makes of them is the store's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set. `origin` is where the values came from (file:line, a server, a session),
    `created` a UTC date or time as text."""

    name: str
    values: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    origin: str = ""
    created: str = ""

    def to_dict(self) -> dict[str, object]:
        """Plain strings and one table, ready for TOML; empty fields are left out."""
        plain: dict[str, object] = {"name": self.name}
        for key in ("note", "origin", "created"):
            if getattr(self, key):
                plain[key] = getattr(self, key)
        plain["env"] = dict(self.values)
        return plain


def from_dict(plain: Mapping[str, object]) -> Profile:
    """The profile a dictionary describes. Raises ValueError that names the wrong key."""
    unknown = set(plain) - {"name", "note", "origin", "created", "env"}
    if unknown:
        raise ValueError(f"unknown key: {', '.join(sorted(unknown))}")
    texts = {key: plain.get(key, "") for key in ("name", "note", "origin", "created")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise ValueError(f"{key}: not text")
    name = str(texts["name"])
    if not _NAME.fullmatch(name):
        raise ValueError("name: letters, digits, dot, dash and underline only, 64 at most")
    env = plain.get("env", {})
    if not isinstance(env, Mapping):
        raise ValueError("env: not a table")
    values: dict[str, str] = {}
    for key, value in env.items():
        if not isinstance(key, str) or not _VARIABLE.fullmatch(key):
            raise ValueError(f"env: {key!r} is no variable's name")
        if not isinstance(value, str):
            raise ValueError(f"env.{key}: not text; put the value in quotes")
        values[key] = value
    note, origin, created = (str(texts[key]) for key in ("note", "origin", "created"))
    return Profile(name, values, note, origin, created)


@dataclass(frozen=True, slots=True)
class Change:
    """A variable that differs; None is unset, the empty text is not."""

    name: str
    before: str | None
    after: str | None


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """What turns one set into the other, by name."""
    return tuple(
        Change(name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )
