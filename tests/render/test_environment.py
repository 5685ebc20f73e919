"""The truth table as text: what each source says, shapes with words, what is too wide is cut."""

from __future__ import annotations

import pytest

from console.model.palette import Role
from console.model.span import plain_text
from console.model.text import Clean
from console.nccl.truth import Verdict
from console.render.environment import (
    VERDICTS,
    basis_text,
    drift_spans,
    finding_lines,
    findings,
    findings_title,
    matter_lines,
    truth_table,
)
from console.render.spans import cells
from console.stream.fact import Completeness
from console.stream.fold import fold_all
from console.stream.server_events import CollectiveSeen, EnvDrifted, EnvRead, ProcessSeen
from console.stream.state import Server, State

NAME = Clean("kimi-base")
SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
ENGINE = {"NCCL_CUMEM_ENABLE": "0"}
ZEROED = "part of the block is zeroed: what was inherited may be missing"


def env(
    source: str, values: dict[str, str], how: Completeness = Completeness.WHOLE, why: str = ""
) -> EnvRead:
    pairs = tuple((Clean(name), Clean(value)) for name, value in values.items())
    return EnvRead(NAME, Clean(source), how, pairs, 4188, Clean(why))


def server(*events: EnvRead | CollectiveSeen | EnvDrifted | ProcessSeen) -> Server:
    return fold_all(State(), events).servers["kimi-base"]


def story(operator: dict[str, str]) -> Server:
    ranks = [env(f"rank {n}", ENGINE, Completeness.PARTLY, ZEROED) for n in range(8)]
    wanted = env("wanted", SIX, why="llring from train_plan_v4.md:212")
    told = CollectiveSeen(NAME, Clean("2.27.7"), Clean("NCCL"), Clean("refused: PCIe-only"), 412)
    tracker = env("tracker", operator | ENGINE)
    return server(wanted, env("recipe", {}), env("launcher", operator), tracker, *ranks, told)


def shown(one: Server, room: int) -> list[str]:
    table = truth_table(one, room)
    return [plain_text(line) for line in (table.heading, *table.lines)]


def test_the_night_of_the_story_at_full_width() -> None:
    lines = shown(story({}), 118)
    assert lines[0].split("  ")[0] == "VARIABLE"
    assert " ".join(lines[0].split()) == (
        "VARIABLE WANTED RECIPE LAUNCHER TRACKER RANKS 0–7 IN EFFECT"
    )
    rows = [" ".join(line.split()) for line in lines[1:]]
    assert rows[:2] == [
        "NCCL_PROTO LL – – – unreadable unset ✗ lost",
        "NCCL_ALGO Ring – – – unreadable unset ✗ lost",
    ]
    assert rows[6] == "NCCL_CUMEM_ENABLE – – – 0 0 on all 8 0 engine"
    assert len(rows) == 7


def test_restored_each_row_says_same() -> None:
    rows = [" ".join(line.split()) for line in shown(story(SIX), 118)[1:]]
    assert rows[0] == "NCCL_PROTO LL – LL LL unreadable LL ✓ same"
    assert [row.rpartition(" ")[2] for row in rows[:6]] == ["same"] * 6


@pytest.mark.parametrize("room", [40, 60, 78, 118, 198])
def test_every_line_is_exactly_as_wide_as_it_may_be(room: int) -> None:
    table = truth_table(story({}), room)
    assert {cells(line) for line in (table.heading, *table.lines)} == {room}


def test_narrow_what_decides_stays() -> None:
    heading = " ".join(shown(story({}), 78)[0].split())
    assert heading == "VARIABLE WANTED TRACKER RANKS 0–7 IN EFFECT"


def test_ranks_that_differ_are_shown_with_both_values() -> None:
    one = server(env("rank 0", {"NCCL_PROTO": "LL"}), env("rank 1", {"NCCL_PROTO": "Simple"}))
    (line,) = truth_table(one, 118).lines
    assert "LL | Simple" in plain_text(line)
    assert Role.ERROR in {span.role for span in line}


def test_without_a_wish_the_source_is_named() -> None:
    lines = shown(server(env("launcher", {"NCCL_PROTO": "LL"})), 118)
    assert lines[1].rstrip().endswith("LL  launcher")


def test_which_reading_decides_is_said() -> None:
    assert basis_text(story({})) == f"source: resource_tracker 4188 (whole); ranks: {ZEROED}"
    nobody = server(ProcessSeen(NAME, None, why=Clean("nothing listens on port 8000")))
    assert basis_text(nobody) == "nothing listens on port 8000"


def test_the_six_give_notes_only_and_the_version_is_named() -> None:
    one = story({})
    found = findings(one, State())
    assert {finding.severity.value for finding in found} == {"note"}
    assert findings_title(one) == (
        "Findings for the wanted profile llring from train_plan_v4.md:212 (NCCL 2.27.7)"
    )
    lines = finding_lines(found, 100)
    assert {cells(line) for line in lines} == {100}
    assert any("NCCL_BUFFSIZE=16777216" in plain_text(line) for line in lines)


def test_whether_it_matters_is_said_with_its_proof() -> None:
    text = " ".join(plain_text(line).strip() for line in matter_lines(story({}), 60))
    assert text == "Decode's all-reduce goes through NCCL (log line 412: refused: PCIe-only)."
    (line,) = matter_lines(server(env("launcher", {})), 118)
    assert "unknown: collective variables may not reach decode." in plain_text(line)


def test_a_drift_is_shown_until_it_is_over() -> None:
    why = Clean("container restarted 3 days ago; NCCL_PROTO lost")
    (span,) = drift_spans(server(EnvDrifted(NAME, (Clean("NCCL_PROTO"),), (), why)))
    assert span.text == f"✗ {why}"
    assert drift_spans(server(EnvDrifted(NAME, (), (), Clean("as in the last good run")))) == ()


def test_every_verdict_has_a_shape_of_its_own() -> None:
    assert set(VERDICTS) == set(Verdict)
    assert len({shape for shape, _, _ in VERDICTS.values()}) == len(VERDICTS)
