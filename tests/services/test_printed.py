"""A log that a command prints goes on by time: nothing twice, and what is missing is said."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Host, LogSource
from console.model.fleet import Wire as Way
from console.services.overlap import Overlap
from console.services.resuming import resuming
from console.stream.fact import FeedState, GapKind
from console.transport.local import LocalWire
from console.transport.wires import wire_to
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil
from tests.services.following import following

PACE = replace(Pace().scaled(20), connect_deadline_s=5.0)
TOOLS = {
    "docker": ("logs", "-f", "--tail", "100", "kimi"),
    "kubectl": ("-n", "serving", "logs", "-f", "--tail=100", "pod/kimi"),
    "journalctl": ("-f", "-n", "100", "-u", "kimi"),
}
"""As an operator writes them; nothing of resuming is asked for."""

# Does what its manual says of these options with a file's lines, and refuses any other call.
STAND_IN = """#!{python}
import datetime, sys, time
NAME, words = {name!r}, sys.argv[1:]
given, rest = {{}}, []
VALUES = {{"--tail", "--since", "--since-time", "-n", "-u", "--output"}}
while words:
    name, joined, value = words.pop(0).partition("=")
    if name in VALUES:
        given[name] = value if joined else words.pop(0)
    elif name in ("-f", "--timestamps", "--no-tail"):
        given[name] = True
    else:
        rest.append(name)
wanted = {{
    "docker": (["logs", "kimi"], {{"-f", "--tail", "--timestamps", "--since"}}),
    "kubectl": (["logs", "pod/kimi"], {{"-n", "-f", "--tail", "--timestamps", "--since-time"}}),
    "journalctl": ([], {{"-f", "-n", "-u", "--output", "--since", "--no-tail"}}),
}}[NAME]
if rest != wanted[0] or set(given) - wanted[1] or "-f" not in given:
    sys.exit(f"{{NAME}}: a call that was not expected: {{sys.argv[1:]}}")
def moment(text):
    if text.startswith("@"):
        return float(text[1:])
    return datetime.datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00").timestamp()
since = given.get("--since") or given.get("--since-time") or "@0"
begin = moment(since) - 1e-6
if NAME == "kubectl":
    begin = begin // 1  # its API knows whole seconds only
tail = given.get("--tail") or (given.get("-n") if NAME == "journalctl" else None)
with open({log!r}) as file:
    lines = file.readlines()
    lines = [line for line in lines if moment(line.split(" ")[0]) >= begin]
    if tail and "--no-tail" not in given:
        lines = lines[-int(tail):]
    while True:
        for line in lines:
            bare = NAME != "journalctl" and "--timestamps" not in given
            print(line.split(" ", 1)[1] if bare else line, end="", flush=True)
        line = file.readline()
        lines = [line] if line else []
        if not line:
            time.sleep(0.01)
"""


def stamped(number: int, text: str = "line") -> str:
    """A line with its time, two to the millisecond."""
    ms = number // 2
    return f"2026-02-24T17:05:{ms // 1000:02}.{ms % 1000:03}000000Z {text} {number}"


def append(path: Path, start: int, end: int) -> None:
    with path.open("a") as file:
        file.write("".join(f"{stamped(number)}\n" for number in range(start, end)))


@pytest.fixture(params=TOOLS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> LogSource:
    """A command as a person writes it, run by a stand-in that takes the real one's options."""
    name: str = request.param
    log = tmp_path / "log"
    log.touch()
    tool = tmp_path / name
    tool.write_text(STAND_IN.format(python=sys.executable, name=name, log=str(log)))
    tool.chmod(0o755)
    return LogSource(argv=(str(tool), *TOOLS[name]))


def shown(source: LogSource, number: int) -> str:
    """What of a line is to be seen: no time that the console alone asked for."""
    text = stamped(number)
    return text if "journalctl" in source.argv[0] else text.partition(" ")[2]


def killed(name: str) -> int:
    """Kill the processes that run this program; how many."""
    count = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and name.encode() in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
                count += 1
        except (FileNotFoundError, ProcessLookupError):
            continue
    return count


