"""Header, replay bar, notices, results, keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.failure import Failure
from console.model.fleet import Arm, Wire
from console.model.span import Spans, plain_text
from console.model.text import Clean
from console.model.verbs import VERBS
from console.render.bar import NOTCHES, bar_spans
from console.render.header import Mode, header_spans, host_spans, session_utc
from console.render.keys import key_names
from console.render.notices import NOTE_US, problem, why_no_lines
from console.render.results import NO_BENCH, NO_VERDICT, bench_lines, verdict_lines
from console.render.spans import cells
from console.stream.fact import FeedState, Link, Recording
from console.stream.host_events import HostListed, LinkChanged
from console.stream.run_events import BenchFinished, BenchStarted, RunMeasured, VerdictReached
from console.stream.server_events import LogFeedChanged
from console.stream.session_events import (
    ClockPaired,
    EventsDropped,
    Noticed,
    RecordingChanged,
    SessionOpened,
)
from console.stream.state import Bench, Host, Log, Session, State

OPENED = SessionOpened(
    Clean("w"), Clean("kimi.toml"), Clean("live"), Clean("2026-02-24T17:00:00.000000Z")
)
GPU8 = Clean("gpu8")


def up(rtt_us: int | None = None) -> Host:
    listed = HostListed(GPU8, Wire.ASYNCSSH, GPU8)
    return Host(listed, LinkChanged(GPU8, Link.UP, rtt_us=rtt_us))


def lost() -> Host:
    return Host(None, LinkChanged(GPU8, Link.LOST, Failure.LINK_LOST, Clean("no answer")))


def on(t_us: int = 0) -> RecordingChanged:
    return RecordingChanged(Recording.ON, Clean("f"), t_us=t_us)


def test_header_tells_fleet_host_recording_and_time() -> None:
    state = State(Session(OPENED, recording=on(1_000_000)), hosts={"gpu8": up(3_100)})
    told = plain_text(header_spans(state, 762_000_000, Mode(recorded_bytes=1_200_000), 120))
    assert told.startswith(" spec-console  kimi.toml   gpu8 ssh 3 ms ")
    assert told.endswith(" read-only   ● REC 00:12:41 1.2 MB   17:12:42 UTC ")
    narrow = plain_text(header_spans(state, 762_000_000, Mode(read_only=False), 80))
    assert narrow.startswith(" spec-console  kimi.toml  ")
    assert narrow.endswith(" UNLOCKED  ● REC 00:12:41  17:12 UTC ")


@pytest.mark.parametrize(
    ("session", "mode", "told"),
    [
        (Session(), Mode(), "not recorded   ? UTC"),
        (Session(OPENED, recording=on()), Mode(replay=True), "REPLAY   17:00:00 UTC"),
        (
            Session(OPENED, recording=RecordingChanged(Recording.STOPPED, Clean("f"))),
            Mode(),
            "✗ recording stopped   17:00:00 UTC",
        ),
    ],
)
def test_header_tells_what_is_recorded(session: Session, mode: Mode, told: str) -> None:
    assert told in plain_text(header_spans(State(session), 0, mode, 120))


@given(st.integers(0, 260), st.booleans())
def test_header_is_as_wide_as_asked(room: int, replay: bool) -> None:
    state = State(Session(OPENED, recording=on()), hosts={"gpu8": up(), "gpu9": lost()})
    assert cells(header_spans(state, 0, Mode(replay=replay), room)) == room


def test_hosts() -> None:
    assert plain_text(host_spans("gpu8", up())) == "gpu8 ssh up"
    assert plain_text(host_spans("gpu8", lost())) == "gpu8 ✗ link lost: link lost"
    assert plain_text(host_spans("box", Host(HostListed(GPU8, Wire.LOCAL, Clean(""))))) == (
        "box local ?"
    )


def test_utc_follows_the_last_pairing() -> None:
    paired = ClockPaired(Clean("2026-02-24T18:00:00.000000Z"), t_us=60_000_000)
    found = session_utc(State(Session(OPENED, paired)), 61_000_000)
    assert found is not None
    assert found.strftime("%H:%M:%S") == "18:00:01"
    assert session_utc(State(), 0) is None
    broken = ClockPaired(Clean("yesterday"))
    found = session_utc(State(Session(OPENED, broken)), 0)
    assert found is not None
    assert found.hour == 17


def test_bar_shows_position_and_notches() -> None:
    notches = [(0, "act"), (50, "gap"), (50, "error"), (50, "act"), (99, "marker")]
    told = plain_text(bar_spans(25_000_000, 100_000_000, 4, True, [], 60))
    leapt = plain_text(bar_spans(25_000_000, 100_000_000, 4, True, [], 60, "148 s skipped"))
    assert "» 148 s skipped " in leapt
    assert len(leapt) == len(told) == 60
    assert told.startswith(" REPLAY ▶ x4    00:00:25 ━")
    assert told.endswith(" 00:01:40")
    track = told[25:-9]
    assert track.index("●") == len(track) // 4
    told = plain_text(bar_spans(0, 100, 0.5, False, notches, 60))
    assert "‖ x0.5" in told
    assert told[25:-9][0] == "●"
    assert told[25:-9].count("▲") == 1
    assert told[25:-9][-1] == "◆"


@given(
    st.integers(0, 200),
    st.integers(0, 10**10),
    st.integers(0, 10**10),
    st.lists(st.tuples(st.integers(0, 10**10), st.sampled_from([*NOTCHES, "other"])), max_size=8),
)
def test_bar_is_as_wide_as_asked(
    room: int, now_us: int, length_us: int, notches: list[tuple[int, str]]
) -> None:
    assert cells(bar_spans(now_us, length_us, 1.0, True, notches, room)) == room


def told(spans: Spans) -> str:
    return plain_text(spans)


def test_the_most_pressing_problem_is_told() -> None:
    notice = Noticed(Clean("base"), Clean("warning"), Clean("6 variables lost"), Clean("e"))
    stopped = RecordingChanged(Recording.STOPPED, Clean("f"), Clean("disk full"))
    dropped = EventsDropped(1200, Clean("the disk is slow"))
    assert told(problem(State())) == ""
    assert told(problem(State(Session(notices=(notice,))))) == " ! base: 6 variables lost (e)"
    assert told(problem(State(Session(notices=(notice,), dropped=dropped)))) == (
        " ! 1,200 events not recorded: the disk is slow"
    )
    assert told(problem(State(Session(notices=(notice,), recording=stopped)))) == (
        " ! recording stopped: disk full"
    )
    assert told(problem(State(Session(recording=stopped), hosts={"gpu8": lost()}))) == (
        " ! gpu8: link lost: no answer"
    )
    note = replace(notice, severity=Clean("note"), text=Clean("b measures"), t_us=NOTE_US)
    noted = State(Session(notices=(notice, note)))
    assert told(problem(noted, 2 * NOTE_US - 1)) == " ! base: b measures (e)"
    assert told(problem(noted, 2 * NOTE_US)) == " ! base: 6 variables lost (e)"
    whole = replace(notice, subject=Clean("session"), remedy=Clean(""))
    assert told(problem(State(Session(notices=(whole,))))) == " ! 6 variables lost"


def test_a_host_in_trouble_is_named_where_there_is_little_room() -> None:
    calm = {f"gpu{n}": up() for n in range(9)}
    state = State(hosts={**calm, "gpu9": lost()})
    assert "gpu9 ✗ link lost" in told(header_spans(state, 0, Mode(), 80))
    assert "gpu0" not in told(header_spans(State(hosts=calm), 0, Mode(), 80))


def test_why_there_are_no_lines() -> None:
    def why(log: Log | None, host: Host | None) -> list[str]:
        return [plain_text(line) for line in why_no_lines("base", log, host)]

    assert why(None, up()) == ["base has no log in the fleet file."]
    assert why(Log(), up()) == ["the log is not read yet"]
    missing = LogFeedChanged(Clean("base"), FeedState.MISSING, why=Clean("/x: no such file"))
    assert why(Log(feed=missing), up()) == [
        "the log does not exist: /x: no such file",
        "spec-console doctor base tells which file the server writes, and what to mend.",
    ]
    assert why(Log(feed=missing), lost()) == ["gpu8: link lost: no answer"]


def test_results_say_when_there_are_none() -> None:
    assert [plain_text(line) for line in bench_lines(State())] == [NO_BENCH]
    assert [plain_text(line) for line in verdict_lines(State(), 40)] == [NO_VERDICT]


def test_results() -> None:
    started = BenchStarted(
        Clean("b"), Clean("base"), Arm.BASELINE, 1, Clean("look"), (), Clean("w")
    )
    runs = (
        RunMeasured(Clean("b"), 0, 10, 1, 99.0, warm_up=True),
        RunMeasured(Clean("b"), 1, 500, 1, 62.94),
        RunMeasured(Clean("b"), 2, None, None, None, void=Clean("busy")),
    )
    state = State(benches={"b": Bench(started, None, runs)})
    assert [plain_text(line) for line in bench_lines(state)] == [
        "● baseline base 62.9 – tok/s  running"
    ]
    ended = BenchFinished(Clean("b"), False, Clean("busy"), ())
    state = State(benches={"b": Bench(started, ended, ())})
    assert [plain_text(line) for line in bench_lines(state)] == [
        "● baseline base 0 runs  not valid"
    ]
    verdict = VerdictReached(
        Clean("a"),
        Clean("b"),
        Clean("NOT COMPARABLE"),
        Clean(""),
        reasons=(Clean("another environment"),),
    )
    assert [plain_text(line) for line in verdict_lines(State(verdicts=(verdict,)), 16)] == [
        "✗ NOT COMPARABLE",
        "! another",
        "  environment",
    ]


def test_keys() -> None:
    assert key_names("up,k") == "↑ k"
    assert key_names("ctrl+p") == "^p"
    assert key_names("shift+left,H") == "shift ← H"
    assert key_names("") == ""
    for verb in VERBS.values():
        assert "_" not in key_names(verb.key)
