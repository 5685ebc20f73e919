"""`--junit` and `--summary`: a script's outcome for machines and for reviewers."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.plain.test_script import CHECK, STORY, golden, run, script


def test_golden_files_of_the_deciding_step(tmp_path: Path) -> None:
    xml, page = tmp_path / "j.xml", tmp_path / "s.md"
    done = run("--script", CHECK, "--replay", STORY, "--junit", xml, "--summary", page)
    assert done.returncode == 0
    golden("check.xml", xml.read_text())
    golden("check.md", page.read_text())


def failing(tmp_path: Path) -> Path:
    return script(
        tmp_path,
        'id = "first"\nhealth = {}',
        'id = "never"\ntail = {}',
        'id = "sum"\nassert = ["1 == 2"]\nalways = true',
    )


def test_failures_errors_and_steps_left_out_are_told_apart(tmp_path: Path) -> None:
    xml, page = tmp_path / "j.xml", tmp_path / "s.md"
    path = failing(tmp_path)
    done = run("--script", path, "--replay", STORY, "--junit", xml, "--summary", page, "--quiet")
    assert done.returncode == 4
    suite = ElementTree.parse(xml).getroot()
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "1", "skipped": "1"}
    cases = {case.get("name"): [part.tag for part in case] for case in suite.iter("testcase")}
    assert cases == {
        "first: health kimi-base": ["error", "system-out"],
        "never: tail": ["skipped"],
        "sum: assert": ["failure", "system-out"],
    }
    error = next(suite.iter("error"))
    assert str(error.get("type")).startswith("exit 4: unreachable")
    text = page.read_text()
    assert text.startswith("## s: exit 4\n")
    assert "| never (tail) |  | left out | | a step before it failed |" in text
    assert "| sum (assert) |  | **failed, exit 1** |" in text


@pytest.mark.parametrize("option", ["--junit", "--summary"])
def test_a_file_that_cannot_be_written_is_found_before_anything_runs(
    tmp_path: Path, option: str
) -> None:
    target = tmp_path / "none" / "x"
    done = run("--script", failing(tmp_path), "--replay", STORY, option, target)
    assert done.returncode == 2
    assert done.stderr == f"spec-console: {option}:1:1: {target}: no such file or directory\n"
    assert done.stdout == ""


def test_a_full_disk_at_the_end_makes_a_passed_script_fail(tmp_path: Path) -> None:
    path = script(tmp_path, 'assert = ["1 == 1"]')
    done = run("--script", path, "--replay", STORY, "--summary", "/dev/full")
    assert done.returncode == 3
    assert "/dev/full: no space left on device" in done.stderr
