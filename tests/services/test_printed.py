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
from console.stream.fact import FeedState, GapKind
from console.transport.local import LocalWire
from console.transport.wires import wire_to
from tests.rig.sshd import Sshd
from tests.services.following import following

PACE = replace(Pace().scaled(20), connect_deadline_s=5.0)
SINCE = {
    "docker": ("--since", "{rfc3339}"),
    "kubectl": ("--since-time={rfc3339}",),
    "journalctl": ("--since=@{epoch}",),
}
# Takes the calls that the real one takes, and prints a file's lines from a time on, for ever.
STAND_IN = """#!{python}
import datetime, sys, time
NAME, WANTED = {name!r}, {wanted!r}
args = sys.argv[1:]
if args[: len(WANTED)] != WANTED or len(args) - len(WANTED) > 2:
    sys.exit(f"{{NAME}}: a call that was not expected: {{args}}")
since = " ".join(args[len(WANTED):]).partition("=")[2] or args[-1] * (len(args) > len(WANTED))
def moment(text):
    if text.startswith("@"):
        return float(text[1:])
    return datetime.datetime.fromisoformat(text[:26] + "+00:00").timestamp()
begin = moment(since) - 1e-6 if since else 0
with open({log!r}) as file:
    while True:
        line = file.readline()
        if not line:
            time.sleep(0.01)
        elif moment(line.split(" ")[0].rstrip("Z")) >= begin:
            print(line, end="", flush=True)
"""
CALLS = {
    "docker": ["logs", "-f", "--timestamps", "kimi"],
    "kubectl": ["logs", "-f", "--timestamps", "pod/kimi"],
    "journalctl": ["-f", "-u", "kimi", "-o", "short-iso-precise"],
}


def stamped(number: int, text: str = "line") -> str:
    """A line with its time, two to the millisecond."""
    ms = number // 2
    return f"2026-02-24T17:05:{ms // 1000:02}.{ms % 1000:03}000000Z {text} {number}"


def append(path: Path, start: int, end: int) -> None:
    with path.open("a") as file:
        file.write("".join(f"{stamped(number)}\n" for number in range(start, end)))


@pytest.fixture(params=["docker", "kubectl", "journalctl"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> LogSource:
    """A command in the form its documentation gives, run by a stand-in that checks the call."""
    name: str = request.param
    log = tmp_path / "log"
    log.touch()
    tool = tmp_path / name
    tool.write_text(
        STAND_IN.format(python=sys.executable, name=name, wanted=CALLS[name], log=str(log))
    )
    tool.chmod(0o755)
    return LogSource(argv=(str(tool), *CALLS[name]), resume=SINCE[name])


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
        await said.until_line(stamped(100))
        assert killed(source.argv[0])
        await said.until_state(FeedState.CUT)
        append(log, 101, 110)
        await said.until_line(stamped(109))
        assert said.lines == [stamped(number) for number in range(110)]
        assert said.gap_kinds == [GapKind.INEXACT, GapKind.LINK]
        assert said.gaps[1].lost_bytes == 0
        assert "goes on by time, 1 lines came again and were left out" in said.gaps[1].text
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
            await said.until_line(stamped(last))
            sshd.kill_sessions()
            await said.until_state(FeedState.CUT, count=turn + 1)
            append(log, last + 1, last + 51)
        await said.until_line(stamped(199))
        assert said.lines == [stamped(number) for number in range(200)]
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
