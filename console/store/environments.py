"""Environments of servers on disk: the one each was last known to run well with.

Owns `history/environments.toml` in the state folder, private to its owner, one entry per server
and host. An entry that cannot be read is counted and left out; a write replaces the whole file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import tomli

from console.model.clock import utc_from_text, utc_text
from console.nccl.drift import Recorded
from console.nccl.truth import Extent
from console.store import whole
from console.store.folders import private, state_folder
from console.stream.codec import quote

FILE = "environments.toml"
MOST_BYTES = 4 * 1024 * 1024
_HEAD = "[[environment]]\n"
_TEXTS = ("boot_id", "container_id")
_TIMES = ("container_started", "process_started")

Key = tuple[str, str]
"""Host and server."""


@dataclass(frozen=True, slots=True)
class Environments:
    """What is kept by host and server; `lost` entries could not be read."""

    by_server: Mapping[Key, Recorded]
    lost: int = 0


def environments_path() -> Path:
    """Where they are kept; the folder is created private.

    Raises:
        OSError: it cannot be created.
    """
    return private(state_folder() / "history") / FILE


def read_environments(path: Path) -> Environments:
    """Everything kept; nothing where there is no file.

    Raises:
        OSError: there is a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES)
    except FileNotFoundError:
        return Environments({})
    found: dict[Key, Recorded] = {}
    lost = 0
    for block in raw.decode("utf-8", "replace").split(_HEAD)[1:]:
        try:
            table = tomli.loads(block)
            found[_text(table, "host"), _text(table, "server")] = _recorded(table)
        except (ValueError, KeyError, TypeError, RecursionError):
            lost += 1
    return Environments(found, lost)


def keep_environment(path: Path, key: Key, kept: Recorded) -> None:
    """Keep this one for a server; the others stay as they are.

    Raises:
        OSError: the file cannot be read or written.
    """
    entries = {**read_environments(path).by_server, key: kept}
    text = "".join(_block(one, recorded) for one, recorded in entries.items())
    whole.replace(path, text.encode("utf-8", "replace"))


def _block(key: Key, kept: Recorded) -> str:
    rows = [f"host = {quote(key[0])}", f"server = {quote(key[1])}"]
    rows += [f"{name} = {quote(getattr(kept, name))}" for name in _TEXTS if getattr(kept, name)]
    for name in _TIMES:
        moment = getattr(kept, name)
        if moment is not None:
            rows.append(f"{name} = {quote(utc_text(moment))}")
    rows.append(f"whole = {'true' if kept.extent is Extent.WHOLE else 'false'}")
    if kept.run_tok_s is not None:
        rows.append(f"run_tok_s = {kept.run_tok_s!r}")
    pairs = ", ".join(f"{quote(name)} = {quote(value)}" for name, value in kept.env.items())
    rows.append(f"env = {{ {pairs} }}" if pairs else "env = {}")
    return _HEAD + "\n".join(rows) + "\n\n"


def _recorded(table: dict[str, object]) -> Recorded:
    env = table["env"]
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise TypeError("env")
    rate = table.get("run_tok_s")
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, float | int)):
        raise TypeError("run_tok_s")
    return Recorded(
        env,
        Extent.WHOLE if table["whole"] is True else Extent.PARTLY,
        _text(table, "boot_id", ""),
        _text(table, "container_id", ""),
        _moment(table, "container_started"),
        _moment(table, "process_started"),
        None if rate is None else float(rate),
    )


def _text(table: dict[str, object], name: str, default: str | None = None) -> str:
    value = table[name] if default is None else table.get(name, default)
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def _moment(table: dict[str, object], name: str) -> datetime | None:
    text = _text(table, name, "")
    return utc_from_text(text) if text else None
