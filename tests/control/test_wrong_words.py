"""One wrong word in each field of a script in turn: never a traceback, always a place, exit 2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.cli import main
from console.control.script import load_script
from console.model.verbs import script_verbs
from console.store.toml import BadFile
from tests.control.test_repeat import fleet_in

EVERY = """\
schema = "script/1"
name = "every"
targets = ["base"]
timeout = "3h"
on_fail = "continue"

[defaults]
timeout = "20s"
every = "1s"
stall = "5m"
progress = "30s"
fail_fast = ["process_exit", "log:/OOM/"]

[vars]
file = "out.toml"
least = 2

[[step]]
id = "ready"
name = "the first"
wait = { until = "health", expect = 200, every = "10s" }
timeout = "900s"
stall = "60s"
progress = "5s"
fail_fast = ["log:/Xid/"]

[[step]]
id = "last"
tail = { lines = 2, source = "server" }
when = "${ready.code} == 200"

[[step]]
health = { path = "/v1/models", expect = 200 }

[[step]]
assert = ["${ready.code} == 200", "${last.count} >= 0.5 * ${vars.least}"]

[[step]]
marker = "after ${last.count}"

[[step]]
note = { text = "on ${run.date}" }

[[step]]
always = true
save = { file = "${vars.file}" }

[[step]]
id = "b"
bench = { protocol = "quick", runs = 3, tokens = 100, prompts = "chat", depth = "0.5k" }

[[step]]
bench = { within = 0.01, arm = "baseline", against = "spec" }

[[step]]
compare = { baseline = "base", speculative = "spec", expect = "FASTER" }

[[step]]
assume = { tok_s = 90.0, name = "believed", source = "a chat" }

[[step]]
env = { read = "effect", match = "NCCL_*", same_as = "spec" }

[[step]]
id = "p"
plan = { file = "plan.md", match = "NCCL_*", format = "markdown" }

[[step]]
profile = { name = "six", env = "${p.env}", note = "n", origin = "o", replace = "yes" }

[[step]]
adopt = {}

[[step]]
target = "spec"
swap = { env = "A=1", args = "--x 1", recipe = "${b.bench}", see = "ranks", ready_within = "15m" }

[[step]]
restart = { on_fail = "rollback", grace = "60s", kill_after = "90s" }

[[step]]
envfile = { file = "x.env", env = "A=1" }

[[step]]
topology = {}

[[step]]
generate = {}

[[step]]
probe = { what = "allreduce", hidden = 7168, seconds = 2.5, python = "python3" }

[[step]]
launch = {}

[[step]]
stop = { grace = "60s" }

[[step]]
restart = {}

[[step]]
run = { command = "look", expect = 0 }

[[step]]
id = "sweep"
[step.repeat]
over = [{ name = "bare", env = "A=1" }, { name = "six", profile = "nccl-7" }]
on_fail = "stop"
[[step.repeat.step]]
id = "up"
restart = { env = "${each.env}" }
"""
FREE = ("name", "file", "least")
"""Names that are the script's own, or may be left out: another word there is as good."""


def problems(folder: Path, text: str) -> list[str]:
    path = folder / "s.toml"
    path.write_text(text)
    try:
        load_script(path, fleet_in(folder))
    except BadFile as error:
        return [str(problem) for problem in error.problems]
    return []


def test_it_is_right_as_it_stands_and_has_every_verb(tmp_path: Path) -> None:
    assert problems(tmp_path, EVERY) == []
    used = set(re.findall(r"^([a-z]+) = |^\[step\.([a-z]+)\]", EVERY, re.MULTILINE))
    assert set(script_verbs()) <= {one or two for one, two in used}


KEYS = [found.span(1) for found in re.finditer(r"(?:^|[{,] )([a-z_]+) = ", EVERY, re.MULTILINE)]
VALUES = [
    found.span(1)
    for found in re.finditer(
        r'[a-z_]+ = ("[^"]*"|\d[\d.]*|true|\[".*?"\](?=\n))', EVERY, re.MULTILINE
    )
]
REFERENCES = [found.span(1) for found in re.finditer(r"\$\{(?:\w+\.)?(\w+)\}", EVERY)]


@pytest.mark.parametrize("kind", ["key", "value", "reference"])
def test_each_in_turn_is_refused_with_its_place(tmp_path: Path, kind: str) -> None:
    places = {"key": KEYS, "value": VALUES, "reference": REFERENCES}[kind]
    assert len(places) > 8
    for start, end in places:
        wrong = {"key": EVERY[start:end] + "x", "value": "1979-05-27", "reference": "nosuch"}[kind]
        text = EVERY[:start] + wrong + EVERY[end:]
        found = problems(tmp_path, text)
        line = EVERY.count("\n", 0, start) + 1
        if kind == "key" and EVERY[start:end] in FREE and not found:
            continue
        assert found, (line, wrong)
        assert all(re.match(r".*s\.toml:\d+:\d+: \S", one) for one in found), found


def test_the_process_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.toml"
    for word in ("scheam", "tagrets", "stpe", "defualts"):
        right = {"scheam": "schema", "tagrets": "targets", "stpe": "step", "defualts": "defaults"}
        path.write_text(EVERY.replace(right[word], word, 1))
        assert main(["script", "lint", str(path)]) == 2
        shown = capsys.readouterr().err
        assert re.search(r"s\.toml:\d+:\d+: ", shown)
        assert "Traceback" not in shown
