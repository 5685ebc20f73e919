"""Environments on disk: what is kept comes back, others stay, damage is counted."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.nccl.drift import Recorded
from console.nccl.truth import Extent
from console.store.environments import FILE, keep_environment, read_environments

KEPT = Recorded(
    {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"},
    Extent.WHOLE,
    "boot",
    "c" * 64,
    datetime(2026, 2, 1, tzinfo=UTC),
    datetime(2026, 2, 2, tzinfo=UTC),
    90.1,
)


def test_what_is_kept_comes_back_and_others_stay(tmp_path: Path) -> None:
    path = tmp_path / FILE
    assert read_environments(path).by_server == {}
    keep_environment(path, ("h", "a"), KEPT)
    keep_environment(path, ("h", "b"), Recorded())
    keep_environment(path, ("h", "a"), Recorded({"NCCL_PROTO": ""}, Extent.PARTLY))
    found = read_environments(path)
    assert found.lost == 0
    assert found.by_server == {
        ("h", "a"): Recorded({"NCCL_PROTO": ""}, Extent.PARTLY),
        ("h", "b"): Recorded(),
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == [FILE]


def test_the_order_of_the_names_is_kept(tmp_path: Path) -> None:
    keep_environment(tmp_path / FILE, ("h", "a"), KEPT)
    (found,) = read_environments(tmp_path / FILE).by_server.values()
    assert found == KEPT
    assert list(found.env) == ["NCCL_PROTO", "NCCL_ALGO"]


def test_a_damaged_entry_is_counted_and_takes_no_other_with_it(tmp_path: Path) -> None:
    path = tmp_path / FILE
    keep_environment(path, ("h", "a"), KEPT)
    whole = path.read_text()
    path.write_text(whole + "[[environment]]\nhost = 3\n\n[[environment]]\nenv = [\n\n" + whole)
    found = read_environments(path)
    assert (found.lost, found.by_server) == (2, {("h", "a"): KEPT})


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(TEXT, TEXT, max_size=5), TEXT, TEXT, st.floats(0, 1e9))
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, env: dict[str, str], host: str, boot: str, rate: float
) -> None:
    folder = tmp_path_factory.mktemp("e")
    kept = Recorded(env, Extent.WHOLE, boot, run_tok_s=rate)
    keep_environment(folder / FILE, (host, "s"), kept)
    assert read_environments(folder / FILE).by_server == {(host, "s"): kept}
