"""profiles.toml beside the fleet file, `schema = "profiles/1"`: named sets of variables, and which
set each server is wanted to run with.

A wrong file is refused with every mistake in it. Saving touches one block and leaves the rest of
the text, comments included, as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import tomli_w

from console.nccl.profile import Profile, from_dict
from console.store import whole
from console.store.toml import Document, Table, load, nearest, one_of, parse

SCHEMA = "profiles/1"
FILE = "profiles.toml"


class Unwritten(ValueError):
    """A profile was not saved; the text says why."""


@dataclass(frozen=True, slots=True)
class Profiles:
    """All profiles by name, and the name wanted of each server that has one."""

    profiles: Mapping[str, Profile] = field(default_factory=dict)
    wanted: Mapping[str, str] = field(default_factory=dict)

    def of(self, server: str) -> Profile | None:
        """The profile wanted of a server."""
        return self.profiles.get(self.wanted.get(server, ""))


def profiles_path(fleet: str | Path) -> Path:
    """Where the profiles of a fleet file lie, whether the file exists or not."""
    return Path(fleet).resolve().parent / FILE


def load_profiles(path: str | Path) -> Profiles:
    """Read the file; no profiles where there is none.

    Raises:
        BadFile: with every mistake's place.
    """
    return read_profiles(load(path)) if os.path.lexists(path) else Profiles()


def read_profiles(document: Document) -> Profiles:
    """The profiles a parsed document describes.

    Raises:
        BadFile: with every mistake's place.
    """
    top = document.top_of(SCHEMA)
    found: dict[str, Profile] = {}
    for table in top.tables("profile"):
        profile = _profile(table)
        if profile is not None and profile.name in found:
            table.complain("name", f'a second profile is named "{profile.name}"')
        elif profile is not None:
            found[profile.name] = profile
    wanted = _wanted(top, found)
    top.finish()
    document.refuse()
    return Profiles(found, wanted)


def _profile(table: Table) -> Profile | None:
    try:
        return from_dict({key: table.raw(key) for key in table.names()})
    except ValueError as error:
        key = str(error).partition(":")[0]
        table.complain(key if key in table.names() else "", str(error))
        return None


def _wanted(top: Table, profiles: Mapping[str, Profile]) -> dict[str, str]:
    table = top.table("wanted")
    found: dict[str, str] = {}
    for server in table.names() if table is not None else ():
        assert table is not None
        name = table.text(server)
        if name not in profiles:
            hint = nearest(name, profiles) or f" (known: {one_of(profiles) or 'none'})"
            table.complain(server, f'no profile is named "{name}"{hint}')
        found[server] = name
    return found


def save_profile(path: Path, profile: Profile, *, replacing: bool = False) -> None:
    """Add a profile, or put it in the place of the one of that name.

    Raises:
        BadFile: the file there is wrong.
        Unwritten: there is one of that name already, or it is no profile.
        OSError: it cannot be written.
    """
    try:
        from_dict(profile.to_dict())
    except ValueError as error:
        raise Unwritten(str(error)) from error
    if profile.name in load_profiles(path).profiles and not replacing:
        raise Unwritten(f'a profile is named "{profile.name}" already')
    plain = profile.to_dict()
    env = tomli_w.dumps({"env": plain.pop("env")}).removeprefix("[env]\n")
    block = f"[[profile]]\n{tomli_w.dumps(plain)}[profile.env]\n{env}"
    _rewrite(path, lambda document, text: _with_block(document, text, profile.name, block))


def want_profile(path: Path, server: str, name: str) -> None:
    """Write down that a server is wanted to run with a profile.

    Raises:
        BadFile: the file there is wrong.
        Unwritten: no profile has that name.
        OSError: it cannot be written.
    """
    if name not in load_profiles(path).profiles:
        raise Unwritten(f'no profile is named "{name}"')
    row = tomli_w.dumps({server: name})
    _rewrite(path, lambda document, text: _with_wanted(document, text, server, row))


def _with_block(document: Document, text: str, name: str, block: str) -> str:
    lines = _lines(text)
    tables = document.table.get("profile")
    names = [one.get("name") for one in tables] if isinstance(tables, list) else []
    if name not in names:
        return f"{text.rstrip()}\n\n{block}"
    first = document.place(("profile", names.index(name)))[0] - 1
    end = first + 1
    while end < len(lines) and not _opens_another(lines[end]):
        end += 1
    return "".join([*lines[:first], block, "\n", *lines[end:]])


def _lines(text: str) -> list[str]:
    """The lines of TOML with their ends: what else Python parts lines at may stand in a value."""
    return list(StringIO(text, newline="\n"))


def _opens_another(line: str) -> bool:
    return line.startswith("[") and not line.startswith("[profile.")


def _with_wanted(document: Document, text: str, server: str, row: str) -> str:
    lines = _lines(text)
    table = document.table.get("wanted")
    if not isinstance(table, dict):
        return f"{text.rstrip()}\n\n[wanted]\n{row}"
    if server in table:
        lines[document.place(("wanted", server))[0] - 1] = row
    else:
        lines.insert(document.place(("wanted",))[0], row)
    return "".join(lines)


def _rewrite(path: Path, change: Callable[[Document, str], str]) -> None:
    text = path.read_text("utf-8") if path.exists() else f'schema = "{SCHEMA}"\n'
    new = change(parse(text.encode(), str(path)), text)
    read_profiles(parse(new.encode(), str(path)))
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666
    whole.replace(path, new.encode(), mode)
