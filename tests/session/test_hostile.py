"""A session file from a stranger: whatever its bytes, it is told in words, within bounds."""

from __future__ import annotations

import contextlib
import io
import itertools
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.cli import main
from console.model.clock import ManualClock
from console.model.exits import Exit
from console.model.fleet import LogId
from console.model.mask import Masks
from console.session.blocks import PATIENCE, SCHEMA_LINE, block
from console.session.journal import MOST_NAMES, Journal
from console.session.journal_logs import JournalLogs
from console.session.player import Player
from console.stream.codec import KIND_OF, encode
from console.stream.logs import last_lines
from console.stream.timeline import Timeline
from tests.stream.events import any_event

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "sample_sessions" / "scripts" / "check.toml"
_NUMBERS = itertools.count()
SLOW_INPUT = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
KINDS = (
    "note",
    "log",
    "seek",
    "opened",
    "health",
    "env",
    "gap",
    "run",
    "metric",
    "nosuch",
    "clock",
)
KEYS = (
    *("server", "log", "text", "facts", "lines", "first", "count", "utc", "figures", "values"),
    *("path", "wait_us", "code", "at", "span", "gap", "fleet", "writer", "origin", "completeness"),
    *("source", "bench", "run", "failure", "decode_tok_s"),
)
VALUES = st.sampled_from(
    [
        *('""', '"base"', '"\\u001b]52;c;eA==\\u0007"', "-1", "0", "9223372036854775807"),
        *("0x" + "f" * 6000, "9" * 5000, "1e999", "nan", "[]", "{}", '["a", 1]', "[\n]"),
        *("[" * 300 + "]" * 300, "true", "2026-02-24", '{ a = "b" }', "{ a = 1e308 }"),
        *('["[[note]]\\nseq = 1"]', '["note = 5"]', '["[note]\\n"]', '"\\ud800"', '"a', "="),
        '"2026-02-24T16:48:30.000000Z"',
        '"9999-12-31T23:59:59.000000Z"',
    ]
)
STAMPS = st.sampled_from([0, 1, 2, 10**6, 10**12, 10**18 - 1])


@st.composite
def any_block(draw: st.DrawFn) -> bytes:
    """A block with sound sum whose body may be anything."""
    stamp = f"seq = {draw(STAMPS)}\nt_us = {draw(STAMPS)}\n"
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=6))
    body = stamp + "".join(f"{key} = {draw(VALUES)}\n" for key in keys)
    return block(draw(st.sampled_from(KINDS)), body)


@st.composite
def near_block(draw: st.DrawFn) -> bytes:
    """A real event, stamped anyhow, perhaps with one value that does not belong there."""
    event = replace(draw(any_event()), seq=draw(STAMPS), t_us=draw(STAMPS))
    lines = encode(event).splitlines(keepends=True)
    if draw(st.booleans()):
        place = draw(st.integers(2, max(2, len(lines) - 1)))
        key = lines[place].partition(" = ")[0] if place < len(lines) else "text"
        lines[place : place + 1] = [f"{key} = {draw(VALUES)}\n"]
    return block(KIND_OF[type(event)], "".join(lines))


LISTED = block(
    "server",
    'seq = 1\nt_us = 0\nserver = "kimi-base"\nhost = "h"\nslot = "s"\nport = 1\n'
    'arm = "baseline"\nengine = "sglang"\nurl = "http://localhost:1"\n',
)
ANY_FILE = st.lists(near_block() | any_block() | st.binary(max_size=60), min_size=1, max_size=12)


