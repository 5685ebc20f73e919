"""A host whose disk fills in the middle of an act: said in one line, nothing half-written is later
trusted, and what ran is back or said not to be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.control.port import Argument
from console.model.exits import Exit
from console.stream.run_events import ActRequested
from console.stream.state import Item, State
from tests.live.acting import Slot, acting, serve
from tests.live.test_acts import YES, cut_at, left, servers
from tests.rig.disk import SmallDisk
from tests.rig.llama import health
from tests.rig.ports import free_port
from tests.services.launching import ended, environ

pytestmark = [pytest.mark.rig, pytest.mark.xdist_group("acts")]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """The small disk on which the host keeps what a console writes there."""
    home = tmp_path / "small"
    home.mkdir()
    with SmallDisk(home) as small:
        yield small


@pytest.fixture
def slot(tmp_path: Path, disk: SmallDisk) -> Iterator[Slot]:
    """A slot on a host with that disk."""
    enter = (*disk.enter, "env", f"HOME={disk.folder}")
    with ended(str(tmp_path)):
        yield Slot(tmp_path, free_port(), enter=enter)


@pytest.fixture
def models(llama_folder: Path, tmp_path: Path) -> Path:
    """The models under a name of this test's own."""
    own = tmp_path / "models"
    own.symlink_to(llama_folder)
    return own


async def test_full_before_anything_was_stopped_nothing_is(
    slot: Slot, models: Path, disk: SmallDisk
) -> None:
    slot.add("base", serve(models, slot.port))
    async with acting(slot.file(), *YES) as console:
        first = await console.do("launch", "base", env="NCCL_PROTO=LL")
        assert first.exit is Exit.OK, first.text
        cut_at(console, "keep", disk.fill)
        again = await console.do("restart", "base", env="NCCL_ALGO=Tree")
        assert again.exit is Exit.GUARD, again.text
        assert again.text.startswith("what runs now cannot be brought back: cannot write /")
        assert ": No space left on device; nothing" in again.text
        assert again.text.endswith("nothing was stopped")
        (pid,) = servers(models)
        assert pid == first.results["pid"]
        assert "NCCL_ALGO" not in environ(pid)
        disk.empty()
        again = await console.do("restart", "base", env="NCCL_ALGO=Tree")
        assert again.exit is Exit.OK, again.text


@pytest.mark.parametrize("phase", ["term", "launch"])
async def test_full_before_the_launch_it_says_that_nothing_runs_and_where_the_recipe_is(
    phase: str, slot: Slot, models: Path, disk: SmallDisk
) -> None:
    slot.add("base", serve(models, slot.port))
    async with acting(slot.file(), *YES) as console:
        first = await console.do("launch", "base", env="NCCL_PROTO=LL")
        assert first.exit is Exit.OK, first.text
        cut_at(console, phase, disk.fill)
        again = await console.do("restart", "base", on_fail="rollback")
        assert again.exit is Exit.STEP, again.text
        assert again.text.startswith("not launched: the recipe cannot be made: ")
        assert again.text.count(": No space left on device") == 2
        assert "; roll back failed too: " in again.text
        assert "; the slot is empty, what ran is kept as /" in again.text
        assert "\n" not in again.text
        assert servers(models) == []
        disk.empty()
        # What was kept before the disk was full is whole.
        kept = Path(again.text.rpartition(" ")[2])
        told = (disk.seen / kept.relative_to(disk.folder)).read_text()
        assert "\ne NCCL_PROTO=LL\n" in told
        assert told.endswith("\n.\n")
        up = await console.do("launch", "base")
        assert up.exit is Exit.OK, up.text


async def test_full_while_it_loads_it_comes_up_and_can_be_stopped(
    slot: Slot, models: Path, disk: SmallDisk
) -> None:
    slot.add("base", serve(models, slot.port))
    async with acting(slot.file(), *YES) as console:
        cut_at(console, "load", disk.fill)
        first = await console.do("launch", "base")
        assert first.exit is Exit.OK, first.text
        assert health(slot.port) == 200
        assert servers(models) == [first.results["pid"]]
        # A stop writes nothing it needs.
        stopped = await console.do("stop", "base")
        assert stopped.exit is Exit.OK, stopped.text
    assert servers(models) == []


async def test_an_environment_file_that_finds_no_room_is_not_begun_or_not_changed(
    slot: Slot, models: Path, disk: SmallDisk
) -> None:
    slot.add("base", serve(models, slot.port))
    file = disk.seen / "serve.env"
    given: dict[str, Argument] = {"file": f"{disk.folder}/serve.env", "env": "NCCL_PROTO=LL"}

    def requested(item: Item, _state: State) -> None:
        if isinstance(item, ActRequested):
            disk.fill()

    async with acting(slot.file(), *YES) as console:
        disk.fill()
        refused = await console.do("envfile", "base", **given)
        assert refused.exit is Exit.GUARD, refused.text
        assert refused.text.startswith("envfile refused: the host cannot be locked: cannot write")
        assert refused.text.endswith("/lock: No space left on device")
        disk.empty()
        file.write_text("NCCL_PROTO=Simple\n")
        console.live.timeline.subscribe(requested)
        failed = await console.do("envfile", "base", **given)
        assert failed.exit is Exit.STEP, failed.text
        assert failed.text.endswith("serve.env could not be written: No space left on device")
        assert console.ends()[-1][0] == "failed"
        assert file.read_text() == "NCCL_PROTO=Simple\n"
        assert not (disk.seen / ".spec-console" / "lock").exists()


async def test_full_while_it_rolls_back_it_says_so(
    slot: Slot, models: Path, disk: SmallDisk, tmp_path: Path
) -> None:
    slot.add("base", serve(models, slot.port))
    wrong = tmp_path / "wrong.py"
    wrong.write_text("raise SystemExit('CUDA out of memory')")
    slot.add("spec", [sys.executable, str(wrong)], "speculative")
    async with acting(slot.file(), *YES) as console:
        first = await console.do("launch", "base")
        assert first.exit is Exit.OK, first.text
        cut_at(console, "roll back", disk.fill)
        swap = await console.do("swap", "spec", on_fail="rollback")
        assert swap.exit is not Exit.OK
        assert "; roll back failed too: the recipe cannot be made: " in swap.text
        assert "; the slot is empty, what ran is kept as /" in swap.text
    assert left(slot) == []
