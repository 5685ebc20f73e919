"""`session to-script`: a night as steps that lint clean and run."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.control.replay import Replay
from console.control.script import load_script
from console.control.to_script import to_script
from console.model.clock import ManualClock
from console.model.fleet import Arm, Engine, Fleet, Host, Server, Slot
from console.model.mask import Masks
from console.session.journal import Journal
from console.stream.events import Event
from console.stream.fact import Standing
from console.stream.run_events import ActFinished, ActRequested
from console.stream.server_events import StandingChanged
from console.stream.session_events import MarkerPut, NoteWritten, StepFinished, StepStarted
from tests.command.running import ROOT, STORY, golden, run
from tests.rig.http import ScriptedHttp
from tests.session.test_journal import record
from tests.session.writing import Writing, c
from tests.stream.events import any_event

_NUMBERS = itertools.count()


def test_the_story_becomes_a_script_that_lints_clean(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "night.toml"
    assert run(capsys, "session", "to-script", STORY, "-o", path).code == 0
    golden("story.script.toml", path.read_text())
    done = run(capsys, "script", "lint", path, "--replay", STORY)
    assert (done.code, done.err) == (0, "")


def test_a_night_by_hand(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "s.toml")
    base = c("base")
    writing.emit(
        NoteWritten(c('tricky "${x.y}" \\ text')),
        StandingChanged(base, Standing.DOWN, c("connection refused")),
        ActRequested(c("a1"), c("launch_rockets"), base, c("me"), c("typed")),
    )
    writing.emit(ActFinished(c("a1"), c("failed"), c("no fuel")), after_s=5)
    writing.emit(StandingChanged(base, Standing.ALIVE, c("200")), after_s=95)
    writing.emit(StandingChanged(base, Standing.STALLED, c("no token")), after_s=9)
    writing.emit(MarkerPut(c("end")))
    assert to_script(Journal(writing.close())).splitlines()[4:] == [
        "[[step]]",
        r'note = "tricky \"$ {x.y}\" \\ text"',
        "",
        "# 00:00:00.000 launch_rockets base: no verb of scripts",
        "",
        "# 00:00:05.000 it ended: failed",
        "",
        "[[step]]",
        'id = "up1"',
        'target = "base"',
        'wait = { until = "health" }',
        'timeout = "4m"',
        "",
        "[[step]]",
        'marker = "end"',
    ]


def step(verb: str, name: str, text: str, *results: tuple[str, str], code: int = 0) -> list[Event]:
    pairs = tuple((c(key), c(value)) for key, value in results)
    where = c("" if verb == "marker" else "base")
    started = StepStarted(c(name), c(verb), where)
    inner: list[Event] = [MarkerPut(c("the mark"))] if verb == "marker" else []
    return [started, *inner, StepFinished(c(name), c(verb), where, code, c(text), pairs)]


def test_a_scripted_night(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "s.toml")
    waited = ("waited_us", "100000000")
    writing.emit(
        StandingChanged(c("base"), Standing.DOWN, c("refused")),
        *step("health", "h", "/v1/health 503 in 0.004 s", ("code", "503")),
        *step("wait", "w", "log:/fired: up/: x after 1 s", waited, ("line", "x")),
        *step("wait", "w", "alive: /health 200 in 1 s after 2 s", waited, ("code", "200")),
        *step("tail", "step4", "3 lines", ("count", "3")),
        *step("marker", "m", "marked: the mark"),
        *step("assert", "a", "2 held"),
        *step("health", "bad", "/health refused", code=4),
        StandingChanged(c("base"), Standing.ALIVE, c("200")),
    )
    text = to_script(Journal(writing.close()))
    golden("scripted.toml", text)
    path = tmp_path / "out.toml"
    path.write_text(text)
    script = load_script(path, fleet("http://127.0.0.1:1"))
    assert [(s.id, s.verb, s.timeout_s) for s in script.steps] == [
        ("h", "health", 30.0),
        ("w", "wait", 240.0),
        ("w_2", "wait", 240.0),
        ("step4", "tail", 30.0),
        ("m", "marker", 30.0),
    ]
    assert script.steps[1].arguments == {"until": "log:/fired: up/"}


def fleet(url: str) -> Fleet:
    server = Server("base", "box:1", Arm.BASELINE, url, Engine.SGLANG)
    return Fleet("f", (Host("box"),), (Slot("box:1", "box", port=1),), (server,))


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(events=st.lists(any_event(), min_size=1, max_size=12))
def test_any_session_becomes_a_script_that_lints_clean(tmp_path: Path, events: list[Event]) -> None:
    path = tmp_path / f"s{next(_NUMBERS)}.toml"
    record(path, events)
    journal = Journal(path)
    out = tmp_path / "out.toml"
    out.write_text(to_script(journal))
    if "[[step]]" in out.read_text():
        assert load_script(out, fleet_of(journal)).steps


def fleet_of(journal: Journal) -> Fleet:
    """Every server that any event of it names."""
    named = Replay(journal, ManualClock(), Masks()).fleet()
    names = {server.name for server in named.servers}
    for number in range(len(journal.index)):
        name = getattr(journal.event(number), "server", None)
        if name:
            names.add(str(name))
    servers = (Server(name, "s", Arm.BASELINE, "http://x") for name in sorted(names))
    return Fleet("f", servers=tuple(servers))


_FLEET = """schema = "fleet/1"
[[host]]
name = "here"
local = true
[[slot]]
name = "here:1"
host = "here"
port = {port}
[[server]]
name = "base"
slot = "here:1"
arm = "baseline"
engine = "sglang"
url = "http://127.0.0.1:{port}"
log = "{log}"
"""
_SCRIPT = """schema = "script/1"
name = "night"
targets = ["base"]
[[step]]
marker = "begin"
[[step]]
id = "up"
wait = { until = "health", every = "250ms" }
timeout = "20s"
[[step]]
health = { path = "/v1/models" }
[[step]]
id = "last"
tail = { lines = 2 }
[[step]]
id = "ready"
wait = { until = "log:/fired up/", every = "250ms" }
when = "${up.code} == 200"
[[step]]
id = "sure"
assert = ["${up.code} == ${vars.good}", "${last.count} == 2"]
[[step]]
note = "done ${up.code}"
always = true
[vars]
good = 200
"""


def live(folder: Path, script: Path, session: Path) -> list[str]:
    """Run it on a real server; what each step came to, without times."""
    command = [sys.executable, "-m", "console", "--fleet", folder / "fleet.toml"]
    command += ["--script", script, "--record", session]
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return re.findall(r"  (\S+ +\w+(?: base)?: passed)", done.stderr)


@pytest.mark.rig
def test_a_recorded_run_runs_again_to_the_same_end(
    tmp_path: Path, scripted_http: ScriptedHttp
) -> None:
    log = tmp_path / "server.log"
    log.write_text("loading\nThe server is fired up and ready to roll!\n")
    text = _FLEET.format(port=scripted_http.port, log=log)
    (tmp_path / "fleet.toml").write_text(text)
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text(_SCRIPT)
    verdicts = live(tmp_path, first, tmp_path / "a.toml")
    second.write_text(to_script(Journal(tmp_path / "a.toml")))
    again = live(tmp_path, second, tmp_path / "b.toml")
    assert len(verdicts) == 7
    assert again == verdicts
    third = to_script(Journal(tmp_path / "b.toml"))
    assert third.splitlines()[1:] == second.read_text().splitlines()[1:]
    assert 'health = { path = "/v1/models" }' in third
    assert 'note = "done ${up.code}"' in third
    assert 'assert = ["${up.code} == 200", "${last.count} == 2"]' in third
    assert 'when = "${up.code} == 200"' in third


def started(verb: str, name: str, *given: tuple[str, str], server: str = "base") -> list[Event]:
    pairs = tuple((c(key), c(value)) for key, value in given)
    where = c(server)
    return [
        StepStarted(c(name), c(verb), where, pairs),
        StepFinished(c(name), c(verb), where, 0, c("passed")),
    ]


def test_what_a_step_was_given_comes_back_as_it_was(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "s.toml")
    writing.emit(
        *started("health", "h", ("expect", "503"), ("timeout", "30s")),
        *started("health", "h", ("path", "/v1/models")),
        *started("tail", "step3", ("lines", "7")),
        *started("wait", "w", ("until", "log:/up in .* s/"), ("every", "0.25s"), ("timeout", "9s")),
        *started(
            "bench", "b", ("tokens", "64"), ("within", "0.01"), ("when.1", "${h.code} == 503")
        ),
        *started("assert", "step6", ("that.1", "${b.runs} > 2"), ("that.2", "${step3.count} == 7")),
        *started(
            "note", "n", ("text", "on ${run.date}: ${b.bench}"), ("always", "true"), server=""
        ),
    )
    text = to_script(Journal(writing.close()))
    path = tmp_path / "out.toml"
    path.write_text(text)
    steps = load_script(path, fleet("http://127.0.0.1:1")).steps
    assert [step.id for step in steps] == ["h", "h_2", "step3", "w", "b", "step6", "n"]
    assert [dict(step.arguments) for step in steps] == [
        {"expect": 503},
        {"path": "/v1/models"},
        {"lines": 7},
        {"until": "log:/up in .* s/", "every": 0.25},
        {"tokens": 64, "within": 0.01},
        {"that": ("${b.runs} > 2", "${step3.count} == 7")},
        {"text": "on ${run.date}: ${b.bench}"},
    ]
    assert steps[3].timeout_s == 9.0
    assert steps[4].when[0].text == "${h.code} == 503"
    assert steps[6].always


@pytest.mark.parametrize(
    ("verb", "given", "said"),
    [
        ("note", ("text", "${gone.code}"), 'no step before this one has the id "gone"'),
        ("wait", ("until", "forever"), '"forever" is nothing to wait for'),
        ("tail", ("lines", "[[1]]"), "a whole number was expected"),
        ("tail", ("lines", "2\n[[step]]"), "a whole number was expected"),
        ("restart", ("env", "HF_TOKEN=<masked>"), "env held a secret, which no session keeps"),
        ("plan", ("match", "NCCL_*"), '"file" is missing'),
    ],
)
def test_what_makes_no_step_is_said_and_not_written(
    tmp_path: Path, verb: str, given: tuple[str, str], said: str
) -> None:
    writing = Writing(tmp_path / "s.toml")
    writing.emit(*started(verb, "x", given), *started("health", "h"))
    lines = to_script(Journal(writing.close())).splitlines()
    assert lines[4].startswith(f"# 00:00:00.000 {verb} base: ")
    assert said in lines[4]
    assert lines.count("[[step]]") == 1


def test_an_act_by_a_key_keeps_what_was_asked_for(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "s.toml")
    given = ((c("env"), c("NCCL_ALGO=Ring -NCCL_PROTO")), (c("kill_after"), c("30s")))
    writing.emit(
        ActRequested(c("a1"), c("restart"), c("base"), c("me"), c("typed"), given),
        ActFinished(c("a1"), c("done"), c("up")),
    )
    text = to_script(Journal(writing.close()))
    assert 'restart = { env = "NCCL_ALGO=Ring -NCCL_PROTO", kill_after = "30s" }' in text
