"""`spec-console session …`: looking, exporting, comparing, scrubbing, following."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from math import inf, nan
from pathlib import Path
from xml.etree import ElementTree

import pytest

from console.model.fleet import Arm, Engine
from console.session.journal import Journal
from console.stream.fact import Completeness
from console.stream.run_events import BenchFinished, BenchStarted, RunMeasured
from console.stream.server_events import ArgsSeen, EngineSeen, EnvRead
from console.stream.session_events import MarkerPut, NoteWritten
from tests.command.running import ROOT, STORY, golden, run
from tests.rig.waiting import until
from tests.session.writing import Writing, c

SVG = "{http://www.w3.org/2000/svg}"
Capture = pytest.CaptureFixture[str]


def test_info_tells_what_a_session_holds(capsys: Capture) -> None:
    done = run(capsys, "session", "info", STORY)
    golden("info.txt", done.out.replace(str(STORY), "story.toml"))
    assert (done.code, done.err) == (0, "")
    facts = json.loads(run(capsys, "session", "info", STORY, "--json").out)
    assert facts["origin"] == "reconstructed"
    assert len(facts["server"]) == 2


def test_the_page_of_evidence_of_the_story(capsys: Capture) -> None:
    done = run(capsys, "session", "export", STORY)
    golden("story.md", done.out)
    assert (done.code, done.err) == (0, "")


def test_the_picture_of_the_story(capsys: Capture) -> None:
    done = run(capsys, "session", "export", STORY, "--as", "svg")
    golden("story.svg", done.out)
    assert (done.code, done.err) == (0, "")
    texts = [element.text for element in ElementTree.fromstring(done.out).iter(f"{SVG}text")]
    assert {"62.9 baseline", "75.0 speculative", "90 believed, not measured"} <= set(texts)
    assert "the 90 tok/s that was believed is an assumption, not a baseline" in texts


def test_no_text_of_a_session_becomes_markup_in_its_picture(
    capsys: Capture, tmp_path: Path
) -> None:
    evil = '</text><script>alert(1)</script><a href="http://x">\x1b]52;c;eA==\x07&'
    writing = Writing(tmp_path / "s.toml")
    writing.emit(
        BenchStarted(c(evil), c(evil), Arm.BASELINE, 1, c("quick"), (), c("w")),
        *(RunMeasured(c(evil), n, decode_tok_s=rate) for n, rate in enumerate((inf, nan, -1.0, 5))),
    )
    done = run(capsys, "session", "export", writing.close(), "--as", "svg")
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(done.out).iter()}
    assert tags <= {"svg", "rect", "text", "title", "line", "circle"}
    assert not [char for char in done.out if ord(char) < 32 and char != "\n"]


def test_json_lines_hold_every_event_and_every_line(capsys: Capture) -> None:
    done = run(capsys, "session", "export", STORY, "--as", "jsonl")
    records = [json.loads(line) for line in done.out.splitlines()]
    journal = Journal(STORY)
    kinds = Counter(journal.index.kind_of(n) for n in range(len(journal.index)))
    del kinds["seek"]
    assert Counter(record["kind"] for record in records) == kinds
    assert [record["seq"] for record in records] == sorted({record["seq"] for record in records})
    lines = [line for record in records for line in record.get("lines", ())]
    assert len(lines) == 36
    assert lines[-1].endswith('"GET /health HTTP/1.1" 200 OK')


def test_series_as_csv(capsys: Capture) -> None:
    done = run(capsys, "session", "export", STORY, "--as", "csv")
    rows = list(csv.DictReader(done.out.splitlines()))
    rates = [
        float(row["value"])
        for row in rows
        if row["series"] == "decode_tok_s" and row["subject"].startswith("b1/")
    ]
    assert rates == [61.8, 62.7, 62.9, 63.0, 62.8, 63.1]
    first = rows[0]
    assert first["utc"] > "2026-02-24T16:48:30"


def test_an_export_never_overwrites_and_is_private(capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "night.md"
    assert run(capsys, "session", "export", STORY, "-o", target).code == 0
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.read_text().startswith("# Evidence: kimi.toml")
    again = run(capsys, "session", "export", STORY, "-o", target)
    assert (again.code, again.err) == (3, f"spec-console: {target}: file exists\n")


def test_markup_of_a_session_is_not_obeyed(capsys: Capture, tmp_path: Path) -> None:
    writing = Writing(tmp_path / "s.toml")
    hostile = "<img src=x> | `rm` [x](y) **b** ``` &lt;"
    writing.emit(MarkerPut(c(hostile)), NoteWritten(c(hostile)))
    writing.log("````", "ERROR: ``` # no end", hostile)
    writing.emit(EnvRead(c("base"), c(hostile), Completeness.WHOLE, ((c("A|B"), c("```")),)))
    page = run(capsys, "session", "export", writing.close()).out
    outside, fence = [], ""
    for line in page.splitlines():
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = line.rstrip("tex")
        else:
            outside.append(line)
    assert fence == ""
    quoted = [line for line in outside if "img" in line]
    assert len(quoted) == 3
    for line in quoted:
        assert not re.search(r"(?<!\\)[<`|\[&]", line)


def environment(source: str, completeness: Completeness, *pairs: str) -> EnvRead:
    values = tuple((c(pair.split("=")[0]), c(pair.split("=")[1])) for pair in pairs)
    return EnvRead(c("base"), c(source), completeness, values)


def two_nights(tmp_path: Path) -> tuple[Path, Path]:
    paths = []
    for number, rate in enumerate((90.0, 62.9)):
        writing = Writing(tmp_path / f"{number}.toml", "base", *(["spec"] if number else []))
        lost = [] if number else ["NCCL_PROTO=LL"]
        whole, partly = Completeness.WHOLE, Completeness.PARTLY
        unreadable = Completeness.UNREADABLE if number else whole
        writing.emit(
            environment("launcher", whole, "NCCL_ALGO=Ring", *lost),
            environment("rank 3", partly if number else whole, *lost),
            environment("tracker", unreadable, *([] if number else ["X=1"])),
            ArgsSeen(c("base"), ((c("tp"), c("8")), (c("ctx"), c(str(number))))),
            EngineSeen(c("base"), Engine.SGLANG, c(f"0.5.{number}"), c("kimi"), c("header")),
            BenchStarted(c("b"), c("base"), Arm.BASELINE, 1, c("quick"), (), c("host")),
            RunMeasured(c("b"), 0, 500, 1000, 1.0, warm_up=True),
            RunMeasured(c("b"), 1, 500, 1000, rate),
            RunMeasured(c("b"), 2, 500, 1000, 5.0, void=c("a foreign request")),
            BenchFinished(c("b"), True, c(""), ()),
        )
        paths.append(writing.close())
    return paths[0], paths[1]


def test_the_difference_of_two_nights(capsys: Capture, tmp_path: Path) -> None:
    before, after = two_nights(tmp_path)
    done = run(capsys, "session", "diff", before, after)
    golden("diff.txt", done.out)
    assert done.code == 0
    assert run(capsys, "session", "diff", before, after, "--check").code == 1
    records = [
        json.loads(line)
        for line in run(capsys, "session", "diff", before, after, "--json").out.splitlines()
    ]
    assert len(records) == len(done.out.splitlines())
    assert {r["name"] for r in records if not r["told"]} == {"NCCL_PROTO", "all"}
    same = run(capsys, "session", "diff", before, before, "--check")
    assert (same.code, same.out) == (0, "no difference in what both sessions tell\n")


_FOLLOW = [sys.executable, "-m", "console", "session", "follow"]


def test_follow_tells_what_is_written_until_it_is_closed(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "s.toml")
    writing.log("before")
    writing.recorder.flush()
    command = [*_FOLLOW, "--all", str(writing.path)]
    seen = tmp_path / "seen.txt"
    with seen.open("w") as out, subprocess.Popen(command, cwd=ROOT, stdout=out) as follower:
        try:
            until(lambda: "before" in seen.read_text(), 20)
            writing.log("during", after_s=2.5)
            writing.recorder.flush()
            until(lambda: "during" in seen.read_text(), 20)
            writing.close()
            assert follower.wait(20) == 0
        finally:
            follower.kill()
    told = seen.read_text().splitlines()
    assert told[0].startswith("00:00:00.000  opened  writer=test fleet=t.toml origin=live")
    assert "00:00:02.500  base  during" in told
    assert told[-1] == "00:00:02.500  closed  why=left"


@pytest.mark.parametrize("verb", ["info", "export", "to-script", "follow"])
def test_what_is_no_session_is_one_line_and_exit_2(
    capsys: Capture, tmp_path: Path, verb: str
) -> None:
    path = tmp_path / "x.toml"
    path.write_text("x = 1\n")
    done = run(capsys, "session", verb, path)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"spec-console: {path}: not a session file "
        '(it begins otherwise than schema = "session/1")\n'
    )


def test_an_unknown_verb_is_bad_usage(capsys: Capture) -> None:
    done = run(capsys, "session", "explode")
    assert done.code == 2
    assert "invalid choice: 'explode'" in done.err


def test_a_closed_pipe_is_no_traceback() -> None:
    piped = f"{sys.executable} -m console session export {STORY} --as jsonl | true"
    done = subprocess.run(
        ["sh", "-c", piped], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "console", "session", "export", str(STORY)],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr == "spec-console: no space left on device\n"
