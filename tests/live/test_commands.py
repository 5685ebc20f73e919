"""`run`: commands of the fleet file by name, here and through sshd; who may, what is kept of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.control.port import Outcome
from console.model.exits import Exit
from console.model.text import plain
from console.store.folders import state_folder
from tests.live.acting import acting
from tests.live.fleets import console, script_file
from tests.rig.sshd import Sshd

pytestmark = pytest.mark.rig

COMMANDS = """
[[command]]
name = "look"
host = "box"
argv = [
    "sh", "-c", "echo \\"$1\\"; printf '\\\\033]52;c;eA==\\\\007' >&2; exit 3", "look",
    "a b; touch {trap}",
]
read_only = true

[[command]]
name = "flush"
host = "box"
argv = ["touch", "{flushed}"]

[[command]]
name = "gone"
host = "box"
argv = ["/no/such/program"]
read_only = true
"""


@pytest.fixture(params=["local", "ssh"])
def through(request: pytest.FixtureRequest) -> Sshd | None:
    return request.getfixturevalue("sshd") if request.param == "ssh" else None


def fleet(folder: Path, sshd: Sshd | None, more: str = "") -> Path:
    way = "local = true"
    if sshd is not None:
        way = f'ssh = "{sshd.alias}"\nssh_config = "{sshd.ssh_config}"'
    named = COMMANDS.replace("{trap}", str(folder / "trap"))
    path = folder / "fleet.toml"
    path.write_text(
        f'schema = "fleet/1"\n[[host]]\nname = "box"\n{way}\n{more}'
        '[[slot]]\nname = "s"\nhost = "box"\nport = 1\n'
        '[[server]]\nname = "tiny"\nslot = "s"\narm = "baseline"\nurl = "http://127.0.0.1:1"\n'
        + named.replace("{flushed}", str(folder / "flushed"))
    )
    return path


async def run(path: Path, name: str, *options: str, **given: int) -> Outcome:
    async with acting(path, *options) as held:
        return await held.live.do("run", "", {"command": name, **given})


async def test_its_words_stand_as_they_are_and_what_it_says_is_safe(
    tmp_path: Path, through: Sshd | None
) -> None:
    path = fleet(tmp_path, through)
    done = await run(path, "look", expect=3)
    assert (done.exit, done.text) == (Exit.OK, "look: exit 3, 2 lines")
    trap = tmp_path / "trap"
    assert [plain(line) for line in done.lines] == [f"a b; touch {trap}", "<OSC>"]
    assert not trap.exists()
    wrong = await run(path, "look")
    assert (wrong.exit, wrong.results["code"]) == (Exit.ASSERTION, 3)
    assert wrong.text.endswith("exit 0 was expected")
    gone = await run(path, "gone")
    assert (gone.exit, gone.results["code"]) == (Exit.ASSERTION, 127)


async def test_what_changes_something_needs_leave_and_stands_in_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_STATE", str(tmp_path / "state"))
    path, flushed = fleet(tmp_path, None), tmp_path / "flushed"
    for options, said in (
        ((), "read-only: nothing on a host is changed without --apply"),
        (("--apply",), "not confirmed: --yes-target flush is missing"),
    ):
        refused = await run(path, "flush", *options)
        assert (refused.exit, refused.text) == (Exit.GUARD, f"flush refused: {said}")
    assert not flushed.exists()
    done = await run(path, "flush", "--apply", "--yes-target", "flush")
    assert (done.exit, flushed.exists()) == (Exit.OK, True)
    kept = [json.loads(line) for line in (state_folder() / "audit.jsonl").read_text().splitlines()]
    assert [(one["verb"], one["result"]) for one in kept] == [
        ("run", "requested"),
        ("run", "exit 0"),
    ]
    assert kept[0]["command"] == f"box: touch {flushed}"
    flushed.unlink()
    never = fleet(tmp_path, None, "read_only = true\n")
    refused = await run(never, "flush", "--apply", "--yes-target", "flush")
    assert "host box is read_only" in refused.text
    assert not flushed.exists()


def test_a_script_runs_them_by_name_only(tmp_path: Path) -> None:
    path = fleet(tmp_path, None)
    steps = (
        'id = "l"\nrun = { command = "look", expect = 3 }',
        '''assert = "${l.last} == '<OSC>'"''',
    )
    script = script_file(tmp_path, *steps)
    done = console(tmp_path, "--fleet", path, "--script", script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"a b; touch {tmp_path / 'trap'}\n<OSC>\n"
    dry = script_file(tmp_path, 'run = "flush"')
    done = console(tmp_path, "--fleet", path, "--script", dry, "--dry-run")
    assert f"not done: dry run; box: touch {tmp_path / 'flushed'}" in done.stderr
    unknown = script_file(tmp_path, 'run = "flsh"')
    done = console(tmp_path, "--fleet", path, "--script", unknown)
    assert done.returncode == 2
    assert (
        'run: no command is named "flsh" in the fleet file (did you mean "flush"?)' in done.stderr
    )
