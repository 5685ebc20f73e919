"""The JSON Schemas say what the readers of these files take: no more, no less."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli

from console.command.schema import OF_KIND, SCHEMAS, schema
from console.model.verb import Kind
from console.model.verbs import script_verbs
from console.store.fleet import load_fleet
from console.store.toml import BadFile
from tests.command.running import ROOT, run

FLEET = """
schema = "fleet/1"
name = "f"
[[host]]
name = "gpu8"
ssh = "gpu8"
ssh_config = "x"
transport = "asyncssh"
enter = ["docker", "exec", "c"]
read_only = true
[[host]]
name = "here"
local = true
[[slot]]
name = "gpu8:8000"
host = "gpu8"
gpus = [0, 1]
port = 8000
[[server]]
name = "base"
slot = "gpu8:8000"
arm = "baseline"
engine = "sglang"
url = "http://localhost:8000"
log = { argv = ["docker", "logs", "-f", "c"] }
recipe = { argv = ["serve"], cwd = "/", env_file = "e" }
api_key_env = "K"
api_key_file = "/k"
read_only = false
"""
TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
}


def wrong(rule: Any, value: Any, at: str = "$") -> Iterator[str]:
    """Where a value breaks a schema; the part of JSON Schema that these schemas use."""
    known = {"$schema", "title", "description", "type", "properties", "required", "items"}
    known |= {"additionalProperties", "enum", "const", "pattern", "anyOf", "oneOf"}
    assert set(rule) <= known | {"minimum", "maximum", "minLength", "minItems"}, at
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(TYPES[kind](value) for kind in kinds):
        yield f"{at}: no {kinds}"
        return
    if "enum" in rule and value not in rule["enum"]:
        yield f"{at}: {value!r} none of {rule['enum']}"
    if "const" in rule and value != rule["const"]:
        yield f"{at}: {value!r} is not {rule['const']!r}"
    if isinstance(value, str) and (
        not re.search(rule.get("pattern", ""), value) or len(value) < rule.get("minLength", 0)
    ):
        yield f"{at}: {value!r}"
    if type(value) is int and not rule.get("minimum", value) <= value <= rule.get("maximum", value):
        yield f"{at}: {value}"
    for word in {"anyOf", "oneOf"} & set(rule):
        fits = sum(not [*wrong(one, value, at)] for one in rule[word])
        if fits == 0 or (word == "oneOf" and fits > 1):
            yield f"{at}: {word}"
    if isinstance(value, dict):
        yield from (f"{at}.{key}: missing" for key in rule.get("required", ()) if key not in value)
        more = rule.get("additionalProperties", True)
        for key, part in value.items():
            below = rule.get("properties", {}).get(key, more)
            if below is False:
                yield f"{at}.{key}: unknown"
            elif below is not True:
                yield from wrong(below, part, f"{at}.{key}")
    if isinstance(value, list):
        if len(value) < rule.get("minItems", 0):
            yield f"{at}: too few"
        for place, part in enumerate(value):
            yield from wrong(rule.get("items", {}), part, f"{at}[{place}]")


def samples() -> list[tuple[str, dict[str, Any]]]:
    found = [("fleet", tomli.loads(FLEET))]
    for name, pattern in (
        ("script", "sample_sessions/scripts/*.toml"),
        ("theme", "themes/*.toml"),
        ("session", "sample_sessions/*.toml"),
    ):
        for path in sorted(ROOT.glob(pattern)):
            if path.name != "torn.toml":
                found.append((name, tomli.loads(path.read_text())))
    return found


SAMPLES = samples()


@pytest.mark.parametrize(("name", "table"), SAMPLES, ids=[name for name, _ in SAMPLES])
def test_every_sample_is_accepted(name: str, table: dict[str, Any]) -> None:
    assert [*wrong(schema(name), table)] == []


@pytest.mark.parametrize("name", ["fleet", "script", "theme"])
def test_a_stray_key_and_another_version_are_not(name: str) -> None:
    table = next(table for other, table in SAMPLES if other == name)
    assert [*wrong(schema(name), {**table, "strey": 1})] == ["$.strey: unknown"]
    newer = {**table, "schema": f"{name}/2"}
    assert [*wrong(schema(name), newer)] == [f"$.schema: '{name}/2' is not '{name}/1'"]


@pytest.mark.parametrize(
    ("step", "good"),
    [
        ({"marker": "x"}, True),
        ({"marker": {"name": "x"}}, True),
        ({"marker": {"text": "x"}}, False),
        ({"marker": ""}, False),
        ({"wait": {"until": "health", "every": "10s"}, "timeout": "900s"}, True),
        ({"wait": {"until": "log:/ready/"}}, True),
        ({"wait": {"until": "healthy"}}, False),
        ({"wait": {}}, False),
        ({"wait": {"until": "health"}, "timeout": 900}, False),
        ({"tail": {"lines": 2}, "health": {}}, False),
        ({"helth": {}}, False),
        ({"id": "a"}, False),
    ],
)
def test_steps(step: dict[str, Any], good: bool) -> None:
    table = {"schema": "script/1", "step": [step]}
    assert ([*wrong(schema("script"), table)] == []) == good


def test_the_fleet_schema_has_the_keys_of_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text(FLEET)
    assert len(load_fleet(path).servers) == 1
    stray = re.sub(r"^(name = .*)$", r"\1\nstrey = 1", FLEET, flags=re.MULTILINE)
    path.write_text(stray)
    with pytest.raises(BadFile) as caught:
        load_fleet(path)
    known = [
        set(found[1].split(", "))
        for problem in caught.value.problems
        if (found := re.search(r'unknown key "strey" \(known: (.*)\)', problem.text))
    ]
    made: Any = schema("fleet")["properties"]
    tables = [set(made)]
    tables += [set(made[key]["items"]["properties"]) for key in ("host", "slot", "server")]
    assert len(known) == 5
    assert sorted(map(sorted, known)) == sorted(map(sorted, [*tables, tables[1]]))


def test_every_kind_of_field_and_every_script_verb_has_a_schema() -> None:
    assert set(OF_KIND) == set(Kind)
    made: Any = schema("script")["properties"]
    assert set(script_verbs()) < set(made["step"]["items"]["properties"])


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_the_command_prints_it(capsys: pytest.CaptureFixture[str], name: str) -> None:
    done = run(capsys, "schema", name)
    assert done.code == 0
    assert json.loads(done.out) == schema(name)


def test_another_name_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "schema", "flet").code == 2


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_the_schema_that_files_name_is_the_one_of_now(name: str) -> None:
    """UPDATE_GOLDEN=1 writes docs/schemas anew."""
    path = ROOT / "docs" / "schemas" / f"{name}.json"
    made = json.dumps(schema(name), indent=2) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(made)
    assert path.read_text() == made


BY_HAND = sorted([*ROOT.glob("sample_sessions/scripts/*.toml"), *ROOT.glob("themes/*.toml")])


@pytest.mark.parametrize("path", BY_HAND, ids=[path.name for path in BY_HAND])
def test_a_file_by_hand_names_its_schema_first(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    named = (path.parent / first.removeprefix("#:schema ")).resolve()
    kind = tomli.loads(path.read_text())["schema"].partition("/")[0]
    assert named == ROOT / "docs" / "schemas" / f"{kind}.json"


def test_every_line_of_a_run_is_as_the_schema_of_output_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "s.toml"
    script.write_text(
        'schema = "script/1"\ntargets = ["kimi-base"]\n[defaults]\nprogress = "60s"\n'
        '[[step]]\nwait = { until = "health", every = "10s" }\ntimeout = "900s"\n'
        '[[step]]\ntail = {}\n[[step]]\nassert = "1 == 2"\n[[step]]\nhealth = {}\n'
    )
    story = ROOT / "sample_sessions" / "story.toml"
    done = run(capsys, "--script", script, "--replay", story, "--json", "--quiet")
    records = [json.loads(line) for line in done.out.splitlines()]
    events: Any = {one["properties"]["event"]["const"]: one for one in schema("output")["oneOf"]}  # type: ignore[attr-defined]
    assert {record["event"] for record in records} == set(events)
    for record in records:
        told = events[record["event"]]
        assert set(told["required"]) <= set(record) <= set(told["properties"])
        for key, value in record.items():
            assert _fits(told["properties"][key], value), (key, value)


def _fits(told: Any, value: object) -> bool:
    if "enum" in told:
        return bool(value in told["enum"])
    if "const" in told:
        return bool(value == told["const"])
    names = {"string": str, "integer": int, "number": float, "array": list, "object": dict}
    types = [told["type"]] if isinstance(told["type"], str) else told["type"]
    return any(value is None if name == "null" else type(value) is names[name] for name in types)
