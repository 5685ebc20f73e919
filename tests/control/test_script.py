"""Scripts are checked whole: every mistake at once, with file, line, column and nearest word."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.control.expression import BadExpression, Ref, Unknown, conditions, fill, holds
from console.control.script import Script, load_script
from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.store.toml import BadFile

FLEET = Fleet(
    "kimi",
    (Host("gpu8"),),
    (Slot("s", "gpu8"),),
    (
        Server("kimi-base", "s", Arm.BASELINE, "http://localhost:8000"),
        Server("kimi-eagle3", "s", Arm.SPECULATIVE, "http://localhost:8000"),
    ),
)
GOOD = """\
schema = "script/1"
name = "check"
targets = ["kimi-base"]
on_fail = "stop"

[defaults]
timeout = "20s"
every = "1s"

[vars]
file = "out.toml"
least = 2

[[step]]
id = "ready"
wait = { until = "health", expect = 200, every = "10s" }
timeout = "900s"

[[step]]
id = "last"
tail = { lines = 2 }
when = "${ready.code} == 200"

[[step]]
assert = ["${ready.code} == 200", "${last.count} >= 0.5 * ${vars.least}"]

[[step]]
target = "kimi-eagle3"
wait = { until = "log:/fired up/" }

[[step]]
marker = "after ${last.count} lines on ${run.date}"

