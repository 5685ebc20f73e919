from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.render.units import (
    age,
    clock,
    clock_us,
    count,
    counted,
    duration,
    rate,
    size,
)


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0.0 ms"),
        (340, "0.3 ms"),
        (2_960, "3 ms"),
        (12_300, "12 ms"),
        (999_400, "999 ms"),
        (999_500, "1.0 s"),
        (9_940_000, "9.9 s"),
        (9_960_000, "10 s"),
        (42_000_000, "42 s"),
        (119_400_000, "119 s"),
        (120_000_000, "2 min"),
        (360_000_000, "6 min"),
        (7_500_000_000, "2 h 5 min"),
        (10_800_000_000, "3 h"),
        (200_000_000_000, "2 d"),
        (-42_000_000, "-42 s"),
    ],
)
def test_duration(us: int, text: str) -> None:
    assert duration(us) == text


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (-5, "now"),
        (1_999_999, "now"),
        (2_000_000, "2 s ago"),
        (119_000_000, "119 s ago"),
        (120_000_000, "2 min ago"),
        (7_200_000_000, "2 h ago"),
        (172_800_000_000, "2 d ago"),
    ],
)
def test_age(us: int, text: str) -> None:
    assert age(us) == text


@given(st.integers(0, 9999 * 3600))
def test_a_position_reads_back(seconds: int) -> None:
    assert clock_us(clock(seconds * 1_000_000)) == seconds * 1_000_000


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("12:41", 761_000_000),
        ("1:02:03", 3_723_000_000),
        ("12:41.5", 761_500_000),
        (" 90 ", 90_000_000),
        ("0.25", 250_000),
        ("72:00", 4_320_000_000),
        ("", None),
        ("soon", None),
        ("12:61", None),
        ("-5", None),
        ("1:2:3:4", None),
    ],
)
def test_clock_us(text: str, us: int | None) -> None:
    assert clock_us(text) == us


@given(st.text())
def test_clock_us_never_raises(text: str) -> None:
    found = clock_us(text)
    assert found is None or found >= 0


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_234, "1.2 kB"),
        (1_200_000, "1.2 MB"),
        (99_960_000, "100 MB"),
        (2_000_000_000, "2.0 GB"),
        (3_400_000_000_000, "3.4 TB"),
    ],
)
def test_size(number: int, text: str) -> None:
    assert size(number) == text


def test_small_forms() -> None:
    assert rate(62.94) == "62.9"
    assert rate(None) == "–"
    assert count(48_112) == "48,112"
    assert counted(1, "line") == "1 line"
    assert counted(48_112, "line") == "48,112 lines"
