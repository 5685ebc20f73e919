"""doctor: what it finds missing, how to mend it, and how it ends."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from console.command.doctor import own
from console.model.exits import Exit
from console.store import audit
from console.store.folders import keep_state_in, state_restored
from tests.command.running import Done, run
from tests.rig.disk import SmallDisk
from tests.rig.http import ScriptedHttp
from tests.rig.ports import free_port
from tests.rig.sshd import Sshd


def fleet(folder: Path, url: str, more: str = "", host: str = "local = true") -> Path:
    path = folder / "fleet.toml"
    path.write_text(
        f'schema = "fleet/1"\n[[host]]\nname = "box"\n{host}\n'
        '[[slot]]\nname = "s"\nhost = "box"\nport = 8000\n'
        '[[server]]\nname = "tiny"\nslot = "s"\narm = "baseline"\n'
        f'url = "{url}"\n{more}'
    )
    return path


def line(done: Done, *words: str) -> str:
    """The one line with all of these words, and the mend below it."""
    lines = done.out.splitlines()
    (place,) = [n for n, text in enumerate(lines) if all(word in text for word in words)]
    return "\n".join(lines[place : place + 2])


def test_all_that_is_there(
    scripted_http: ScriptedHttp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "server.log"
    log.write_text("hello\n")
    path = fleet(tmp_path, scripted_http.url, f'log = "{log}"\n')
    done = run(capsys, "doctor", "--fleet", path)
    assert done.code == Exit.OK, done.out
    assert line(done, "ok", "box", "local", "reached")
    assert line(done, "ok", "box", "tools", "all there to follow logs")
    assert line(done, "ok", "here", "state", str(tmp_path / "state"))
    assert line(done, "ok", "tiny", "log", str(log))
    assert "MISSING" not in done.out


def test_what_is_missing_is_told_with_how_to_mend_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TINY_KEY", raising=False)
    url = f"http://127.0.0.1:{free_port()}"
    path = fleet(tmp_path, url, 'log = "/no/such.log"\napi_key_env = "TINY_KEY"\n')
    done = run(capsys, "doctor", "tiny", "--fleet", path)
    assert done.code == Exit.UNREACHABLE
    assert "-> is the server up" in line(done, "MISSING", "tiny", "answers", "refused")
    assert "-> correct the path" in line(done, "MISSING", "tiny", "log", "does not exist")
    assert "-> export TINY_KEY" in line(done, "MISSING", "tiny", "api key", "TINY_KEY is not set")


def test_a_missing_log_alone_ends_with_3(
    scripted_http: ScriptedHttp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = fleet(tmp_path, scripted_http.url, 'log = "/no/such.log"\n')
    assert run(capsys, "doctor", "--fleet", path).code == Exit.STEP


def test_a_host_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "ssh_config"
    config.write_text(f"Host gone\n  HostName 127.0.0.1\n  Port {free_port()}\n")
    host = f'ssh = "gone"\nssh_config = "{config}"'
    done = run(capsys, "doctor", "--fleet", fleet(tmp_path, "http://127.0.0.1:1", host=host))
    assert done.code == Exit.UNREACHABLE
    assert "-> nothing listens there" in line(done, "MISSING", "box", "ssh gone", "refused")
    assert "tiny" not in done.out


def test_a_host_key_that_nobody_accepted(
    sshd: Sshd, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sshd.forget_host()
    host = f'ssh = "{sshd.alias}"\nssh_config = "{sshd.ssh_config}"'
    done = run(capsys, "doctor", "--fleet", fleet(tmp_path, "http://127.0.0.1:1", host=host))
    assert done.code == Exit.UNREACHABLE
    assert "SHA256:" in line(done, "MISSING", "box", "host key unknown")


def test_over_ssh_all_tools_are_looked_for(
    sshd: Sshd, scripted_http: ScriptedHttp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = f'ssh = "{sshd.alias}"\nssh_config = "{sshd.ssh_config}"'
    done = run(capsys, "doctor", "--fleet", fleet(tmp_path, scripted_http.url, host=host))
    assert done.code == Exit.OK, done.out
    assert line(done, "ok", "box", f"ssh {sshd.alias}", "reached")
    assert line(done, "ok", "box", "python3")
    assert "-> name one: log" in line(done, "note", "tiny", "log", "none in the fleet file")


def test_a_tool_that_is_missing(
    scripted_http: ScriptedHttp,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "uname", "cat", "head", "tail", "dd", "wc", "sleep"):
        (tools / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tools))
    done = run(capsys, "doctor", "--fleet", fleet(tmp_path, scripted_http.url))
    assert done.code == Exit.STEP
    assert line(done, "MISSING", "box", "tools", "missing: stat")
    assert "for benchmarks" in line(done, "note", "box", "python3", "not there")


def test_a_state_folder_that_cannot_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").write_text("in the way")
    done = run(capsys, "doctor")
    assert done.code == Exit.STEP
    assert "SPEC_CONSOLE_STATE" in line(done, "MISSING", "here", "state")
    assert line(done, "MISSING", "fleet", "no fleet.toml found")


def test_an_unknown_server_names_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run(capsys, "doctor", "tinny", "--fleet", fleet(tmp_path, "http://127.0.0.1:1"))
    assert done.code == Exit.USAGE
    assert done.err == 'spec-console: no server "tinny" (did you mean "tiny"?)\n'


def test_a_state_folder_without_room_is_told_before_it_matters(tmp_path: Path) -> None:
    with SmallDisk(tmp_path) as disk, state_restored():
        keep_state_in(disk.seen)
        state = own()[0]
        assert (state.name, state.good, state.code) == ("state", None, Exit.OK)
        assert state.told.endswith(" MiB are left")
        disk.fill()
        state = own()[0]
        assert (state.good, state.code) == (False, Exit.STEP)
        assert state.told.endswith(": 0.0 MiB are left")
        assert state.mend.startswith("make room")


def test_an_audit_that_was_changed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert line(run(capsys, "doctor"), "ok", "here", "audit", "nothing yet")
    for number in range(3):
        path = audit.append({"act": f"a{number}", "host": "box"})
    assert line(run(capsys, "doctor"), "ok", "here", "audit", "3 lines, each follows")
    path.write_bytes(path.read_bytes().replace(b'"a1"', b'"b1"'))
    told = line(run(capsys, "doctor"), "note", "here", "audit")
    assert "line 3 of audit.jsonl does not follow from the one before it" in told
    assert "do not rely on what it says" in told