[[step]]
always = true
save = "${vars.file}"
"""


def check(tmp_path: Path, text: str, **variables: str) -> Script:
    path = tmp_path / "script.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return load_script(path, FLEET, variables)


def test_a_right_script_is_read(tmp_path: Path) -> None:
    script = check(tmp_path, GOOD, file="other.toml")
    wait, tail, _, other, marker, save = script.steps
    assert wait.servers == ("kimi-base",)
    assert wait.arguments == {"until": "health", "expect": 200, "every": 10.0}
    assert (wait.timeout_s, tail.timeout_s) == (900.0, 20.0)
    assert tail.when[0].left == Ref("ready", "code")
    assert other.servers == ("kimi-eagle3",)
    assert marker.arguments == {"name": "after ${last.count} lines on ${run.date}"}
    assert (save.always, save.servers) == (True, ())
    assert script.variables == {"file": "other.toml", "least": 2}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('schema = "script/1"', "", ':1:1: "schema" is missing'),
        ("tail = {", "tial = {", ':21:1: "tial" is no verb (did you mean "tail"?); verbs: health'),
        ("lines = 2", "line = 2", ':21:10: unknown key "line" (did you mean "lines"?)'),
        ("lines = 2", 'lines = "2"', ":21:10: lines: a whole number was expected, not a text"),
        ('"kimi-base"]', '"kimi-bas"]', ':3:12: no server is named "kimi-bas" (did you mean'),
        ('until = "health"', 'until = "helth"', ':16:10: until: "helth" is nothing to wait for'),
        ('until = "health", ', "", ':16:1: wait: "until" is missing'),
        ("log:/fired up/", "log:/fired (/", ":29:10: until:"),
        ('every = "10s"', "every = 10", ":16:42: every: a duration such as"),
        ('timeout = "900s"', 'timeout = "long"', ":17:1: timeout: a duration"),
        ("${last.count} >=", "${lst.count} >=", ":25:35: ${lst.count}: no step before this one"),
        ("${last.count} >=", "${last.cont} >=", 'tail gives no "cont" (did you mean "count"?)'),
        ("${vars.least}", "${vars.most}", '${vars.most}: no variable "most"'),
        ('"${ready.code} == 200", "', '"${ready.code} is 200", "', ":25:11: assert:"),
        ("assert = [", "assert = []\n#", 'assert: "${id.field} == value" or a list'),
        ('id = "last"', 'id = "ready"', ':20:1: id: "ready" is taken'),
        ('id = "last"', 'id = "Last!"', ":20:1: id: lower-case letters"),
        ('on_fail = "stop"', 'on_fail = "stpo"', 'on_fail: "stpo" is none of stop, continue'),
        ("always = true", 'always = "yes"', ":35:1: always: true or false was expected"),
        ("least = 2", "least = [2]", ":12:1: vars.least: a text or a number was expected"),
        ("tail = { lines = 2 }", "tail = 2", ":21:1: tail: a table was expected"),
        (
            "tail = { lines = 2 }",
            "tail = { lines = 2 }\nhealth = {}",
            ":22:1: one verb a step was expected, not 2: tail, health",
        ),
        ('targets = ["kimi-base"]', "targets = []", ":14:1: which server?"),
        ("[[step]]", "[[stpe]]", ':14:1: unknown key "stpe" (did you mean "step"?)'),
    ],
)
def test_a_wrong_script_is_refused_with_the_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in GOOD
    with pytest.raises(BadFile) as caught:
        check(tmp_path, GOOD.replace(old, new, 1))
    problems = [str(problem) for problem in caught.value.problems]
    assert any(said in problem for problem in problems), problems
    assert all("script.toml:" in problem for problem in problems)


def test_all_mistakes_come_in_one_pass(tmp_path: Path) -> None:
    text = (
        GOOD.replace("lines = 2", "line = 2")
        .replace('"10s"', "10")
        .replace("${run.date}", "${run.x}")
    )
    with pytest.raises(BadFile) as caught:
        check(tmp_path, text)
    assert len(caught.value.problems) == 3


def test_a_result_of_several_servers_cannot_be_named(tmp_path: Path) -> None:
    text = GOOD.replace('["kimi-base"]', '["kimi-base", "kimi-eagle3"]')
    with pytest.raises(BadFile, match="ready runs on 2 servers; give it a target"):
        check(tmp_path, text)


def test_an_unknown_variable_on_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r'no variable "fil" \(did you mean "file"\?\)'):
        check(tmp_path, GOOD, fil="x")


WORDS = [word for line in GOOD.splitlines() for word in line.split() if word not in ("=", "{", "}")]


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(WORDS), st.text(alphabet=st.characters(codec="utf-8"), max_size=8))
def test_one_wrong_word_anywhere_is_a_script_or_problems_with_places(
    tmp_path: Path, word: str, wrong: str
) -> None:
    try:
        script = check(tmp_path, GOOD.replace(word, wrong, 1))
    except BadFile as error:
        assert all(problem.line >= 1 and problem.column >= 1 for problem in error.problems)
    else:
        assert script.steps


@pytest.mark.parametrize(
    ("text", "value", "good"),
    [
        ("${a.b} == 200", 200, True),
        ("${a.b} == 200", "200", True),
        ("${a.b} != 200", 503, True),
        ("${a.b} >= 0.97 * 100", 97, True),
        ("${a.b} >= 0.97 * 100", 96.9, False),
        ("${a.b} == alive", "alive", True),
        ("'x y' == ${a.b}", "x y", True),
        ("${a.b} < 5", "text", False),
        ("${a.b} != 5", "text", True),
    ],
)
def test_conditions(text: str, value: str | float, good: bool) -> None:
    assert holds(conditions(text), {("a", "b"): value})[0] is good


@pytest.mark.parametrize(
    "text", ["", "${a} == 1", "a", "1 = 1", "${a.b} == ", "import os", "1 == 1 == 1"]
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(BadExpression):
        conditions(text)


def test_a_reference_without_a_value_is_said() -> None:
    with pytest.raises(Unknown, match=r"\$\{a.b\} has no value"):
        holds(conditions("${a.b} == 1"), {})
    assert fill("x ${a.b} y", {("a", "b"): 3}) == "x 3 y"


def test_numbers_and_durations_may_be_variables(tmp_path: Path) -> None:
    text = (
        GOOD.replace("tail = { lines = 2 }", 'tail = { lines = "${vars.least}" }')
        .replace('every = "10s"', 'every = "${vars.often}"')
        .replace("least = 2", 'least = 2\noften = "5s"')
    )
    assert check(tmp_path, text).steps[1].arguments == {"lines": 2}
    given = check(tmp_path, text, least="7", often="1m").steps
    assert (given[0].arguments["every"], given[1].arguments) == (60.0, {"lines": 7})
    with pytest.raises(BadFile, match="lines: a whole number was expected, not a text"):
        check(tmp_path, text, least="many")
    with pytest.raises(BadFile, match="lines: -1 is outside 0 to 1000000"):
        check(tmp_path, text, least="-1")