@pytest.mark.rig
async def test_run_again_it_goes_on_without_repeating_a_line(
    source: LogSource, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    append(log, 0, 101)
    wire = LocalWire(Host("here"))
    async with following(wire, source) as said:
        await said.until_line(shown(source, 100))
        assert killed(source.argv[0])
        await said.until_state(FeedState.CUT)
        # More than the tail that the command was begun with.
        append(log, 101, 350)
        await said.until_line(shown(source, 349))
        assert said.lines == [shown(source, number) for number in range(1, 350)]
        assert said.gap_kinds == [GapKind.INEXACT, GapKind.LINK]
        assert said.gaps[1].lost_bytes == 0
        assert "it goes on by time, " in said.gaps[1].text
        assert " lines came again and were left out" in said.gaps[1].text
        said.check_numbers()
    await wire.close()


@pytest.mark.rig
async def test_over_a_killed_link_it_goes_on_by_time(
    sshd: Sshd, source: LogSource, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    append(log, 0, 50)
    host = Host("box", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config))
    wire = wire_to(host, SystemClock(), PACE, Nobody())
    async with following(wire, source) as said:
        for turn in range(3):
            last = 50 + turn * 50 - 1
            await said.until_line(shown(source, last))
            sshd.kill_sessions()
            await said.until_state(FeedState.CUT, count=turn + 1)
            append(log, last + 1, last + 51)
        await said.until_line(shown(source, 199))
        assert said.lines == [shown(source, number) for number in range(200)]
        assert said.gap_kinds == [GapKind.INEXACT] + 3 * [GapKind.LINK]
    await wire.close()


@pytest.mark.rig
async def test_what_the_command_no_longer_has_is_said_to_be_missing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    argv = ("sh", "-c", f"cat {log}; exec sleep 4321.{os.getpid()}")
    append(log, 0, 3)
    wire = LocalWire(Host("here"))
    source = LogSource(argv=argv, resume=("{rfc3339}",))
    async with following(wire, source) as said:
        await said.until_line(stamped(2))
        log.write_text("")
        append(log, 10, 12)
        assert killed(f"4321.{os.getpid()}")
        await said.until_line(stamped(11))
        assert said.lines == [stamped(number) for number in (0, 1, 2, 10, 11)]
        assert said.gaps[1].lost_bytes is None
        assert "its last line did not come again" in said.gaps[1].text
    await wire.close()


@pytest.mark.rig
async def test_a_command_that_ends_with_nothing_new_says_nothing_in_the_log(
    source: LogSource, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    append(log, 0, 5)
    wire = LocalWire(Host("here"))
    async with following(wire, source) as said:
        await said.until_line(shown(source, 4))
        for turn in range(3):
            await auntil(lambda: killed(source.argv[0]))
            await said.until_state(FeedState.CUT, count=turn + 1)
            await said.until_state(FeedState.FOLLOWING, count=turn + 2)
        assert said.gap_kinds == [GapKind.INEXACT]
        append(log, 5, 6)
        await said.until_line(shown(source, 5))
        assert said.gap_kinds == [GapKind.INEXACT, GapKind.LINK]
        assert said.lines == [shown(source, number) for number in range(6)]
    await wire.close()


@pytest.mark.parametrize(
    ("argv", "first", "again"),
    [
        (
            "docker logs -f --tail 200 kimi",
            "docker logs -f --tail 200 kimi --timestamps",
            "docker logs -f kimi --timestamps --since={rfc3339}",
        ),
        (
            "sudo -n podman logs -ft -n50 --since 1h kimi",
            "sudo -n podman logs -ft -n50 --since 1h kimi",
            "sudo -n podman logs -ft kimi --since={rfc3339}",
        ),
        (
            "/usr/bin/docker compose logs -f kimi",
            "/usr/bin/docker compose logs -f kimi --timestamps",
            "/usr/bin/docker compose logs -f kimi --timestamps --since={rfc3339}",
        ),
        (
            "kubectl -n serving logs -f --since=1h pod/kimi",
            "kubectl -n serving logs -f --since=1h pod/kimi --timestamps",
            "kubectl -n serving logs -f pod/kimi --timestamps --since-time={rfc3339}",
        ),
        (
            "journalctl -fu kimi -n 500",
            "journalctl -fu kimi -n 500 --output=short-iso-precise",
            "journalctl -fu kimi --output=short-iso-precise --no-tail --since=@{epoch}",
        ),
        (
            "docker exec box journalctl -f -o short-iso --lines=9",
            "docker exec box journalctl -f -o short-iso --lines=9",
            "docker exec box journalctl -f -o short-iso --no-tail --since=@{epoch}",
        ),
        ("journalctl -f -o cat", "journalctl -f -o cat", ""),
        ("tail -F docker logs.txt", "tail -F docker logs.txt", ""),
    ],
)
def test_what_is_known_of_the_tools(argv: str, first: str, again: str) -> None:
    known = resuming(LogSource(argv=tuple(argv.split())))
    assert (" ".join(known.argv), " ".join(known.again)) == (first, again)
    assert known.is_stamped == ("--timestamps" in first and "--timestamps" not in argv)


def test_the_fleet_file_is_obeyed_before_what_is_known() -> None:
    source = LogSource(argv=("docker", "logs", "-f", "x"), resume=("--since", "{epoch}"))
    known = resuming(source)
    assert known.argv == source.argv
    assert known.again == (*source.argv, "--since", "{epoch}")
    assert not known.is_stamped


def test_a_time_that_nobody_asked_for_is_not_shown() -> None:
    overlap = Overlap(is_stamped=True)
    at = b"2026-02-24T17:05:00.123456789Z"
    data = b"\n".join(
        [
            at + b" [2026-02-24 17:05:00 TP0] x",
            b"kimi-1  | " + at + b" 2026-02-24T17:05:00Z own",
            b"[pod/kimi/main] " + at + b" y",
            b"Error: no stamp at 2026-02-24T17:05:00Z",
            at + b" ",
            b"",
        ]
    )
    assert overlap.take(data).split(b"\n") == [
        b"[2026-02-24 17:05:00 TP0] x",
        b"kimi-1  | 2026-02-24T17:05:00Z own",
        b"[pod/kimi/main] y",
        b"Error: no stamp at 2026-02-24T17:05:00Z",
        b"",
        b"",
    ]
    long = Overlap(is_stamped=True)
    kept = b"".join(long.take(part) for part in (at + b" " + b"x" * 70_000, b"y" * 70_000, b"z\n"))
    assert kept == b"x" * 70_000 + b"y" * 70_000 + b"z\n"


def again(overlap: Overlap, data: bytes, cuts: list[int]) -> bytes:
    """Feed it in pieces."""
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    kept = b""
    for begin, end in zip([0, *places], [*places, len(data)], strict=True):
        kept += overlap.take(data[begin:end])
    return kept


@given(
    steps=st.lists(st.integers(0, 2), min_size=1, max_size=30),
    texts=st.lists(st.sampled_from(["a", "b", ""]), min_size=30, max_size=30),
    cut=st.integers(0, 2000),
    earlier=st.integers(0, 5),
    cuts=st.lists(st.integers(0, 5000), max_size=6),
)
def test_whatever_is_cut_where_each_line_is_kept_once(
    steps: list[int], texts: list[str], cut: int, earlier: int, cuts: list[int]
) -> None:
    moment, lines = 0, []
    for step, text in zip(steps, texts, strict=False):
        moment += step
        lines.append((moment, f"2026-02-24T17:05:00.{moment:06}Z {text}\n".encode()))
    data = b"".join(line for _, line in lines)
    first = data[: cut % (len(data) + 1)]
    overlap = Overlap()
    kept = again(overlap, first, cuts)
    whole = first.count(b"\n")
    overlap.begin()
    # As `--since` does: from the last time on, or from somewhat earlier.
    last = lines[whole - 1][0] if whole else 0
    begin = next(place for place, (at, _) in enumerate(lines) if at >= last or not whole)
    kept += again(overlap, b"".join(line for _, line in lines[max(0, begin - earlier) :]), cuts)
    assert kept == data
    assert overlap.complete


def test_lines_without_a_time_belong_to_the_one_before() -> None:
    overlap = Overlap()
    text = b"2026-02-24T17:05:00Z Traceback\n  File x\nValueError\n"
    assert overlap.take(text) == text
    overlap.begin()
    assert overlap.take(text + b"2026-02-24T17:05:01Z next\n") == b"2026-02-24T17:05:01Z next\n"
    assert (overlap.complete, overlap.left_out) == (True, 3)


def test_the_time_is_given_as_it_is_asked_for() -> None:
    overlap = Overlap()
    assert overlap.resumed(["--since", "{rfc3339}"]) == []
    overlap.take(b"[pod/kimi] 2026-02-24T18:05:41.123456789+01:00 x\n")
    assert overlap.resumed(["--since", "{rfc3339}"]) == [
        "--since",
        "2026-02-24T17:05:41.123456789Z",
    ]
    assert overlap.resumed(["--since=@{epoch}"]) == ["--since=@1771952741.123456789"]


def test_a_line_that_never_ends_is_not_held() -> None:
    overlap = Overlap()
    kept = b"".join(overlap.take(b"x" * 50_000) for _ in range(10)) + overlap.take(b"end\n")
    assert kept == b"x" * 500_000 + b"end\n"


def test_the_last_line_of_a_command_that_ended_needs_no_newline() -> None:
    overlap = Overlap()
    assert overlap.take(b"2026-02-24T17:05:00Z a\n2026-02-24T17:05:01Z b").endswith(b"a\n")
    assert overlap.finish() == b"2026-02-24T17:05:01Z b"
