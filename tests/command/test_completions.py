"""Completions, each tried in its own shell: what the shell offers is what the parsers take."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from console.cli import COMMANDS, parser
from console.command.completions import SHELLS, collect
from tests.command.running import run

BASH = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_spec_console
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(shell: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """What a shell offers at the end of this line."""
    assert shutil.which(shell), f"{shell} is needed: apt-packages of the project name it"
    script = tmp_path / f"completions.{shell}"
    made = run(capsys, "completions", shell)
    assert made.code == 0, made.err
    script.write_text(made.out)
    if shell == "fish":
        code = f"source {script}; complete --do-complete '{line}'"
    else:
        words = " ".join(f"'{word}'" for word in line.split(" "))
        code = BASH.format(script=script, words=words)
        if shell == "zsh":
            # bashcompinit gives zsh bash's arrays, which begin at 0.
            code = "autoload -Uz compinit && compinit -u -D\nsetopt ksharrays\n" + code
    done = subprocess.run(
        [shell, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}, timeout=30,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return {word.split("\t")[0].strip() for word in done.stdout.splitlines() if word.strip()}


@pytest.mark.parametrize("shell", SHELLS)
def test_subcommands_are_offered(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(COMMANDS) <= offered(shell, "spec-console ", tmp_path, capsys)
    assert offered(shell, "spec-console doc", tmp_path, capsys) == {"doctor"}


@pytest.mark.parametrize("shell", SHELLS)
def test_options_are_offered(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = {name for action in parser()._actions for name in action.option_strings}
    long = {name for name in every if name.startswith("--")}
    assert long <= offered(shell, "spec-console --", tmp_path, capsys)
    assert offered(shell, "spec-console --repl", tmp_path, capsys) == {"--replay"}
    assert offered(shell, "spec-console --assume ", tmp_path, capsys) >= {"sober", "hopeful"}


@pytest.mark.parametrize("shell", SHELLS)
def test_verbs_of_a_subcommand_and_their_options_are_offered(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {"info", "diff", "scrub"} <= offered(shell, "spec-console session ", tmp_path, capsys)
    assert "doctor" not in offered(shell, "spec-console session ", tmp_path, capsys)
    assert "--json" in offered(shell, "spec-console session info --", tmp_path, capsys)
    assert offered(shell, "spec-console completions ", tmp_path, capsys) == set(SHELLS)


@pytest.mark.parametrize("shell", SHELLS)
def test_files_are_offered_where_one_is_taken(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "night.toml").write_text("")
    assert "night.toml" in offered(shell, "spec-console --replay nig", tmp_path, capsys)
    assert "night.toml" in offered(shell, "spec-console session info nig", tmp_path, capsys)


def test_every_subcommand_is_known() -> None:
    known = {words.path for words in collect()}
    assert {(name,) for name in COMMANDS} <= known
