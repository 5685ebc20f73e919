from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.span import fit_end, width


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        (40, "/var/log/models/kimi/server.log"),
        (31, "/var/log/models/kimi/server.log"),
        (30, "…/log/models/kimi/server.log"),
        (20, "…/kimi/server.log"),
        (12, "…/server.log"),
        (11, "…server.log"),
        (5, "….log"),
        (1, ""),
    ],
)
def test_the_end_of_a_path_stays_in_whole_folders(cells: int, kept: str) -> None:
    assert fit_end("/var/log/models/kimi/server.log", cells) == kept


@given(st.text(max_size=40), st.integers(0, 50))
def test_what_is_kept_fits_and_is_the_end(text: str, cells: int) -> None:
    kept = fit_end(text, cells)
    assert width(kept) <= cells or kept == text
    assert kept == text or text.endswith(kept.removeprefix("…"))
