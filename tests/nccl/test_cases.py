"""Settings as people have them: each file of cases/ with the variables, conflicts and findings
that must come out. FORMAT: see the head of `expect`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from console.nccl.finding import Finding
from console.nccl.importing.found import Found, Imported, State, conflicts
from console.nccl.importing.read import import_source
from console.nccl.review import review
from console.nccl.version import parse_version

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(FOLDER.glob("*.expect.toml"))


def expect(path: Path) -> dict[str, Any]:
    """An expectation: file, format, nccl (version), [[var]] with name, state, value or raw,
    default, lines (any of them is a good origin), [[conflict]], [[finding]] with names, lines,
    severity or accept, reads_as, required, and [[not_set]]. Errors are complete."""
    return tomllib.loads(path.read_text("utf-8"))


def read(case: dict[str, Any]) -> Imported:
    path = FOLDER / case["file"]
    kept = path if path.exists() else path.with_name(path.name + ".txt")
    return import_source(kept.read_bytes(), case["file"])


def accepted_states(var: dict[str, Any]) -> set[State]:
    states = {State(var["state"])}
    if var.get("set_ok"):
        states.add(State.SET)
    if var.get("unresolved_ok"):
        states.add(State.UNRESOLVED)
    return states


def fits(one: Found, var: dict[str, Any]) -> bool:
    named = one.name == var["name"] or one.name in var.get("expands", [])
    if not named or not set(one.lines) & set(var["lines"]):
        return False
    if one.state not in accepted_states(var):
        return False
    if one.state is State.UNRESOLVED:
        if var["state"] != "unresolved":
            return True
        if var.get("from_caller"):
            return one.from_caller
        right_raw = var.get("raw_free") or one.raw == var["raw"]
        return bool(right_raw) and one.default in (None, var.get("default"))
    if one.state is State.UNSET:
        return True
    return one.value in [var["value"], *var.get("value_also", [])]


def about(finding: Finding, wanted: dict[str, Any], name: str) -> bool:
    lines = {origin.line for origin in finding.at}
    severities = wanted.get("accept", [wanted["severity"]])
    reads = "reads_as" not in wanted or finding.reads_as == wanted["reads_as"]
    named = name in finding.names
    return (
        named
        and bool(lines & set(wanted["lines"]))
        and finding.severity.value in severities
        and reads
    )


def assert_variables(case: dict[str, Any], imported: Imported) -> None:
    left = list(imported.found)
    for var in case["var"]:
        match = next((one for one in left if fits(one, var)), None)
        assert match is not None, (var, [o for o in imported.found if o.name == var["name"]])
        left.remove(match)
        if var.get("default") is not None and not var.get("raw_free"):
            assert match.default == var["default"], (var, match)
    silent = (State.COMMENTED, State.UNRESOLVED)
    extra = [one for one in left if not any(fits(one, var) for var in case["var"])]
    assert not [one for one in extra if one.state not in silent]


def assert_findings(case: dict[str, Any], findings: tuple[Finding, ...]) -> None:
    for wanted in case.get("finding", []):
        if wanted.get("required", True):
            for name in wanted["names"]:
                hits = [f for f in findings if about(f, wanted, name)]
                assert hits, (wanted, [f for f in findings if name in f.names])
    listed = {
        line
        for wanted in case.get("finding", [])
        if "error" in wanted.get("accept", [wanted["severity"]])
        for line in wanted["lines"]
    }
    for finding in findings:
        if finding.severity.value == "error":
            assert listed & {origin.line for origin in finding.at}, finding


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.removesuffix(".expect.toml"))
def test_case(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = expect(path)
    imported = read(case)
    findings = review(imported, parse_version(case["nccl"]))
    assert imported.format == case["format"]
    assert_variables(case, imported)
    for wrong in case.get("not_set", []):
        places = [one for one in imported.found if one.name == wrong["name"]]
        lines = set(wrong.get("lines", [line for one in places for line in one.lines]))
        assert not [one for one in places if one.state is State.SET and lines & set(one.lines)]
    got = {(c.name, frozenset(c.values), c.winner) for c in conflicts(imported)}
    wanted = {
        (c["name"], frozenset(c["values"]), c.get("winner")) for c in case.get("conflict", [])
    }
    assert got == wanted
    assert_findings(case, findings)
    assert bool(imported.unreadable) == case.get("unreadable", False)
    assert list(imported.reset_lines) == case.get("reset_lines", [])
    if "version" in case:
        assert imported.version == parse_version(case["version"])
    assert list(tmp_path.iterdir()) == []


def test_the_cases_are_there() -> None:
    assert len(CASES) == 22
