"""What is remembered of each fleet's screen."""

from __future__ import annotations

import stat

import pytest

from console.store.folders import state_folder
from console.store.layout import MOST_FLEETS, load_layout, save_layout
from console.store.toml import BadFile


def test_what_is_saved_is_loaded_for_its_fleet_alone() -> None:
    kept: dict[str, str | int | bool] = {
        "server": "kimi-base",
        "quiet": 2,
        "wrap": True,
        "include": 'a "b"\n',
    }
    save_layout("kimi.toml", kept)
    save_layout("other", {"server": "x"})
    assert load_layout("kimi.toml") == kept
    assert load_layout("nobody") == {}
    path = state_folder() / "ui.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in state_folder().iterdir()] == ["ui.toml"]


def test_only_so_many_fleets_are_remembered() -> None:
    for number in range(MOST_FLEETS + 3):
        save_layout(f"fleet {number}", {"server": "x"})
    assert load_layout("fleet 2") == {}
    assert load_layout("fleet 3") == {"server": "x"}


@pytest.mark.parametrize("text", ["not toml", 'schema = "ui/9"', 'schema = "ui/1"\nfleet = 3'])
def test_what_cannot_be_read_is_never_overwritten(text: str) -> None:
    path = state_folder() / "ui.toml"
    path.write_text(text)
    with pytest.raises(BadFile):
        load_layout("kimi.toml")
    with pytest.raises(BadFile):
        save_layout("kimi.toml", {})
    assert path.read_text() == text


def test_values_of_other_kinds_are_left_out() -> None:
    (state_folder() / "ui.toml").write_text(
        'schema = "ui/1"\n[fleet.a]\nserver = "x"\nlist = [1]\nwhen = 2026-01-01\n'
    )
    assert load_layout("a") == {"server": "x"}
