"""Both arms of one slot measured by turns of launches: B S S B on real llama.cpp servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.model.exits import Exit
from console.model.text import plain
from console.stream.run_events import ActFinished, ActRequested, BenchStarted
from tests.live.acting import Console, Person, Slot, acting, serve
from tests.rig.ports import free_port
from tests.rig.sshd import Sshd
from tests.services.launching import ended, with_word

pytestmark = [pytest.mark.rig, pytest.mark.xdist_group("acts")]

YES = ("--apply", "--yes-target", "base", "--yes-target", "spec")
PROMPT = '{"id": "ships-1", "kind": "chat", "text": "A lighthouse keeper counts the ships"}\n'


@pytest.fixture
def models(llama_folder: Path, tmp_path: Path) -> Path:
    """The models under a name of this test's own: its servers are known by that word."""
    own = tmp_path / "models"
    own.symlink_to(llama_folder)
    return own


@pytest.fixture
def slot(tmp_path: Path, models: Path, sshd: Sshd) -> Iterator[Slot]:
    """One slot with a recipe for either arm; nothing runs in it."""
    with ended(str(tmp_path)):
        made = Slot(tmp_path, free_port(), sshd)
        made.add("base", serve(models, made.port))
        made.add("spec", serve(models, made.port, "--spec"), arm="speculative")
        (tmp_path / "ships.jsonl").write_text(PROMPT)
        yield made


async def bench(console: Console, folder: Path, **more: object) -> tuple[Exit, str]:
    given = {
        "against": "spec", "tokens": 80, "runs": 3, "depth": "as is",
        "prompts": str(folder / "ships.jsonl"), **more,
    }  # fmt: skip
    outcome = await console.live.do("bench", "base", given, 240.0)  # type: ignore[arg-type]
    return outcome.exit, plain(outcome.text)


def story(console: Console) -> list[str]:
    """Acts and benchmarks in the order in which they began."""
    found = []
    for item in console.items:
        match item:
            case ActRequested():
                found.append(f"{item.verb} {item.server}")
            case BenchStarted():
                found.append(f"{item.bench}: launch {item.launch}")
            case _:
                pass
    return found


async def test_b_s_s_b_by_launches_in_one_slot_confirmed_once(slot: Slot) -> None:
    person = Person(lambda question: question.must_type or question.choices[1])
    async with acting(slot.file(), ask=person) as console:
        await console.do("unlock", "")
        code, text = await bench(console, slot.folder, launches=2)
        assert code is Exit.OK, text
        assert text.endswith("; base is left running")
        assert story(console) == [
            "launch base", "b1: launch 1",
            "swap spec", "s2: launch 1",
            "restart spec", "s3: launch 2",
            "swap base", "b4: launch 2",
        ]  # fmt: skip
        (asked,) = person.asked
        assert asked.text.startswith("bench base")
        assert asked.detail[0].startswith("B S S B: ")
        assert asked.detail[0].endswith(", 4 loads")
        assert "a load of spec: not known yet and not in it" in asked.detail
        assert "nothing runs in box:1" in asked.detail
        confirmed = [item.confirmed for item in console.items if isinstance(item, ActRequested)]
        assert confirmed == ["confirmed with the benchmark"] * 4
        came = await console.do("compare", "")
        assert came.exit is Exit.OK, came.lines
        assert any(row.startswith("6+6 runs, one prompt, these launches") for row in came.lines)
        assert not any("one after the other" in line for line in came.lines)
        assert not any("left out" in line for line in came.lines)
        assert len(with_word(f"{slot.folder}/models")) == 1


async def test_without_leave_nothing_is_measured_and_nothing_ended(slot: Slot) -> None:
    async with acting(slot.file(), "--apply", "--yes-target", "base") as console:
        code, text = await bench(console, slot.folder)
        assert (code, text) == (
            Exit.GUARD, "bench refused: not confirmed: --yes-target spec is missing",
        )  # fmt: skip
        assert story(console) == []
    async with acting(slot.file(), "--yes-target", "base", "--yes-target", "spec") as console:
        code, text = await bench(console, slot.folder)
        assert code is Exit.GUARD
        assert text.endswith("nothing on a host is changed without --apply")
        assert story(console) == []


async def test_a_launch_that_fails_ends_it_and_keeps_what_was_measured(
    slot: Slot, models: Path
) -> None:
    slot.servers.pop()
    slot.add("spec", serve(models / "no-models", slot.port, "--spec"), arm="speculative")
    async with acting(slot.file(), *YES) as console:
        code, text = await bench(console, slot.folder, launches=2)
        assert code is Exit.STEP
        assert text.startswith("b1: base (baseline) ")
        assert "; swap spec: " in text
        assert text.endswith("; 3 of 4 launches left out")
        ends = [item.outcome for item in console.items if isinstance(item, ActFinished)]
        assert ends == ["done", "failed"]
