"""The whole lab: SSH, files, first scene, and that nothing of it is left, however it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import asyncssh
import pytest

from tests.lab.running import SCALE, Lab, lab
from tests.lab.simulated import alive, eventually


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("lab") / "private") as started:
        yield started


@pytest.fixture
async def gpu8(running: Lab) -> AsyncIterator[asyncssh.SSHClientConnection]:
    async with asyncssh.connect("gpu8", config=running.ready["ssh_config"]) as connection:
        yield connection


def test_it_says_where_everything_is_and_that_it_is_simulated(running: Lab) -> None:
    ready = running.ready
    assert ready["hosts"] == ["gpu8", "gpu9"]
    assert ready["servers"] == ["kimi-base", "kimi-eagle3"]
    assert ready["simulated"] is True
    assert ready["assumption"] == "a verify saves what a baseline forward saves"
    assert running.directory.stat().st_mode & 0o777 == 0o700
    assert (running.directory / "client_key").stat().st_mode & 0o777 == 0o600
    for name in ("ssh_config", "fleet", "plan"):
        assert Path(ready[name]).parent == running.directory


def test_the_fleet_has_one_slot_and_two_arms_with_recipes(running: Lab) -> None:
    fleet = running.fleet
    assert fleet["schema"] == "fleet/1"
    assert [host["ssh"] for host in fleet["host"]] == ["gpu8", "gpu9"]
    assert [slot["host"] for slot in fleet["slot"]] == ["gpu8"]
    arms = {server["name"]: server["arm"] for server in fleet["server"]}
    assert arms == {"kimi-base": "baseline", "kimi-eagle3": "speculative"}
    for server in fleet["server"]:
        assert server["url"] == f"http://127.0.0.1:{running.port}"
        assert set(server["recipe"]) == {"argv", "cwd", "env_file"}
        assert "NCCL" not in Path(server["recipe"]["env_file"]).read_text()


def test_the_plan_hides_the_six_settings_in_lines_212_and_213(running: Lab) -> None:
    lines = Path(running.ready["plan"]).read_text().splitlines()
    assert [number for number, line in enumerate(lines, 1) if "NCCL_" in line] == [212, 213]
    assert lines[210] == "```sh"
    assert lines[211] == "NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS NCCL_MAX_NCHANNELS=16"
    assert lines[212] == "NCCL_BUFFSIZE=16777216 NCCL_NTHREADS=512"


async def test_a_command_has_its_own_home_its_own_path_and_its_exit_code(
    gpu8: asyncssh.SSHClientConnection,
) -> None:
    done = await gpu8.run('pwd; echo "$HOME"; command -v nvidia-smi; echo oops >&2; exit 3')
    home = str(done.stdout).split()[0]
    assert str(done.stdout).split() == [home, home, home.removesuffix("home") + "bin/nvidia-smi"]
    assert done.stderr == "oops\n"
    assert done.exit_status == 3
    environment = str((await gpu8.run("env")).stdout)
    assert "NCCL" not in environment
    assert "SECRET_OF_MINE" not in environment


async def test_a_command_streams_both_ways_and_gets_signals(
    gpu8: asyncssh.SSHClientConnection,
) -> None:
    async with gpu8.create_process("trap 'echo term; exit 7' TERM; read a; echo $a; read b") as it:
        it.stdin.write("first\n")
        assert await it.stdout.readline() == "first\n"
        it.send_signal("TERM")
        assert await it.stdout.readline() == "term\n"
        assert (await it.wait()).exit_status == 7


async def test_a_closed_channel_ends_the_whole_group_of_its_command(
    gpu8: asyncssh.SSHClientConnection,
) -> None:
    process = await gpu8.create_process("sleep 300 & echo $!; echo $$; wait")
    pids = [int(await process.stdout.readline()) for _ in range(2)]
    assert all(map(alive, pids))
    process.close()
    await _eventually(lambda: not any(map(alive, pids)))


async def _eventually(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(eventually, condition, "what was waited for")


async def test_an_eleventh_session_is_refused_until_one_has_ended(
    gpu8: asyncssh.SSHClientConnection,
) -> None:
    ten = [await gpu8.create_process("cat") for _ in range(10)]
    with pytest.raises(asyncssh.ChannelOpenError) as caught:
        await gpu8.create_process("cat")
    assert caught.value.code == asyncssh.OPEN_CONNECT_FAILED
    # Forwarded connections are not sessions.
    with pytest.raises(asyncssh.ChannelOpenError):
        await gpu8.open_connection("192.0.2.1", 80)
    ten[0].stdin.write_eof()
    await ten[0].wait()
    again = await gpu8.run("echo again")
    assert again.stdout == "again\n"


async def test_http_goes_through_a_forwarded_connection(
    running: Lab, gpu8: asyncssh.SSHClientConnection
) -> None:
    reader, writer = await gpu8.open_connection("127.0.0.1", running.port)
    writer.write(b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"kimi-k2.5-simulated" in answer


def test_openssh_finds_the_hosts_too(running: Lab) -> None:
    argv = ["ssh", "-F", running.ready["ssh_config"], "-o", "BatchMode=yes", "gpu9", "echo $HOME"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("/hosts/gpu9/home\n")


async def test_the_first_scene_is_an_untuned_baseline_with_a_past(
    running: Lab, gpu8: asyncssh.SSHClientConnection
) -> None:
    logs = [server["log"] for server in running.fleet["server"]]
    base, eagle = [str((await gpu8.run(f"cat {log}")).stdout) for log in logs]
    assert "NCCL variables give 0% of the saving" in base
    rates = [float(rate) / SCALE for rate in re.findall(r"gen throughput .*?: ([\d.]+)", base)]
    assert len(rates) > 50
    assert sorted(rates)[len(rates) // 2] == pytest.approx(62.9, rel=0.02)
    spec = [float(rate) / SCALE for rate in re.findall(r"gen throughput .*?: ([\d.]+)", eagle)]
    assert sorted(spec)[len(spec) // 2] == pytest.approx(75.0, rel=0.04)
    assert "Gracefully exiting" in eagle
    days = [re.findall(r"^\[(\S+ \S+?)[ \]]", log, re.M) for log in (base, eagle)]
    assert days[0] == sorted(days[0])
    assert days[1] == sorted(days[1])
    assert days[1][-1] < days[0][0]


async def test_arms_are_swapped_by_their_recipes(
    tmp_path: Path,
) -> None:
    with lab(tmp_path / "private", "--assume", "hopeful") as started:
        async with asyncssh.connect("gpu8", config=started.ready["ssh_config"]) as gpu8:
            recipe = started.fleet["server"][1]["recipe"]
            log = started.fleet["server"][1]["log"]
            note = tmp_path / "private/hosts/gpu8/run/gpus.json"
            os.kill(json.loads(_text(note))["launcher"], signal.SIGTERM)
            await _eventually(lambda: not _listens(started.port))
            argv = " ".join(recipe["argv"])
            command = f"cd {recipe['cwd']} && NCCL_PROTO=LL nohup setsid {argv} >>{log} 2>&1 &"
            await gpu8.run(command)
            await _eventually(lambda: _text(log).count("fired up and ready to roll") == 2)
            text = _text(log)
    assert "NCCL variables give 50% of the saving; assumption hopeful" in text
    assert "cycle 27.4 ms" in text


def _text(path: str | Path) -> str:
    return Path(path).read_text()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _close(started: Lab) -> None:
    assert started.process.stdin
    started.process.stdin.close()


ENDS: dict[str, Callable[[Lab], object]] = {
    "pipe": _close,
    "SIGTERM": lambda started: started.process.send_signal(signal.SIGTERM),
    "SIGINT": lambda started: started.process.send_signal(signal.SIGINT),
    "kill -9 of the lab": lambda started: os.kill(started.ready["pid"], signal.SIGKILL),
    "kill -9 of the keeper": lambda started: started.process.kill(),
}
ROUNDS = int(os.environ.get("LAB_ROUNDS", "3"))
"""How often each end is tried; the ends that nobody means are tried a third as often."""


def _assert_gone(pids: list[int], ports: list[int], directory: Path) -> None:
    eventually(lambda: not any(map(alive, pids)), "the end of all processes")
    eventually(lambda: not directory.exists(), "no files")
    assert not [port for port in ports if _listens(port)]


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_however_it_ends(tmp_path: Path, end: str) -> None:
    for number in range(ROUNDS if end in ("pipe", "SIGTERM") else max(1, ROUNDS // 3)):
        directory = tmp_path / str(number)
        with lab(directory) as started:
            # A child that left its session and its group, as a launched server does.
            argv = ["ssh", "-F", started.ready["ssh_config"], "gpu8"]
            subprocess.run([*argv, "setsid nohup sleep 300 >/dev/null 2>&1 &"], check=True)
            eventually(partial(_has_processes, started, 14), "all processes")
            pids, ports = started.processes(), [started.port, *started.ssh_ports()]
            ENDS[end](started)
            started.process.wait(60)
            _assert_gone(pids, ports, directory)


def _has_processes(started: Lab, count: int) -> bool:
    return len(started.processes()) >= count


def test_nothing_is_left_when_its_parent_is_killed(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "lab = subprocess.Popen([sys.executable, '-m', 'console.lab', '--dir', sys.argv[1],"
        " '--scale', '40'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "print(lab.pid, lab.stdout.readline().decode(), end='', flush=True)\n"
        "lab.wait()\n"
    )
    for number in range(ROUNDS):
        directory = tmp_path / str(number)
        with subprocess.Popen(
            [sys.executable, "-c", script, str(directory)], stdout=subprocess.PIPE
        ) as parent:
            assert parent.stdout
            pid, _, line = parent.stdout.readline().decode().partition(" ")
            started = Lab(parent, json.loads(line), directory)
            pids, ports = started.processes(), [started.port, *started.ssh_ports()]
            assert int(pid) in pids
            parent.kill()
            _assert_gone(pids, ports, directory)


@pytest.mark.parametrize(
    ("extra", "code", "says"),
    [
        (("--assume", "wishful"), 2, "invalid choice: 'wishful'"),
        (("--switch", "kimi-base.stuk=on"), 1, "'stuk' is no switch"),
        (("--scale", "0"), 2, "not between 0 and 1000"),
    ],
)
def test_a_wrong_start_is_refused_in_a_sentence(
    tmp_path: Path, extra: tuple[str, ...], code: int, says: str
) -> None:
    directory = tmp_path / "private"
    argv = [sys.executable, "-m", "console.lab", "--dir", str(directory), *extra]
    done = subprocess.run(argv, stdin=subprocess.PIPE, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not directory.exists()


def test_a_directory_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    argv = [sys.executable, "-m", "console.lab", "--dir", str(tmp_path)]
    done = subprocess.run(argv, stdin=subprocess.PIPE, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert (tmp_path / "mine").read_text() == "precious"
