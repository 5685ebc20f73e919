"""Every command, file and exit code that the README and the docs show, run or read for real.

A command that is new in the README fails here until it says how it is run.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from console.control.script import load_script
from console.model.exits import MEANINGS, Exit
from console.model.verbs import script_verbs
from console.store.fleet import load_fleet
from console.store.settings import load_settings
from tests.rig.terminal import Terminal

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
STORY, NIGHT = (str(ROOT / "sample_sessions" / f"{name}.toml") for name in ("story", "lab-night"))
CHECK = str(ROOT / "sample_sessions" / "scripts" / "check.toml")
REAL = {
    "FILE": CHECK,
    "SESSION": STORY,
    "SERVER": "kimi-base",
    "A": f"{NIGHT}#b1",
    "B": f"{NIGHT}#s2",
}

LOOK = """
schema = "script/1"
name = "look"
targets = ["kimi-base"]
step = [{ health = {} }]
"""


def blocks(language: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    """Every command line shown, in blocks and in running text, without its comment."""
    shown = [line.split("  #")[0] for block in blocks("sh") for line in block.splitlines()]
    shown += re.findall(r"`(spec-console [^`]+)`", README)
    told = [line.strip() for line in shown if line.startswith(("spec-console", "make "))]
    return list(dict.fromkeys(told))


def words(command: str) -> list[str]:
    """A command with real names in the place of those in capitals, and nothing optional."""
    bare = re.sub(r"\[[^]]*\]", "", command)
    real = REAL if command != "spec-console --script FILE" else {"FILE": "look.toml"}
    return [real.get(word, word) for word in shlex.split(bare)[1:]]


def run(
    *argv: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "console", *argv],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


ENDS: dict[str, Exit] = {
    "spec-console doctor": Exit.UNREACHABLE,
    "spec-console --script FILE --replay SESSION": Exit.OK,
    "spec-console --script sample_sessions/scripts/check.toml --replay "
    "sample_sessions/story.toml": Exit.OK,
    "spec-console bench SERVER": Exit.UNREACHABLE,
    "spec-console bench SERVER --api chat": Exit.UNREACHABLE,
    "spec-console compare A B": Exit.OK,
    "spec-console env truth SERVER": Exit.UNREACHABLE,
    "spec-console session info SESSION": Exit.OK,
    "spec-console script lint FILE": Exit.OK,
    "spec-console schema fleet": Exit.OK,
    "spec-console schema script": Exit.OK,
    "spec-console schema theme": Exit.OK,
    "spec-console schema output": Exit.OK,
    "spec-console settings": Exit.OK,
    "spec-console completions bash": Exit.OK,
    "spec-console --script FILE": Exit.UNREACHABLE,
}
"""Commands that are run here, and how they end where no box is reached."""

SCREENS = {
    "spec-console": "kimi-base",
    "spec-console --replay SESSION": "kimi-eagle3",
    "spec-console --replay sample_sessions/story.toml": "kimi-eagle3",
}
"""Commands with a screen: what stands on it."""

ELSEWHERE = {
    "make demo": "tests/live/test_demo.py",
    "make test": "Makefile",
    "spec-console --demo --script … --apply --yes-target kimi-base --yes-target kimi-eagle3": (
        "tests/live/test_story_script.py"
    ),
    "spec-console probe allreduce SERVER [PROFILE …]": "tests/services/test_allreduce.py",
    "spec-console bench A --against B --protocol confirmed --apply --yes-target A --yes-target B": (
        "tests/command/test_bench.py"
    ),
    "spec-console --demo --script sample_sessions/scripts/night.toml --apply --yes-target "
    "kimi-eagle3": "tests/live/test_demo.py",
}
"""Commands that take minutes or a box: which file runs them."""


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """A folder with the README's fleet file, whose host leads nowhere."""
    text = next(block for block in blocks("toml") if "fleet/1" in block)
    nowhere = 'ssh_config = "nowhere"\n'
    text = text.replace('ssh = "gpu8" ', f'{nowhere}ssh = "gpu8" ')
    (tmp_path / "fleet.toml").write_text(text)
    (tmp_path / "look.toml").write_text(LOOK)
    (tmp_path / "nowhere").write_text("Host *\n  HostName 127.0.0.1\n  Port 9\n")
    return tmp_path


def test_every_command_shown_is_run_somewhere() -> None:
    known = {*ENDS, *SCREENS, *ELSEWHERE}
    assert set(commands()) - known == set()
    assert known - set(commands()) == set()
    for place in ELSEWHERE.values():
        assert (ROOT / place).is_file()


@pytest.mark.parametrize("command", ENDS)
def test_a_command_ends_as_it_should(command: str, box: Path) -> None:
    argv = [word if not word.startswith("sample_") else str(ROOT / word) for word in words(command)]
    done = run(*argv, cwd=box, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == ENDS[command], f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", SCREENS)
def test_a_command_with_a_screen_paints_it_and_leaves(command: str, box: Path) -> None:
    argv = [word if not word.startswith("sample_") else str(ROOT / word) for word in words(command)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with Terminal([sys.executable, "-m", "console", *argv], env=env, cwd=box) as terminal:
        terminal.wait_for(SCREENS[command], 60)
        terminal.press("q")
        assert terminal.wait_exit(60) == Exit.OK


@pytest.mark.parametrize("target", ["demo", "test", "bench"])
def test_make_knows_its_targets_and_prints_them_only(target: str) -> None:
    argv: Sequence[str] = ["make", "-n", f"BIN={os.devnull}", target]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr
    assert "passed" not in done.stdout
    assert f"{os.devnull}/" in done.stdout


def test_every_toml_block_is_read_by_what_it_is_for(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = load_fleet(box / "fleet.toml")
    assert [server.name for server in fleet.servers] == ["kimi-base"]
    read = {"fleet/1"}
    for text in blocks("toml"):
        if "script/1" in text:
            path = box / "check.toml"
            path.write_text(text)
            assert text in Path(CHECK).read_text()
            assert load_script(path, fleet).name == "check"
            read.add("script/1")
        if "settings/1" in text:
            folder = box / "config"
            folder.mkdir()
            (folder / "settings.toml").write_text(text)
            monkeypatch.setenv("SPEC_CONSOLE_CONFIG", str(folder))
            settings = load_settings({})
            assert settings.theme == "light"
            assert settings.keymap["logs.follow"] == "end"
            read.add("settings/1")
    shown = {found for text in blocks("toml") for found in re.findall(r'schema = "(.*?)"', text)}
    assert read == shown


def test_exit_codes_are_those_of_the_program() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+?) \|$", README, re.MULTILINE)
    assert {int(code): told for code, told in rows} == {
        code.value: meaning for code, meaning in MEANINGS.items()
    }


def test_the_verbs_of_scripts_are_all_named() -> None:
    paragraph = next(line for line in README.splitlines() if line.startswith("Verbs: "))
    named = set(re.findall(r"`([a-z]+)`", paragraph.split("A step has one verb")[0]))
    assert set(script_verbs()) <= named


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/session-format.md"])
def test_files_that_are_named_are_there(page: str) -> None:
    text = (ROOT / page).read_text()
    linked = [to for to in re.findall(r"\]\(([^)]+)\)", text) if "://" not in to]
    folders = "docs|sample_sessions|themes|tests|console|model|engines|stream|control|render|ui"
    named = re.findall(rf"`((?:{folders})/[\w./-]+\.\w+)`", text)
    for name in [*linked, *named]:
        base = (ROOT / page).parent
        places = (base / name, ROOT / name, ROOT / "console" / name)
        assert any(place.exists() for place in places), name
