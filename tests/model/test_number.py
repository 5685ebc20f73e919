"""Only what is a number is one, whatever unicode or a hostile length makes of it."""

from __future__ import annotations

import pytest

from console.model.number import whole


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
        ("9" * 5000, None),
        ("", None),
        ("¹", None),
        ("٣", None),
        ("+1", None),
        (" 1", None),
        ("1_0", None),
        ("1.0", None),
    ],
)
def test_a_whole_number(text: str, number: int | None) -> None:
    assert whole(text) == number
