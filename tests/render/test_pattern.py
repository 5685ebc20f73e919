from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.mask import Masks
from console.model.text import Clean, clean
from console.render.pattern import NotAPattern, Pattern, TooSlow


def test_case_and_words() -> None:
    line = Clean("Decode batch, decoder idle")
    assert Pattern("DECODE").found(line)
    assert not Pattern("DECODE", case=True).found(line)
    assert Pattern("decode", case=True).spans(line) == [(14, 20)]
    assert Pattern("decode", word=True).spans(line) == [(0, 6)]
    assert Pattern("batch|idle", word=True).spans(line) == [(7, 12), (22, 26)]


def test_colour_codes_are_looked_through() -> None:
    line = clean(b"\x1b[31mCUDA\x1b[0m error", Masks())
    assert Pattern("CUDA error").found(line)
    assert not Pattern(r"\[31m").found(line)


@pytest.mark.parametrize("text", ["(a", "[", "*", "(?P<1>x)", "a{2}{3}{", r"\p{Nonsense}"])
def test_what_is_no_pattern_says_why(text: str) -> None:
    try:
        Pattern(text)
    except NotAPattern as error:
        assert str(error).startswith(text)
        assert len(str(error)) > len(text) + 5
    else:
        assert text == "a{2}{3}{"  # braces that are no count stand for themselves


@pytest.mark.parametrize("text", ["(a+)+$", "(a|aa)+$", "(.*a){20}$"])
def test_a_pattern_that_backtracks_badly_is_ended(text: str) -> None:
    line = Clean("a" * 60_000 + "b")
    began = time.monotonic()
    pattern = Pattern(text)
    with pytest.raises(TooSlow) as ended:
        pattern.found(line)
    assert pattern.spans(line) == []
    assert time.monotonic() - began < 2
    assert str(ended.value) == (
        f"/{text}/ backtracks badly: over 0.1 s on a line of 60,001 characters"
    )


def test_matches_of_nothing_are_not_lifted_out_and_there_is_an_end_to_them() -> None:
    assert Pattern("x*").spans("aaxxa") == [(2, 4)]
    assert len(Pattern("a").spans("a" * 4000)) == 200


@given(st.text(max_size=20), st.text(max_size=60))
def test_spans_are_in_order_and_apart(text: str, line: str) -> None:
    try:
        spans = Pattern(text).spans(line)
    except NotAPattern:
        return
    ends = [0, *(end for _, end in spans)]
    assert all(end <= start < stop for end, (start, stop) in zip(ends, spans, strict=False))
    assert ends[-1] <= len(line)