def quietly(*arguments: str | Path) -> tuple[int, str]:
    """Run a subcommand; its code and all its text. Whatever it raises is a failure of the test."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue()


@settings(max_examples=60, suppress_health_check=SLOW_INPUT)
@given(parts=ANY_FILE)
def test_no_bytes_after_the_header_give_a_traceback(tmp_path: Path, parts: list[bytes]) -> None:
    path = tmp_path / f"h{next(_NUMBERS)}.toml"
    path.write_bytes(SCHEMA_LINE + LISTED + b"".join(parts))
    for arguments in (
        ("session", "info", path),
        ("session", "info", path, "--json"),
        ("session", "export", path),
        ("session", "export", path, "--as", "jsonl"),
        ("session", "export", path, "--as", "csv"),
        ("session", "export", path, "--as", "svg"),
        ("session", "to-script", path),
        ("session", "diff", path, path),
        ("session", "scrub", path, tmp_path / f"n{next(_NUMBERS)}.toml", "--redact", "strict"),
        ("--script", CHECK, "--replay", path),
    ):
        code, text = quietly(*arguments)
        assert code in (Exit.OK, Exit.ASSERTION, Exit.STEP, Exit.UNREACHABLE, Exit.DEADLINE)
        assert not [char for char in text if ord(char) < 32 and char not in "\n\t"]


@settings(max_examples=60, suppress_health_check=SLOW_INPUT)
@given(parts=ANY_FILE, data=st.data())
def test_the_player_goes_anywhere_in_any_file(
    tmp_path: Path, parts: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path / f"p{next(_NUMBERS)}.toml"
    path.write_bytes(
        SCHEMA_LINE + block("note", 'seq = 1\nt_us = 1\ntext = ""\n') + b"".join(parts)
    )
    journal = Journal(path)
    timeline = Timeline(ManualClock(), logs=JournalLogs(journal))
    player = Player(journal, timeline.take, timeline.played_to)
    for _ in range(4):
        player.seek(data.draw(st.integers(-1, 10**18)))
        player.step(data.draw(st.sampled_from([-1, 1])))
    player.seek(0)
    player.advance(player.length_us)
    assert player.at_end
    assert all(0 <= at_us <= player.length_us for at_us, _ in player.notches())
    for name in timeline.state.logs:
        last_lines(timeline.logs, LogId(name), 10, timeline.state.logs[name].mark.end)


def write(path: Path, *blocks: tuple[str, str]) -> Path:
    bodies = (
        block(kind, f"seq = {number + 1}\nt_us = {number}\n{body}")
        for number, (kind, body) in enumerate(blocks)
    )
    path.write_bytes(SCHEMA_LINE + b"".join(bodies))
    return path


def test_lines_promised_but_not_there_cost_nothing(tmp_path: Path) -> None:
    body = 'log = "base"\nfirst = {}\ncount = 900000000\nlines = [\n"x"\n]\n'
    path = write(tmp_path / "s.toml", *(("log", body.format(n * 10**9)) for n in range(200)))
    logs = JournalLogs(Journal(path))
    tracemalloc.start()
    found = last_lines(logs, LogId("base"), 10, 10**12)
    chunks = list(logs.chunks(LogId("base"), 0, 10**12))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == []
    assert {tuple(chunk.lines) for chunk in chunks} == {("(lines missing from the session file)",)}
    assert peak < 2_000_000


def test_names_beyond_a_bound_are_left_aside_and_said(tmp_path: Path) -> None:
    body = 'server = "s{}"\nstanding = "down"\nwhy = ""\n'
    blocks = (("standing", body.format(number)) for number in range(MOST_NAMES + 5))
    journal = Journal(write(tmp_path / "s.toml", *blocks))
    state = journal.state_before(len(journal.index))
    assert len(state.servers) == MOST_NAMES
    assert journal.losses() == ["5 blocks are sound but hold no known event"]
    assert set(journal.unreadable.values()) == {"more than 1,000 names of servers, hosts and logs"}


def test_time_never_runs_backwards_and_a_wait_always_ends(tmp_path: Path) -> None:
    note = block("note", 'seq = 2\nt_us = 900000000\ntext = "x"\n')
    health = 'server = "kimi-base"\npath = "/health"\nwait_us = 1\ncode = 503\n'
    path = tmp_path / "s.toml"
    early = block("health", f"seq = 3\nt_us = 5\n{health}")
    path.write_bytes(SCHEMA_LINE + LISTED + note + early + early)
    assert list(Journal(path).index.t_us) == [0, 900_000_000, 900_000_000, 900_000_000]
    code, text = quietly("--script", CHECK, "--replay", path)
    assert (code, "the recording ends" in text or "not within" in text) == (Exit.DEADLINE, True)


def test_blocks_beyond_a_bound_are_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.session.blocks.MOST_BLOCKS", 3)
    path = write(tmp_path / "s.toml", *(("note", 'text = "x"\n') for _ in range(5)))
    journal = Journal(path)
    assert len(journal.index) == 3
    assert "are damaged or cut" in journal.losses()[0]


def test_headers_that_lie_about_their_length_cost_no_more_than_the_file(tmp_path: Path) -> None:
    lie = b"[[note]] # %d 00000000\nseq = 1\nt_us = 1\n"
    count = 20_000
    size = count * (len(lie) + 6)
    lies = b"".join(lie % (size - n * (len(lie) + 6) - 100) for n in range(count - 100))
    good = block("note", 'seq = 1\nt_us = 1\ntext = "x"\n')
    path = tmp_path / "s.toml"
    path.write_bytes(SCHEMA_LINE + good + lies)
    index = Journal(path).index
    assert len(index) == 1
    assert index.in_vain <= (PATIENCE + 1) * path.stat().st_size
    assert sum(damage.length for damage in index.damage) == len(lies)


def test_damage_is_counted_to_the_byte_and_kept_in_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.session.blocks.MOST_DAMAGE", 3)
    good = block("note", 'seq = 1\nt_us = 1\ntext = "x"\n')
    path = tmp_path / "s.toml"
    path.write_bytes(SCHEMA_LINE + (good + b"?!") * 9)
    index = Journal(path).index
    assert (len(index), len(index.damage)) == (9, 3)
    assert sum(damage.length for damage in index.damage) == 18


def test_a_replay_opens_nothing_that_a_session_names(tmp_path: Path) -> None:
    """A session full of paths, addresses and commands: the only file opened is itself."""
    trap = tmp_path / "trap"
    server = (
        'server = "kimi-base"\nhost = "h"\nslot = "s"\nport = 1\narm = "baseline"\n'
        f'engine = "sglang"\nurl = "http://127.0.0.1:1/{trap}"\n'
    )
    path = write(
        tmp_path / "s.toml",
        ("opened", 'writer = "w"\nfleet = "f"\norigin = "live"\nutc = "x"\n'),
        (
            "server",
            server,
        ),
        (
            "log_listed",
            f'log = "kimi-base"\nserver = "kimi-base"\nplace = "{trap}; touch {trap}"\n',
        ),
        ("health", 'server = "kimi-base"\npath = "/health"\nwait_us = 1\ncode = 200\n'),
        ("log", 'log = "kimi-base"\nfirst = 0\ncount = 1\nlines = [\n"$(touch trap)"\n]\n'),
    )
    program = (
        "import sys\n"
        "opened = []\n"
        "def hook(name, arguments):\n"
        "    if name in ('open', 'socket.connect', 'socket.bind', 'subprocess.Popen',\n"
        "                'os.system', 'os.exec', 'os.posix_spawn', 'os.fork'):\n"
        "        opened.append((name, str(arguments[0])))\n"
        "from console.cli import main\n"
        "import console.control.replay, console.plain.run\n"
        "sys.addaudithook(hook)\n"
        "main(sys.argv[1:])\n"
        "for name, what in opened: print('AUDIT', name, what)\n"
    )
    command = [sys.executable, "-c", program, "--script", str(CHECK), "--replay", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    audited = [line.split(" ", 2)[1:] for line in done.stdout.splitlines() if line[:5] == "AUDIT"]
    assert ["open", str(path)] in audited
    assert {name for name, _ in audited} == {"open"}
    assert not [what for _, what in audited if "trap" in what]
    assert not trap.exists()


def test_masks_of_a_replay_hide_a_secret_from_where_it_is_learned(tmp_path: Path) -> None:
    lines = '"--api-key SuperSecret123", "again SuperSecret123"'
    body = f'log = "a"\nfirst = 0\ncount = 2\nlines = [\n{lines}\n]\n'
    logs = JournalLogs(Journal(write(tmp_path / "s.toml", ("log", body))))
    assert last_lines(logs, LogId("a"), 9, 9) == ["--api-key <masked>", "again <masked>"]
    assert Masks().mask("--api-key SuperSecret123") == "--api-key <masked>"
