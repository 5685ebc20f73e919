"""A host that cannot be reached, for every command that needs one: at once exit 4 and one line
that says whose host, which way, why, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.model.ask import Ask
from console.model.clock import Clock, Pace
from console.model.exits import Exit
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport import openssh, ssh
from console.transport.remote import Connected, RemoteWire
from tests.command.running import Done, run

FAULTS = {
    Failure.REFUSED: "is sshd up",
    Failure.NO_HOST: "check HostName",
    Failure.TIMEOUT: "a firewall",
    Failure.CLOSED: "see its log on the host",
    Failure.KEY_UNKNOWN: "compare the fingerprint",
    Failure.KEY_CHANGED: "find out why first",
    Failure.AUTH: "ssh-add -l",
    Failure.CONFIG: "mend the entry of this alias",
}
COMMANDS = {
    "truth": ["env", "truth", "base"],
    "drift": ["env", "drift", "base"],
    "find": ["env", "find", "/plans", "--on", "box"],
    "bench": ["bench", "base", "--runs", "1"],
    "doctor": ["doctor", "base"],
    "probe": ["probe", "allreduce", "base"],
}
STEPS = {
    "health": "{}",
    "generate": "{}",
    "topology": "{}",
    "tail": "{}",
    "env": "{}",
    "bench": "{}",
    "probe": '"allreduce"',
    "adopt": "{}",
    "envfile": '{ file = "/x.env", env = "NCCL_PROTO=LL" }',
    "launch": "{}",
    "stop": "{}",
    "swap": "{}",
    "restart": "{}",
}
FLEET = """schema = "fleet/1"
[[host]]
name = "box"
ssh = "gpu1"
transport = "{way}"
[[slot]]
name = "all"
host = "box"
[[server]]
name = "base"
slot = "all"
arm = "baseline"
engine = "sglang"
url = "http://127.0.0.1:8000"
log = "/var/log/base.log"
recipe = {{ argv = ["/usr/bin/serve", "--port", "8000"], cwd = "/tmp" }}
"""


class Dialler:
    """Never gets in, always for the same reason."""

    asked = False

    def __init__(self, error: WireError) -> None:
        self._error = error

    async def dial(self) -> Connected:
        raise self._error

    def unused(self) -> tuple[str, ...]:
        return ()


def unreachable(monkeypatch: pytest.MonkeyPatch, kind: Failure) -> None:
    """Neither way of SSH leads to any host."""

    def wire(host: Host, clock: Clock, pace: Pace, ask: Ask) -> RemoteWire:
        del ask
        return RemoteWire(host, Dialler(WireError(kind, "it said so")), clock, pace)

    monkeypatch.setattr(ssh, "SshWire", wire)
    monkeypatch.setattr(openssh, "OpensshWire", wire)


def fleet(folder: Path, way: str) -> Path:
    path = folder / "fleet.toml"
    path.write_text(FLEET.format(way=way))
    return path


def told(done: Done) -> str:
    """The one line that says why."""
    lines = [line for line in (done.out + done.err).splitlines() if "it said so" in line]
    assert len(lines) == 1, done
    return lines[0]


@pytest.mark.parametrize("way", ["asyncssh", "openssh"])
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "doctor"])
def test_a_command_ends_at_once_with_what_where_and_what_next(
    command: str,
    way: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for kind, mend in FAULTS.items():
        unreachable(monkeypatch, kind)
        done = run(capsys, *COMMANDS[command], "--fleet", fleet(tmp_path, way))
        assert done.code == Exit.UNREACHABLE, (kind, done)
        line = told(done)
        assert ("box" if command == "find" else "base") in line
        assert line.index("it said so") < line.index(mend)
        if kind in (Failure.REFUSED, Failure.NO_HOST, Failure.TIMEOUT, Failure.CLOSED):
            assert "ssh gpu1: it said so" in line


@pytest.mark.parametrize("kind", FAULTS)
def test_the_doctor_says_what_to_do_on_a_line_of_its_own(
    kind: Failure,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    unreachable(monkeypatch, kind)
    done = run(capsys, *COMMANDS["doctor"], "--fleet", fleet(tmp_path, "asyncssh"))
    assert done.code == Exit.UNREACHABLE
    assert "ssh gpu1" in told(done)
    assert f"-> {FAULTS[kind]}" in done.out or FAULTS[kind] in done.out.split("-> ")[1]


@pytest.mark.parametrize("kind", [Failure.REFUSED, Failure.TIMEOUT, Failure.CLOSED, Failure.AUTH])
@pytest.mark.parametrize("verb", STEPS)
def test_a_step_ends_at_once_and_an_act_is_not_begun(
    verb: str,
    kind: Failure,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    unreachable(monkeypatch, kind)
    script = tmp_path / "script.toml"
    script.write_text(
        f'schema = "script/1"\nname = "x"\ntargets = ["base"]\n[[step]]\n{verb} = {STEPS[verb]}\n'
    )
    given: list[str | Path] = ["--script", script, "--fleet", fleet(tmp_path, "asyncssh")]
    done = run(capsys, *given, "--no-record", "--apply", "--yes-target", "base")
    assert done.code == Exit.UNREACHABLE, done
    (failed,) = [line for line in done.err.splitlines() if "FAILED (4)" in line]
    assert "it said so" in failed
    assert "trying again" not in done.err
