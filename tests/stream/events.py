"""Any event of any kind, for property tests: made from the fields' own types."""

from __future__ import annotations

import types
from dataclasses import fields
from enum import StrEnum
from typing import Any, NewType, Union, cast, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from console.model.mask import Masks
from console.model.text import clean
from console.stream.events import KINDS, Event
from console.stream.server_events import LogAdvanced, LogMarked, MetricSeen

_MASKS = Masks()
NAMES = st.sampled_from(["kimi-base", "kimi-eagle3", "gpu8", "ü 名"])
TEXTS = st.text(max_size=30).map(lambda text: clean(text, _MASKS))
INTS = st.integers(0, 2**53)
FLOATS = st.floats(allow_nan=False)


def _of(hint: object, name: str) -> st.SearchStrategy[Any]:
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    if get_origin(hint) in (Union, types.UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        return st.none() | _of(inner[0], name)
    if get_origin(hint) is tuple:
        inner_hint = get_args(hint)[0]
        if get_origin(inner_hint) is tuple:
            values = _of(get_args(inner_hint)[1], name)
            table = st.dictionaries(TEXTS, values, max_size=4)
            return table.map(lambda found: tuple(found.items()))
        return st.lists(_of(inner_hint, name), max_size=4).map(tuple)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    if hint is bool:
        return st.booleans()
    if hint is int:
        return INTS
    if hint is float:
        return FLOATS
    if name in ("server", "host", "log", "bench", "act"):
        return NAMES.map(lambda text: clean(text, _MASKS))
    return TEXTS


def of_kind(kind: str) -> st.SearchStrategy[Event]:
    """Any event of one kind, not yet stamped."""
    cls = KINDS[kind]
    hints = get_type_hints(cls)
    own = [field.name for field in fields(cls) if field.name not in ("seq", "t_us")]
    if cls is LogAdvanced:
        return st.builds(
            lambda log, first, lines: LogAdvanced(log, first, len(lines), lines=tuple(lines)),
            NAMES.map(lambda text: clean(text, _MASKS)),
            INTS,
            st.lists(TEXTS, max_size=5),
        )
    made = st.fixed_dictionaries({name: _of(hints[name], name) for name in own})
    if cls is MetricSeen:
        made = made.map(lambda values: {**values, "since": 0})  # others only stand in files
    return made.map(lambda values: cast("Event", cls(**values)))


def any_event() -> st.SearchStrategy[Event]:
    """Any event a session may hold; log marks are written by the recorder alone."""
    return st.sampled_from([k for k in KINDS if KINDS[k] is not LogMarked]).flatmap(of_kind)
