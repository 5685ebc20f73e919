"""The fleet file that a first run writes: the console itself reads it again."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.fleet import Arm, Engine, LogSource, Recipe, Wire
from console.store.draft import Draft, drafted, valid_name, write_draft
from console.store.fleet import load_fleet, read_fleet
from console.store.toml import parse

WHOLE = Draft(
    "gpu8", 8000, "kimi-base", Arm.SPECULATIVE, "sglang", "/logs/a b.log",
    ("python3", "-m", "sglang.launch_server", '--json={"a": 1}'), "/root/work",
)  # fmt: skip


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "config" / "fleet.toml"
    write_draft(WHOLE, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    fleet = load_fleet(path)
    (host,) = fleet.hosts
    assert (host.name, host.wire, host.ssh) == ("gpu8", Wire.ASYNCSSH, "gpu8")
    (slot,) = fleet.slots
    assert (slot.name, slot.host, slot.port) == ("gpu8:8000", "gpu8", 8000)
    (server,) = fleet.servers
    assert server.name == "kimi-base"
    assert server.arm is Arm.SPECULATIVE
    assert server.engine is Engine.SGLANG
    assert server.url == "http://127.0.0.1:8000"
    assert server.log == LogSource(path="/logs/a b.log")
    assert server.recipe == Recipe(WHOLE.argv, "/root/work")


def test_a_file_that_exists_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        write_draft(WHOLE, path)
    assert path.read_text() == "mine"


def test_without_a_log_and_a_command_it_says_what_is_missing() -> None:
    text = drafted(Draft("", 8080, "tiny", Arm.BASELINE))
    fleet = read_fleet(parse(text.encode(), "fleet.toml"))
    assert fleet.hosts[0].wire is Wire.LOCAL
    assert fleet.servers[0].log is None
    assert fleet.servers[0].recipe is None
    assert '# log = "/path/on/the/host.log"    # none was found' in text


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=4),
)
def test_whatever_was_found_the_file_can_be_read(alias: str, log: str, argv: list[str]) -> None:
    alias = "x" + "".join(alias.split())
    draft = Draft(alias, 1, valid_name(alias), Arm.BASELINE, "auto", log, tuple(argv))
    fleet = read_fleet(parse(drafted(draft).encode(), "fleet.toml"))
    assert fleet.hosts[0].ssh == alias
    assert fleet.servers[0].log == LogSource(path=log)
    assert fleet.servers[0].recipe == (Recipe(tuple(argv)) if argv else None)
