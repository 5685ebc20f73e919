"""The env commands on files: what is printed, how they exit, that hostile text does nothing."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from console.command.env import main
from console.model.exits import Exit
from console.nccl.export import FORMATS
from console.store.profiles import load_profiles

CASES = Path(__file__).parents[1] / "nccl" / "cases"
STORY = "```sh\nexport NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS NCCL_MAX_NCHANNELS=16\n"
STORY += "export NCCL_BUFFSIZE=16777216 NCCL_NTHREADS=512\n```\n"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.md"
    path.write_text(STORY)
    return path


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_the_six_pass_with_notes_only(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(plan), "--nccl", "2.27.7", "--pcie", "--gpus", "8"]) is Exit.OK
    *told, summary = capsys.readouterr().out.splitlines()
    assert told
    assert {line.split(": ")[1] for line in told} == {"note"}
    assert f"{plan}:2: note: NCCL_MAX_NCHANNELS=16: still read" in "\n".join(told)
    assert summary.endswith(f"0 errors, 0 warnings, {len(told)} notes")
    assert "6 variables for NCCL 2.27.7:" in summary


def test_a_value_read_otherwise_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "x.env", "NCCL_BUFFSIZE=16M\nNCCL_P2P_LEVEL=sys\n")
    assert main(["check", path]) is Exit.ASSERTION
    out = capsys.readouterr().out
    assert f"{path}:1: error: NCCL_BUFFSIZE=16M:" in out
    assert "NCCL uses 16; meant: 16777216" in out
    assert main(["check", path, "--json"]) is Exit.ASSERTION
    told = json.loads(capsys.readouterr().out)
    assert [one["severity"] for one in told["findings"]] == ["error", "error"]
    assert told["values"] == {"NCCL_BUFFSIZE": "16M", "NCCL_P2P_LEVEL": "sys"}


def test_standard_input_is_a_file_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"NCCL_PROTO=LL\n")))
    assert main(["check", "-", "--format", "env"]) is Exit.OK
    assert "1 variable for NCCL" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "no-such-file"], "no-such-file: no such file or directory"),
        (["check", "{plan}", "--nccl", "new"], '"new" is no version'),
        (["check", "{plan}", "--format", "odd"], 'no format is called "odd"'),
        (["check", "{zeroed}"], "all of the block is zeroed"),
        (["explain", "NCCL_PROTOO"], "did you mean NCCL_PROTO?"),
        (["diff", "{plan}", "nothing"], "nothing: no such file or directory"),
        (["import", "{plan}", "--pick", "x"], "NAME=VALUE was expected"),
        (["truth", "x", "--fleet", "{fleet}"], 'no server is named "x" (known: a)'),
        (["truth", "x", "--fleet", "none.toml"], "none.toml:1:1: no such file or directory"),
        (["find", "/", "--on", "x", "--fleet", "{fleet}"], 'no host is named "x" (known: here)'),
    ],
)
def test_what_cannot_be_used_exits_2_with_one_line(
    arguments: list[str],
    said: str,
    plan: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    zeroed = tmp_path / "environ"
    zeroed.write_bytes(bytes(200))
    fleet = written(
        tmp_path,
        "fleet.toml",
        'schema = "fleet/1"\n[[host]]\nname = "here"\nlocal = true\n[[slot]]\nname = "s"\n'
        'host = "here"\n[[server]]\nname = "a"\nslot = "s"\narm = "baseline"\nurl = "http://x:1"\n',
    )
    filled = [text.format(plan=plan, zeroed=zeroed, fleet=fleet) for text in arguments]
    assert main(filled) is Exit.USAGE
    streams = capsys.readouterr()
    assert said in streams.err
    assert (streams.out, streams.err.count("\n")) == ("", 1)


def test_a_variable_is_explained_for_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "p2p_level", "--nccl", "2.27.7"]) is Exit.OK
    out = capsys.readouterr().out
    assert out.startswith("name        NCCL_P2P_LEVEL\n")
    assert "(NCCL 2.27.7)" in out
    assert main(["explain", "NCCL_CUMEM_ENABLE", "--json"]) is Exit.OK
    assert json.loads(capsys.readouterr().out)["name"] == "NCCL_CUMEM_ENABLE"


def test_two_sets_differ_by_name(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = written(tmp_path, "other.env", "NCCL_PROTO=ll\nNCCL_BUFFSIZE=0x1000000\nNCCL_X=1\n")
    assert main(["diff", str(plan), other]) is Exit.OK
    told = capsys.readouterr().out.splitlines()
    assert "NCCL_ALGO: Ring → unset" in told
    assert "NCCL_BUFFSIZE: 16777216 → 0x1000000   (NCCL reads both alike)" in told
    assert "NCCL_X: unset → 1" in told
    assert main(["diff", str(plan), str(plan)]) is Exit.OK
    assert capsys.readouterr().out == "the same 6 variables\n"


@pytest.mark.parametrize("to", FORMATS)
def test_every_form_can_be_written(to: str, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(plan), "--to", to]) is Exit.OK
    text = capsys.readouterr().out
    assert text.count("NCCL_") == 6


def test_the_operator_picks_among_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "plan.md", "`NCCL_PROTO=LL` or\n\n`NCCL_PROTO=Simple`\n")
    assert main(["import", path, "--to", "env"]) is Exit.ASSERTION
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "NCCL_PROTO is set to LL and Simple (lines 1, 3): --pick one" in streams.err
    assert main(["import", path, "--to", "env", "--pick", "NCCL_PROTO=LL"]) is Exit.OK
    assert capsys.readouterr().out == "NCCL_PROTO=LL\n"
    assert main(["import", path, "--to", "env", "--pick", "NCCL_PROTO=LL128"]) is Exit.ASSERTION


def test_a_profile_is_kept_beside_the_fleet_and_compared(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet.toml"
    fleet.write_text("")
    given = ["--fleet", str(fleet)]
    save = ["import", str(plan), "--save", "llring", "--server", "base", *given]
    assert main(save) is Exit.OK
    profile = load_profiles(tmp_path / "profiles.toml").of("base")
    assert profile is not None
    assert (profile.origin, len(profile.values)) == (f"{plan}:2–3", 6)
    assert main(save) is Exit.USAGE
    assert 'named "llring" already' in capsys.readouterr().err
    assert main([*save, "--replace"]) is Exit.OK
    assert main(["diff", "llring", str(plan), *given]) is Exit.OK
    assert "the same 6 variables" in capsys.readouterr().out


def test_hostile_text_reaches_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "NCCL_PROTO='\x1b]0;owned\x07'\nNCCL_X\x1b[2J=1\nNCCL_ALGO=\x9b31m\n"
    path = written(tmp_path, "evil\x1b[31m.env", evil)
    for verb in (["check", path], ["diff", path, path], ["find", str(tmp_path)]):
        main(verb)
    streams = capsys.readouterr()
    assert "\x1b" not in streams.out + streams.err
    assert "\x9b" not in streams.out + streams.err


def test_files_of_a_folder_are_found_with_their_lines(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "serve.sh").write_text("# NCCL_ALGO=Tree\nexport NCCL_ALGO=Ring\n")
    (tmp_path / "big.txt").write_text("NCCL_PROTO=LL\n" + "x" * 3_000_000)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.sh").write_text("export NCCL_ALGO=Ring\n")
    (tmp_path / "touched").write_text("$(touch owned) NCCL_PROTO=`touch owned`\n")
    assert main(["find", str(tmp_path)]) is Exit.OK
    out = capsys.readouterr().out
    assert f"{plan}:3: NCCL_BUFFSIZE=16777216\n" in out
    assert f"{deep}/serve.sh:1: NCCL_ALGO=Tree   (commented)\n" in out
    assert f"{deep}/serve.sh:2: NCCL_ALGO=Ring\n" in out
    assert ".git" not in out
    assert "big.txt" not in out
    assert not list(tmp_path.rglob("owned"))
    assert main(["find", str(tmp_path), "--depth", "2", "--json"]) is Exit.OK
    files = [json.loads(line)["file"] for line in capsys.readouterr().out.splitlines()]
    assert str(deep / "serve.sh") not in files
    assert main(["find", str(tmp_path / "none")]) is Exit.STEP
    assert "No such file or directory" in capsys.readouterr().err


def test_a_search_that_meets_its_bounds_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        (tmp_path / f"{number}.env").write_text("NCCL_PROTO=LL\n")
    assert main(["find", str(tmp_path), "--files", "3"]) is Exit.OK
    streams = capsys.readouterr()
    assert streams.out.count("NCCL_PROTO") == 3
    assert "only the first 3 files were read" in streams.err


@pytest.mark.parametrize("path", sorted(CASES.glob("*-*")), ids=lambda path: path.name)
def test_no_real_file_ends_in_a_traceback(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = (Exit.OK, Exit.ASSERTION, Exit.USAGE)
    for verb in (["check"], ["import", "--to", "env"], ["import", "--json"]):
        assert main([verb[0], str(path), *verb[1:]]) in codes
    assert "Traceback" not in capsys.readouterr().err
