"""fleet.toml: a right one is read, a wrong one is refused whole with every mistake's place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.model.fleet import Arm, Engine, Fleet, LogSource, Recipe, Wire
from console.store.fleet import find_fleet, read_fleet
from console.store.toml import BadFile, parse

GOOD = """\
schema = "fleet/1"
name = "kimi"

[[host]]
name = "gpu8"
ssh = "gpu8.lab"
ssh_config = "/tmp/ssh_config"
enter = ["docker", "exec", "-i", "kimi"]

[[host]]
name = "here"
local = true
read_only = true

[[slot]]
name = "gpu8:8000"
host = "gpu8"
gpus = [0, 1, 2, 3, 4, 5, 6, 7]
port = 8000

[[server]]
name = "kimi-base"
slot = "gpu8:8000"
arm = "baseline"
engine = "sglang"
url = "http://localhost:8000/"
log = "/data/logs/base.log"
recipe = { argv = ["python", "-m", "sglang.launch_server"], cwd = "/data", env_file = "llring" }
api_key_env = "KIMI_KEY"

[[server]]
name = "kimi-eagle3"
slot = "gpu8:8000"
arm = "speculative"
url = "http://localhost:8000"
log = { argv = ["docker", "logs", "-f", "kimi"] }
"""


def read(text: str) -> Fleet:
    return read_fleet(parse(text.encode(), "fleet.toml"))


def refused(text: str) -> list[str]:
    with pytest.raises(BadFile) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


def test_a_right_file_is_read() -> None:
    fleet = read(GOOD)
    assert fleet.name == "kimi"
    assert fleet.host("gpu8").enter == ("docker", "exec", "-i", "kimi")
    assert fleet.host("gpu8").wire is Wire.ASYNCSSH
    assert (fleet.host("here").wire, fleet.host("here").read_only) == (Wire.LOCAL, True)
    assert fleet.slot("gpu8:8000").gpus == tuple(range(8))
    base, eagle = fleet.servers
    assert (base.arm, base.engine, base.url) == (
        Arm.BASELINE, Engine.SGLANG, "http://localhost:8000",
    )  # fmt: skip
    assert base.log == LogSource(path="/data/logs/base.log")
    assert base.recipe == Recipe(("python", "-m", "sglang.launch_server"), "/data", "llring")
    assert (eagle.engine, eagle.log) == (
        Engine.AUTO, LogSource(argv=("docker", "logs", "-f", "kimi")),
    )  # fmt: skip
    assert fleet.host_of(eagle).name == "gpu8"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('schema = "fleet/1"', 'schema = "fleet/9"', ':1:1: schema: "fleet/1" was expected'),
        (
            'arm = "speculative"',
            'arm = "speculativ"',
            ':34:1: arm: "speculativ" is none of baseline, speculative (did you mean',
        ),
        ('host = "gpu8"', 'host = "gpu9"', ':17:1: host: no host is named "gpu9" (did you mean'),
        ('slot = "gpu8:8000"\narm = "base', 'slot = "x"\narm = "base', 'no slot is named "x"'),
        ('name = "kimi-eagle3"', 'name = "kimi-base"', 'a second server is named "kimi-base"'),
        ("port = 8000", "port = 99999", ":19:1: port: 99999 is outside 1 to 65535"),
        ("port = 8000", 'port = "8000"', ":19:1: port: a whole number was expected, not a text"),
        ("gpus = [0,", 'gpus = ["0",', ":18:9: gpus: a number was expected"),
        ("local = true", "locale = true", ':12:1: unknown key "locale" (did you mean "local"?)'),
        ('ssh = "gpu8.lab"', 'ssh = "-oProxyCommand=x"', "cannot begin with a dash"),
        ('ssh = "gpu8.lab"\n', "", 'either ssh = "ALIAS" or local = true was expected'),
        ('api_key_env = "KIMI_KEY"', 'api_key = "x"', "a key has no place in this file"),
        ("http://localhost:8000/", "localhost:8000", 'not "localhost:8000"'),
        ("http://localhost:8000/", "http://u:p@h:1", "a user or password has no place"),
        ("http://localhost:8000/", "http://[::1", "was expected, not"),
        ('log = "/data/logs/base.log"', "log = 3", 'log: "PATH" or { argv'),
        ('{ argv = ["docker", "logs", "-f", "kimi"] }', "{ }", "log: argv = "),
        ('name = "kimi-base"', 'name = "a b"', "letters, digits, dot"),
        ('arm = "baseline"', 'arm = "baseline"\nca_file = "/x.pem"', "its url is no https url"),
        ('"kimi"] }', '"kimi"], resume = ["--since"] }', 'resume: ["--since", "{rfc3339}"]'),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_what_was_expected(
    old: str, new: str, said: str
) -> None:
    assert old in GOOD
    problems = refused(GOOD.replace(old, new, 1))
    assert any(said in problem for problem in problems), problems
    assert all(problem.startswith("fleet.toml:") for problem in problems)


def test_an_https_server_and_a_log_that_resumes_by_time() -> None:
    text = GOOD.replace(
        'url = "http://localhost:8000/"', 'url = "https://gpu8:8000"\nca_file = "~/ca.pem"'
    )
    text = text.replace('"kimi"] }', '"kimi"], resume = ["--since", "{rfc3339}"] }')
    base, eagle = read(text).servers
    assert base.ca_file == str(Path.home() / "ca.pem")
    assert eagle.log == LogSource(
        argv=("docker", "logs", "-f", "kimi"), resume=("--since", "{rfc3339}")
    )


def test_all_mistakes_are_told_at_once() -> None:
    text = GOOD.replace('host = "gpu8"', 'host = "x"').replace("port = 8000", "port = 0")
    text = text.replace('arm = "speculative"', "")
    assert len(refused(text)) == 3


def test_a_file_without_a_server_is_refused() -> None:
    assert refused('schema = "fleet/1"\n') == [
        "fleet.toml:1:1: no [[server]]: at least one was expected"
    ]


LINES = GOOD.splitlines()


@settings(max_examples=150)
@given(
    st.integers(0, len(LINES) - 1),
    st.sampled_from(["", "x = 1", "= 3", "[x]", 'name = ["a"]', "url = { a = [[1]] }", "\x00"]),
)
def test_one_wrong_line_is_never_a_traceback(place: int, line: str) -> None:
    text = "\n".join([*LINES[:place], line, *LINES[place + 1 :]]) + "\n"
    try:
        fleet = read(text)
    except BadFile as error:
        assert error.problems
    else:
        assert fleet.servers


def test_where_the_file_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, config = tmp_path / "here", tmp_path / "config"
    for folder in (here, config):
        folder.mkdir(exist_ok=True)
    monkeypatch.chdir(here)
    assert find_fleet(None) is None
    found = []
    for folder in (config, here):
        (folder / "fleet.toml").write_text(GOOD)
        found.append(find_fleet(None))
    assert found == [config / "fleet.toml", here / "fleet.toml"]
    assert find_fleet("x.toml") == Path("x.toml")
