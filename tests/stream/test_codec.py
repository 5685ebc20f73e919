"""The codec: every kind survives the round trip through TOML; bad input is refused in words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from console.model.failure import Failure
from console.model.mask import Masks
from console.model.text import clean
from console.stream import events
from console.stream.codec import KIND_OF, NotAnEvent, decode, encode, quote
from console.stream.events import KINDS
from console.stream.server_events import HealthSeen, MetricSeen
from tests.stream.events import of_kind

MASKS = Masks()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data(), seq=st.integers(1, 2**53), t_us=st.integers(0, 2**53))
def test_every_kind_survives_the_round_trip(
    kind: str, data: st.DataObject, seq: int, t_us: int
) -> None:
    event = replace(data.draw(of_kind(kind)), seq=seq, t_us=t_us)
    text = encode(event)
    assert text.startswith(f"seq = {seq}\nt_us = {t_us}\n")
    assert decode(kind, tomli.loads(text)) == event


def test_kinds_cover_the_union_exactly() -> None:
    assert set(KINDS.values()) == set(get_args(events.Event))
    assert len(KIND_OF) == len(KINDS)


@given(st.text())
def test_quoted_text_is_toml(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert tomli.loads(f"k = {quote(text)}") == {"k": text}


def test_written_form() -> None:
    event = HealthSeen(clean("base", MASKS), clean("/health", MASKS), 12300, 200, seq=1, t_us=5)
    assert encode(event) == (
        'seq = 1\nt_us = 5\nserver = "base"\npath = "/health"\nwait_us = 12300\ncode = 200\n'
    )
    failed = replace(event, code=None, failure=Failure.REFUSED)
    assert encode(failed).endswith('wait_us = 12300\nfailure = "refused"\n')


def test_numbers_that_are_not_finite_are_kept() -> None:
    figures = tuple((clean(k, MASKS), v) for k, v in (("a", math.inf), ("b", -math.inf)))
    event = MetricSeen(clean("s", MASKS), clean("m", MASKS), figures, seq=1)
    assert decode("metric", tomli.loads(encode(event))) == event


@pytest.mark.parametrize(
    ("kind", "table", "said"),
    [
        ("nosuch", {}, "unknown kind 'nosuch'"),
        ("health", {"seq": 1, "t_us": 1}, "health.server: missing"),
        ("health", {"seq": 1, "server": "a"}, "health.t_us: missing"),
        ("health", {"seq": "1"}, "health.seq: a whole number was expected"),
        ("health", {"seq": True}, "health.seq: a whole number was expected"),
        (
            "health",
            {"seq": 1, "t_us": 1, "server": "a", "path": 3},
            "health.path: a text was expected",
        ),
        (
            "standing",
            {"seq": 1, "t_us": 1, "server": "a", "standing": "dancing"},
            "standing.standing: 'dancing' is not a valid Standing",
        ),
        (
            "log",
            {"seq": 1, "t_us": 1, "log": "a", "first": 1, "count": 1, "lines": "x"},
            "an array",
        ),
        ("metric", {"seq": 1, "t_us": 1, "server": "a", "source": "b", "figures": [1]}, "table"),
    ],
)
def test_what_is_no_event_is_refused_in_words(
    kind: str, table: dict[str, object], said: str
) -> None:
    with pytest.raises(NotAnEvent) as caught:
        decode(kind, table)
    assert said in str(caught.value)


def test_unknown_keys_are_left_aside_and_hostile_text_is_cleaned() -> None:
    table = {"seq": 1, "t_us": 1, "text": "a\x1b]0;title\x07b", "later": 5}
    event = decode("note", table)
    assert encode(event) == 'seq = 1\nt_us = 1\ntext = "a<OSC>b"\n'
