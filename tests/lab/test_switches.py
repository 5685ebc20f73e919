"""The control file: typed, refused when it names what is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.lab.switches import Switches, parse_switch, read_switches, set_switches


def test_switches_are_typed_by_their_names() -> None:
    assert parse_switch("kimi-base.stuck=on") == ("kimi-base", "stuck", True)
    assert parse_switch("kimi-base.dies_after_s=3") == ("kimi-base", "dies_after_s", 3.0)
    assert parse_switch("kimi-eagle3.fault=cuda-oom") == ("kimi-eagle3", "fault", "cuda-oom")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("stuck", "expected SERVER.SWITCH=VALUE"),
        ("kimi-base.stuk=on", "'stuk' is no switch"),
        ("kimi-base.stuck=1", "expected on or off"),
        ("kimi-base.slow_rank=x", "invalid literal"),
        ("kimi-base.fault=nothing", "'nothing' is no fault"),
        ("kimi-base.load=tepid", "warm or cold"),
    ],
)
def test_a_wrong_switch_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_switch(text)
    assert says in str(caught.value)


def test_changes_are_merged_and_servers_kept_apart(tmp_path: Path) -> None:
    set_switches(tmp_path, "a", stuck=True)
    set_switches(tmp_path, "a", slow_rank=3)
    set_switches(tmp_path, "b", load="cold")
    assert read_switches(tmp_path, "a") == Switches(stuck=True, slow_rank=3)
    assert read_switches(tmp_path, "b") == Switches(load="cold")
    assert read_switches(tmp_path, "c") == Switches()
    set_switches(tmp_path, "a", stuck=False, slow_rank=-1)
    assert json.loads((tmp_path / "control.json").read_text()) == {"a": {}, "b": {"load": "cold"}}


def test_an_unknown_name_in_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "control.json").write_text('{"a": {"stuk": true}}')
    with pytest.raises(ValueError) as caught:
        read_switches(tmp_path, "a")
    assert "'stuk' is no switch" in str(caught.value)
