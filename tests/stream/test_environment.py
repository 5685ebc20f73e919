"""A server's environment from State: sources by precedence, drift said once, what is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from console.model.clock import utc_text
from console.model.fleet import Arm, Engine
from console.model.text import Clean
from console.nccl.drift import Recorded
from console.nccl.truth import Extent, Source, Verdict
from console.stream.drifting import drift_rule, history_of, recorded_in, recorded_now, successor
from console.stream.environment import GONE, allreduce, basis, effective, readings, table
from console.stream.events import Event
from console.stream.fact import Completeness
from console.stream.fold import fold
from console.stream.host_events import HostSeen
from console.stream.server_events import (
    ArgsSeen,
    CollectiveSeen,
    EngineSeen,
    EnvDrifted,
    EnvRead,
    ProcessSeen,
    ServerListed,
)
from console.stream.session_events import Noticed, SessionOpened
from console.stream.state import Server, State

WHOLE, PARTLY = Completeness.WHOLE, Completeness.PARTLY
NAME = Clean("s")
BEGAN = datetime(2026, 2, 24, 17, tzinfo=UTC)
SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
ENGINE = {"NCCL_CUMEM_ENABLE": "0", "NCCL_NVLS_ENABLE": "0", "SGLANG_RUN_ID": "run-1"}


def env(
    source: str,
    values: dict[str, str],
    how: Completeness = WHOLE,
    pid: int | None = 1,
    why: str = "",
) -> EnvRead:
    pairs = tuple((Clean(name), Clean(value)) for name, value in values.items())
    return EnvRead(NAME, Clean(source), how, pairs, pid, Clean(why))


def process(
    started: datetime = BEGAN, pid: int = 1, container: str = "", since: str = ""
) -> ProcessSeen:
    return ProcessSeen(NAME, pid, Clean(utc_text(started)), Clean(container), Clean(since))


def after(*events: Event) -> State:
    state = State()
    for number, event in enumerate(events, 1):
        state = fold(state, replace(event, seq=number))
    return state


def cell(*events: Event) -> Server:
    return after(*events).servers["s"]


def reading(operator: dict[str, str]) -> list[Event]:
    """A reading of an SGLang server as the real one shows itself."""
    ranks = [
        env(f"rank {n}", ENGINE, PARTLY, 10 + n, "part of the block is zeroed") for n in range(8)
    ]
    return [env("launcher", operator), env("tracker", operator | ENGINE, WHOLE, 9), *ranks]


def test_the_six_are_lost_though_the_ranks_cannot_tell() -> None:
    rows = {row.name: row for row in table(cell(env("wanted", SIX), *reading({})))}
    assert {name: rows[name].verdict for name in SIX} == dict.fromkeys(SIX, Verdict.LOST)
    assert rows["NCCL_CUMEM_ENABLE"].effect.value == "0"
    assert rows["NCCL_PROTO"].effect.by == "tracker"


def test_restored_they_are_the_same() -> None:
    rows = {row.name: row for row in table(cell(env("wanted", SIX), *reading(SIX)))}
    assert {name: rows[name].verdict for name in SIX} == dict.fromkeys(SIX, Verdict.SAME)


def test_a_plan_stands_for_a_profile_that_is_not_there() -> None:
    plan, profile = env("plan", SIX), env("wanted", {"NCCL_PROTO": "Simple"})
    for asked, verdict in (([plan], Verdict.SAME), ([plan, profile], Verdict.DIFFERS)):
        rows = {row.name: row for row in table(cell(*asked, *reading(SIX)))}
        assert rows["NCCL_PROTO"].verdict is verdict


def test_the_reading_that_decides_is_named_with_what_the_ranks_lack() -> None:
    decides, lack = basis(cell(*reading({})))
    assert decides is not None
    assert (decides.source, lack) == ("tracker", "part of the block is zeroed")


def test_the_engine_counts_where_the_environment_is_silent() -> None:
    seen = EngineSeen(NAME, Engine.SGLANG, Clean("0.5.23"), Clean(""), Clean(""))
    rows = {row.name: row for row in table(cell(seen, env("launcher", {})))}
    assert rows["NCCL_CUMEM_ENABLE"].effect.value == "0"
    asked = ArgsSeen(NAME, ((Clean("enable_symm_mem"), Clean("True")),))
    rows = {row.name: row for row in table(cell(seen, asked, env("launcher", {})))}
    assert rows["NCCL_CUMEM_ENABLE"].effect.value == "1"
    assert "NCCL_ALGO" not in rows


def test_a_log_of_yesterdays_process_is_no_evidence() -> None:
    log = env("nccl log", {"NCCL_PROTO": "LL"}, PARTLY, pid=10)
    live = [*reading({}), log]
    assert effective(cell(*live))[0]["NCCL_PROTO"] == "LL"
    gone = [env("launcher", {}, pid=2), log]
    assert "NCCL_PROTO" not in effective(cell(*gone))[0]


def test_the_home_file_is_that_of_the_version() -> None:
    files = [
        env("conf ~/.nccl.conf by passwd", {"NCCL_PROTO": "LL"}),
        env("conf ~/.nccl.conf by HOME", {"NCCL_PROTO": "Simple"}),
        env("conf /etc/nccl.conf", {"NCCL_PROTO": "LL128"}),
        env("launcher", {}),
    ]
    for version, value in (("2.27.7", "LL"), ("2.30.1", "Simple")):
        found = cell(CollectiveSeen(NAME, Clean(version)), *files)
        assert effective(found)[0]["NCCL_PROTO"] == value
        labels = [one.label for one in readings(found) if one.source is Source.CONF_FILE]
        assert labels == ["~/.nccl.conf", "/etc/nccl.conf"]


def test_what_is_gone_is_no_source() -> None:
    found = cell(*reading({}), env("rank 7", {}, Completeness.UNREADABLE, None, GONE))
    assert "rank 7" not in [one.label for one in readings(found)]


def test_the_way_of_the_all_reduce_needs_proof() -> None:
    told = CollectiveSeen(NAME, Clean(""), Clean("NCCL"), Clean("refused"), 412)
    assert (allreduce(cell(told)).line, allreduce(cell(told)).caution) == (412, "")
    args = ArgsSeen(NAME, ((Clean("enable_mscclpp"), Clean("True")),))
    assert allreduce(cell(args)).caution == "collective variables may not reach decode"
    off = ArgsSeen(NAME, ((Clean("enable_mscclpp"), Clean("False")),))
    assert allreduce(cell(off)).path.value == "unknown"


def listed() -> list[Event]:
    return [
        SessionOpened(Clean("t"), Clean("f"), Clean("live"), Clean(utc_text(BEGAN))),
        ServerListed(
            NAME, Clean("h"), Clean("a"), 1, Arm.BASELINE, Engine.SGLANG, Clean("http://x")
        ),
        HostSeen(Clean("h"), Clean("boot-1"), Clean("linux")),
    ]


KEPT = Recorded(
    SIX | {"NCCL_CUMEM_ENABLE": "0", "NCCL_NVLS_ENABLE": "0"},
    Extent.WHOLE,
    "boot-1",
    "c" * 64,
    BEGAN - timedelta(days=9),
    BEGAN - timedelta(days=9),
    90.1,
)


def conclude(state: State, rule: object = None) -> list[Event]:
    run = rule or drift_rule()
    return list(run("s", state.servers["s"], state, 60_000_000))  # type: ignore[operator]


def test_the_issues_sentence() -> None:
    since = utc_text(BEGAN - timedelta(days=3))
    state = after(
        *listed(),
        history_of(NAME, KEPT),
        *reading({}),
        process(BEGAN, container="c" * 64, since=since),
    )
    event, notice = conclude(state)
    assert isinstance(event, EnvDrifted)
    assert event.why == (
        "container restarted 3 days ago; NCCL_PROTO, NCCL_ALGO and 4 more lost"
        " since the run of 90.1 tok/s"
    )
    assert event.lost == tuple(SIX)
    assert isinstance(notice, Noticed)
    assert (notice.severity, notice.text) == ("error", event.why)


def test_a_drift_is_said_once_and_its_end_once() -> None:
    rule = drift_rule()
    lost = [*listed(), history_of(NAME, KEPT), *reading({}), process()]
    state = after(*lost)
    event, _ = conclude(state, rule)
    assert conclude(state, rule) == []
    assert conclude(after(*lost, event, *reading({}), process(pid=3))) == []
    again = after(*listed(), history_of(NAME, KEPT), event, *reading(SIX), process(pid=2))
    (over,) = conclude(again, rule)
    assert isinstance(over, EnvDrifted)
    assert (over.lost, over.changed, over.why) == ((), (), "as in the last good run")


def test_nothing_is_concluded_in_the_middle_of_a_reading() -> None:
    state = after(*listed(), history_of(NAME, KEPT), process(), env("launcher", {}))
    assert conclude(state) == []
    assert conclude(after(*listed(), *reading({}), process())) == []


def test_values_that_changed_or_came_are_told_with_both() -> None:
    new = SIX | {"NCCL_PROTO": "Simple", "NCCL_SHM_DISABLE": "1"}
    state = after(*listed(), history_of(NAME, KEPT), *reading(new), process())
    event, _ = conclude(state)
    assert isinstance(event, EnvDrifted)
    assert event.lost == ()
    assert dict(event.changed) == {
        "NCCL_PROTO": "LL → Simple",
        "NCCL_SHM_DISABLE": "unset → 1",
    }


def test_what_could_not_be_read_is_no_drift() -> None:
    ranks = [env("rank 0", {"NCCL_CUMEM_ENABLE": "0"}, PARTLY)]
    closed = env("launcher", {}, Completeness.UNREADABLE, 1, "permission denied")
    state = after(*listed(), history_of(NAME, KEPT), closed, *ranks, process())
    assert conclude(state) == []


def test_a_history_comes_back_as_it_went() -> None:
    assert recorded_in(history_of(NAME, KEPT)) == KEPT
    assert recorded_in(history_of(NAME, Recorded())) == Recorded()


def test_what_is_now_has_no_name_that_every_launch_changes() -> None:
    state = after(*listed(), *reading(SIX), process())
    now = recorded_now(state.servers["s"], state)
    assert now is not None
    assert "SGLANG_RUN_ID" not in now.env
    assert (list(now.env)[:2], now.boot_id, now.process_started) == (
        ["NCCL_PROTO", "NCCL_ALGO"],
        "boot-1",
        BEGAN,
    )
    assert recorded_now(Server(process=ProcessSeen(NAME, None)), state) is None


def test_a_drifted_environment_is_kept_only_with_a_run_as_fast() -> None:
    now = Recorded({"NCCL_CUMEM_ENABLE": "0"}, Extent.WHOLE, "boot-1")
    assert successor(None, now, None) == now
    assert successor(KEPT, now, None) is None
    assert successor(KEPT, now, 62.9) is None
    faster = successor(KEPT, now, 95.0)
    assert faster is not None
    assert (faster.env, faster.run_tok_s) == (now.env, 95.0)
    same = successor(KEPT, KEPT, None)
    assert same is None
    later = successor(KEPT, Recorded(KEPT.env, Extent.WHOLE, "boot-2"), 80.0)
    assert later is not None
    assert (later.boot_id, later.run_tok_s) == ("boot-2", 90.1)
