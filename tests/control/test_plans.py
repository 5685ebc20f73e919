"""The verb plan: what documents ask for, of files here and of a host's files and folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from console.control.plans import plan_outcome, plan_read
from console.control.port import Argument, Outcome
from console.model.exits import Exit
from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.model.mask import Masks
from console.transport.local import LocalWire

SIX = ["NCCL_PROTO=LL", "NCCL_ALGO=Ring", "NCCL_BUFFSIZE=16777216"]
PLAN = "# Plan\n\n```bash\nexport NCCL_PROTO=LL NCCL_ALGO=Ring\nNCCL_BUFFSIZE=16777216 serve\n```\n"


def plan(path: Path, **given: Argument) -> Outcome:
    return plan_outcome({"file": str(path), **given}, Masks())


def test_a_plan_gives_what_it_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text(PLAN)
    outcome = plan(path)
    assert outcome.ok
    assert str(outcome.results["env"]).split() == SIX


def test_a_plan_that_contradicts_itself_is_refused_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("`NCCL_PROTO=LL`\n\nor\n\n`NCCL_PROTO=Simple`\n")
    outcome = plan(path)
    assert outcome.exit is Exit.STEP
    assert outcome.text.endswith("NCCL_PROTO is set to LL and Simple (lines 1, 5)")


def test_a_value_that_nccl_reads_otherwise_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.env"
    path.write_text("NCCL_BUFFSIZE=16M\n")
    outcome = plan(path)
    assert (outcome.exit, outcome.results["errors"]) == (Exit.ASSERTION, 1)
    assert "NCCL_BUFFSIZE" in outcome.text


def test_nothing_to_import_is_said(tmp_path: Path) -> None:
    assert plan(tmp_path / "none").text.endswith("no such file or directory")
    (tmp_path / "empty.md").write_text("nothing\n")
    assert plan(tmp_path / "empty.md").text.endswith("no variable NCCL_* is set there")
    assert plan(tmp_path / "empty.md", format="nonsense").exit is Exit.STEP


@dataclass
class Box:
    """A fleet of this machine alone, looked at over a real wire."""

    fleet: Fleet

    def wire(self, host: str) -> LocalWire:
        return LocalWire(self.fleet.host(host))


async def on_host(file: str, **given: Argument) -> Outcome:
    server = Server("s", "slot", Arm.BASELINE, "http://x")
    fleet = Fleet("f", (Host("box"),), (Slot("slot", "box"),), (server,), "")
    return await plan_read(cast("Any", Box(fleet)), {"file": file, **given}, Masks())


async def test_a_host_s_file_is_read_as_one_here(tmp_path: Path) -> None:
    path = tmp_path / "the plan.md"
    path.write_text(PLAN)
    outcome = await on_host(f"box:{path}")
    assert (outcome.exit, outcome.text) == (Exit.OK, f"3 variables from box:{path}")
    assert str(outcome.results["env"]).split() == SIX
    assert (await on_host(str(path))).text == f"3 variables from {path}", "a file here"
    assert (await on_host(f"box:{path}", format="nonsense")).exit is Exit.STEP


async def test_of_a_host_s_folder_its_one_plan_is_taken_or_all_are_named(tmp_path: Path) -> None:
    first, second = tmp_path / "notes" / "plan.md", tmp_path / "run.sh"
    first.parent.mkdir()
    first.write_text(PLAN)
    (tmp_path / "readme.md").write_text("NCCL_PROTO is a variable\n")
    assert (await on_host(f"box:{tmp_path}")).text == f"3 variables from box:{first}"
    second.write_text("export NCCL_P2P_LEVEL=SYS\n")
    outcome = await on_host(f"box:{tmp_path}")
    assert (outcome.exit, outcome.text) == (
        Exit.STEP,
        "2 files set variables there: name one of them",
    )
    assert list(outcome.lines) == [
        f"box:{first}  NCCL_PROTO, NCCL_ALGO, NCCL_BUFFSIZE",
        f"box:{second}  NCCL_P2P_LEVEL",
    ]
    assert (await on_host(f"box:{tmp_path}", match="NCCL_P2P_*")).results["count"] == 1


async def test_what_a_host_has_not_is_said(tmp_path: Path) -> None:
    gone = await on_host(f"box:{tmp_path}/gone")
    assert (gone.ok, gone.text.startswith("box: ")) == (False, True)
    assert "gone" in gone.text
    empty = await on_host(f"box:{tmp_path}")
    assert empty.text == f"box:{tmp_path}: no variable NCCL_* is set there"
    other = await on_host(f"nobody:{tmp_path}")
    assert other.text == f"nobody:{tmp_path}: no such file or directory"
