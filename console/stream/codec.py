"""The one codec between events and the flat TOML tables of a session file.

Encoders and decoders are built once per kind from its fields. Decoding treats its input as
hostile: types are checked, texts cleaned and masked again, unknown keys left aside.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from json.encoder import encode_basestring as _quote_json
from typing import Any, NewType, Union, cast, get_args, get_origin, get_type_hints

from console.model.mask import Masks
from console.model.text import clean
from console.stream.events import KINDS, Event
from console.stream.fact import Fact

KIND_OF: dict[type[Fact], str] = {cls: kind for kind, cls in KINDS.items()}
BULK = "lines"
"""The only bulk array; a block's last key."""

_EXACT = 2.0**53
_MASKS = Masks()


class NotAnEvent(ValueError):
    """A table of a session file is not an event of its kind; the text says why."""


def quote(text: str) -> str:
    """A TOML basic string. JSON's escapes are TOML's, but for DEL, which TOML forbids bare."""
    quoted = _quote_json(text)
    return quoted.replace("\x7f", "\\u007f") if "\x7f" in quoted else quoted


def encode(event: Event) -> str:
    """The body of an event's block: one `key = value` a line, absent values left out."""
    lines = []
    for name, write, default in _WRITERS[type(event)]:
        value = getattr(event, name)
        if value is None or (default is not MISSING and value == default and name != "t_us"):
            continue
        lines.append(f"{name} = {write(value)}\n")
    return "".join(lines)


def decode(kind: str, table: Mapping[str, object]) -> Event:
    """The event a parsed table says.

    Raises:
        NotAnEvent: unknown kind, missing key or wrong type.
    """
    cls = KINDS.get(kind)
    if cls is None:
        raise NotAnEvent(f"unknown kind {kind!r}")
    values: dict[str, object] = {}
    for name, read, required in _READERS[cls]:
        if name in table:
            try:
                values[name] = read(table[name])
            except (TypeError, ValueError, OverflowError) as error:
                raise NotAnEvent(f"{kind}.{name}: {error}") from error
        elif required:
            raise NotAnEvent(f"{kind}.{name}: missing")
    return cast("Event", cls(**cast("Any", values)))


def _number(value: float) -> str:
    if math.isfinite(value):
        # A whole number needs no point: every reader takes it for a figure all the same.
        return (
            str(int(value)) if value == int(value) and abs(value) < _EXACT else repr(float(value))
        )
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def _key(text: str) -> str:
    return text if text and text.isascii() and text.replace("_", "").isalnum() else quote(text)


def _table(write: Callable[[Any], str]) -> Callable[[Any], str]:
    def write_table(pairs: Any) -> str:
        # Two names that clean to the same text would make a table that no TOML reader takes.
        inside = ", ".join(f"{_key(name)} = {write(value)}" for name, value in dict(pairs).items())
        return f"{{ {inside} }}" if inside else "{}"

    return write_table


def _array(write: Callable[[Any], str]) -> Callable[[Any], str]:
    def write_array(values: Any) -> str:
        return f"[{', '.join(map(write, values))}]"

    return write_array


def _bulk(values: tuple[str, ...]) -> str:
    return "[\n" + ",\n".join(map(quote, values)) + "\n]"


def _read_int(value: object) -> int:
    if type(value) is not int:
        raise TypeError("a whole number was expected")
    return value


def _read_float(value: object) -> float:
    if type(value) not in (int, float):
        raise TypeError("a number was expected")
    return float(cast("float", value))


def _read_bool(value: object) -> bool:
    if type(value) is not bool:
        raise TypeError("true or false was expected")
    return value


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return clean(value, _MASKS)


def _read_table(read: Callable[[object], object]) -> Callable[[object], object]:
    def read_pairs(value: object) -> object:
        if not isinstance(value, dict):
            raise TypeError("an inline table was expected")
        return tuple((_read_text(name), read(part)) for name, part in value.items())

    return read_pairs


def _read_array(read: Callable[[object], object]) -> Callable[[object], object]:
    def read_parts(value: object) -> object:
        if not isinstance(value, list):
            raise TypeError("an array was expected")
        return tuple(map(read, value))

    return read_parts


Writer = Callable[[Any], str]
Reader = Callable[[object], object]


def bare(hint: object) -> object:
    """What a field's type holds, without its new name and without that it may be None."""
    while True:
        if isinstance(hint, NewType):
            hint = hint.__supertype__
        elif get_origin(hint) in (Union, types.UnionType):
            (hint,) = (part for part in get_args(hint) if part is not type(None))
        else:
            return hint


def _ways(hint: object) -> tuple[Writer, Reader]:
    """How to write and read a value of this type."""
    hint = bare(hint)
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        if get_origin(inner) is tuple:
            write, read = _ways(get_args(inner)[1])
            return _table(write), _read_table(read)
        write, read = _ways(inner)
        return _array(write), _read_array(read)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return quote, hint
    match hint:
        case _ if hint is bool:
            return (lambda value: "true" if value else "false"), _read_bool
        case _ if hint is int:
            return str, _read_int
        case _ if hint is float:
            return _number, _read_float
        case _ if hint is str:
            return quote, _read_text
        case _:
            raise TypeError(f"no codec for {hint!r}")


def _build() -> tuple[
    dict[type[Fact], list[tuple[str, Writer, object]]],
    dict[type[Fact], list[tuple[str, Reader, bool]]],
]:
    writers: dict[type[Fact], list[tuple[str, Writer, object]]] = {}
    readers: dict[type[Fact], list[tuple[str, Reader, bool]]] = {}
    for cls in KINDS.values():
        hints = get_type_hints(cls)
        own = sorted(fields(cls), key=lambda field: field.name not in ("seq", "t_us"))
        for field in own:
            write, read = _ways(hints[field.name])
            if field.name == BULK:
                write = _bulk
            default = MISSING if field.name == "seq" else field.default
            writers.setdefault(cls, []).append((field.name, write, default))
            required = field.default is MISSING or field.name in ("seq", "t_us")
            readers.setdefault(cls, []).append((field.name, read, required))
    return writers, readers


_WRITERS, _READERS = _build()
