"""The baselines of record on disk: what each host, model and workload has given before.

Owns `history/baselines.toml` in the state folder. It only appends; a block that cannot be read is
counted and said, and never makes the history shorter in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tomli

from console.bench.provenance import Value, decode, encode
from console.bench.record import Entry
from console.model.clock import utc_from_text, utc_text
from console.store import whole
from console.store.folders import private, state_folder
from console.stream.codec import quote

FILE = "baselines.toml"
MOST_BYTES = 16 * 1024 * 1024
MOST_ENTRIES = 200
_HEAD = "[[baseline]]\n"


@dataclass(frozen=True, slots=True)
class Key:
    """What a history is of. `workload`: hash of the request and its prompts."""

    host: str
    model: str
    workload: str


@dataclass(frozen=True, slots=True)
class History:
    """Entries of one key, oldest first, the latest 200; `lost` blocks could not be read."""

    entries: tuple[Entry, ...]
    lost: int = 0


def record_path() -> Path:
    """Where baselines are kept; its folder is created private.

    Raises:
        OSError: it cannot be created.
    """
    return private(state_folder() / "history") / FILE


def read_record(path: Path, key: Key) -> History:
    """The history of one key; empty when there is no file.

    Raises:
        OSError: there is a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - MOST_BYTES))
            raw = file.read()
    except FileNotFoundError:
        return History(())
    found, lost = [], 0
    for block in raw.decode("utf-8", "replace").split(_HEAD)[1:]:
        try:
            table = tomli.loads(block)
            entry, own = _entry(table), _key(table)
        except (ValueError, KeyError, TypeError, RecursionError):
            lost += 1
            continue
        if own == key:
            found.append(entry)
    return History(tuple(sorted(found, key=lambda entry: entry.utc)[-MOST_ENTRIES:]), lost)


def append_record(path: Path, key: Key, entry: Entry) -> None:
    """Add an entry, one write.

    Raises:
        OSError: it cannot be written.
    """
    lines = [
        f"host = {quote(key.host)}",
        f"model = {quote(key.model)}",
        f"workload = {quote(key.workload)}",
        f"utc = {quote(utc_text(entry.utc))}",
        f"decode_tok_s = {entry.decode_tok_s!r}",
        f"launch = {quote(entry.launch)}",
        f"boot = {quote(entry.boot)}",
    ]
    if entry.environment is not None:
        pairs = (f"{quote(k)} = {quote(encode(v))}" for k, v in entry.environment.items())
        lines.append(f"environment = {{ {', '.join(pairs)} }}")
    block = _HEAD + "\n".join(lines) + "\n\n"
    whole.append(path, block.encode("utf-8", "replace"))


def _key(table: dict[str, object]) -> Key:
    return Key(_text(table, "host"), _text(table, "model"), _text(table, "workload"))


def _entry(table: dict[str, object]) -> Entry:
    rate = table["decode_tok_s"]
    if not isinstance(rate, float | int) or isinstance(rate, bool) or not 0 < rate < 1e9:
        raise ValueError("no rate")
    pairs = table.get("environment")
    environment: dict[str, Value] | None = None
    if isinstance(pairs, dict):
        environment = {str(name): decode(str(text)) for name, text in pairs.items()}
    return Entry(
        utc_from_text(_text(table, "utc")),
        float(rate),
        _text(table, "launch"),
        _text(table, "boot"),
        environment,
    )


def _text(table: dict[str, object], name: str) -> str:
    value = table[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value
