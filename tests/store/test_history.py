"""Load times on disk: private, append-only, bounded, and readable when a part is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.store import history
from console.store.history import PastLoad, append_load, loads_path, read_loads

UTC_TEXT = "2026-11-29T15:00:00.000000Z"
WHEN = datetime(2026, 11, 29, 15, 0, tzinfo=UTC)


def load(server: str = "base", minutes: int = 0, weights_s: float = 20.5) -> PastLoad:
    stages = (("arguments", 0.5), ("weights", weights_s), ("draft graphs (draft decode)", 3.0))
    return PastLoad("gpu8", server, WHEN + timedelta(minutes=minutes), stages)


def test_what_is_kept_is_read_again() -> None:
    path = loads_path()
    assert read_loads(path).loads == ()
    append_load(path, load("base", 1))
    append_load(path, load("spec", 0))
    found = read_loads(path)
    assert found.loads == (load("spec", 0), load("base", 1))
    assert found.of("gpu8", "base") == (load("base", 1),)
    assert found.of("gpu9", "base") == ()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@given(st.text(min_size=1), st.text(), st.floats(0, 1e6))
def test_any_name_survives(
    tmp_path_factory: pytest.TempPathFactory, a: str, b: str, s: float
) -> None:
    name, phase = (text.encode("utf-8", "replace").decode() for text in (a, b))
    path = tmp_path_factory.mktemp("history") / "loads.toml"
    kept = PastLoad(name, name, WHEN, ((phase, s),))
    append_load(path, kept)
    assert read_loads(path).loads == (kept,)


@pytest.mark.parametrize(
    "broken",
    [
        "[[load]]\nhost = 3\n",
        "[[load]]\nhost = ",
        '[[load]]\nhost = "a"\nserver = "b"\nutc = "yesterday"\nseconds = { a = 1.0 }\n',
        f'[[load]]\nhost = "a"\nserver = "b"\nutc = "{UTC_TEXT}"\nseconds = {{}}\n',
        f'[[load]]\nhost = "a"\nserver = "b"\nutc = "{UTC_TEXT}"\nseconds = {{ a = -1 }}\n',
    ],
)
def test_a_broken_block_is_counted_and_costs_itself_only(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "loads.toml"
    append_load(path, load("base", 0))
    with path.open("a") as file:
        file.write(broken + "\n")
    append_load(path, load("base", 1))
    found = read_loads(path)
    assert (len(found.loads), found.lost) == (2, 1)


def test_only_the_newest_of_a_server_count(tmp_path: Path) -> None:
    path = tmp_path / "loads.toml"
    for minutes in range(12):
        append_load(path, load("base", minutes))
    assert read_loads(path).of("gpu8", "base") == tuple(load("base", n) for n in range(4, 12))


def test_a_large_file_drops_what_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST_BYTES", 2000)
    path = tmp_path / "loads.toml"
    for minutes in range(40):
        append_load(path, load("base", minutes))
    assert path.stat().st_size < 4000
    assert read_loads(path).of("gpu8", "base")[-1] == load("base", 39)
    assert path.stat().st_mode & 0o777 == 0o600
