"""Acts on real llama.cpp servers, here and behind a real sshd: nothing twice, nothing left over."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from console.model.ask import Question
from console.model.exits import Exit
from console.model.text import plain
from console.store.audit import chained
from console.stream.run_events import ActAdvanced
from console.stream.state import Item, State
from tests.live.acting import FAST, Console, Person, Slot, acting, by_hand, serve
from tests.live.fleets import ROOT, console
from tests.rig.llama import health
from tests.rig.ports import free_port
from tests.rig.process import runs
from tests.rig.sshd import Sshd
from tests.rig.tmux import Tmux
from tests.rig.waiting import auntil, until
from tests.services.launching import (
    cmdline,
    ended,
    environ,
    parent,
    shifted_clock,
    with_word,
)

pytestmark = [pytest.mark.rig, pytest.mark.xdist_group("acts")]

YES = ("--apply", "--yes-target", "base", "--yes-target", "spec")
SECRET = "hf_AbCdEf0123456789AbCdEf"


@pytest.fixture
def models(llama_folder: Path, tmp_path: Path) -> Path:
    """The models under a name of this test's own: its servers are known by that word."""
    own = tmp_path / "models"
    own.symlink_to(llama_folder)
    return own


@pytest.fixture
def slot(tmp_path: Path, sshd: Sshd) -> Iterator[Slot]:
    """An empty slot behind sshd; whatever runs of this test afterwards is ended."""
    with ended(str(tmp_path)):
        yield Slot(tmp_path, free_port(), sshd)


def servers(models: Path) -> list[int]:
    """Every server of this test that runs. A child that is about to become another program still
    has its parent's words, and is no server."""
    found = with_word(str(models))
    return [pid for pid in found if parent(pid) not in (None, *found)]


def left(slot: Slot) -> list[int]:
    """Every server of this test that runs, those with a wrong recipe among them."""
    words = ("models", "no-models", "wrong.py")
    return sorted(pid for word in words for pid in with_word(f"{slot.folder}/{word}"))


def cut_at(console: Console, phase: str, cut: Callable[[], object]) -> None:
    """Do something once when an act comes to a phase."""
    left = [cut]

    def take(item: Item, _state: State) -> None:
        if isinstance(item, ActAdvanced) and item.phase == phase and left:
            left.pop()()

    console.live.timeline.subscribe(take)


@pytest.mark.parametrize("how", ["nohup", "tee", "tmux"])
async def test_a_server_started_by_hand_is_adopted_and_launched_again_with_wanted_variables(
    how: str, slot: Slot, models: Path, tmux: Callable[..., Tmux]
) -> None:
    log = slot.add("base", None)
    argv = serve(models, slot.port)
    started = by_hand(argv, {"NCCL_PROTO": "LL", "HF_TOKEN": SECRET}, log)[how]
    if how == "tmux":
        tmux(["/bin/sh", "-c", started], cwd=ROOT)
    else:
        script = slot.folder / "run.sh"
        script.write_text(started)
        subprocess.Popen(["/bin/sh", str(script)], cwd=ROOT, start_new_session=True)  # noqa: ASYNC220
    await auntil(lambda: health(slot.port) == 200, 20, "up")
    (pid,) = [one for one in servers(models) if cmdline(one) == argv]
    async with acting(slot.file(), *YES) as console:
        adopted = await console.do("adopt", "base")
        assert adopted.exit is Exit.OK, adopted.text
        assert adopted.results["pid"] == pid
        assert adopted.results["log"] == ("" if how == "tmux" else str(log))
        assert [plain(word) for word in adopted.lines] == argv
        wanted = "NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS -NCCL_PROTO"
        again = await console.do("restart", "base", env=wanted)
        assert again.exit is Exit.OK, again.text
        assert again.results["outcome"] == "done"
    assert not runs(pid)
    (new,) = servers(models)
    assert new == again.results["pid"]
    assert cmdline(new) == argv
    assert os.readlink(f"/proc/{new}/cwd") == str(ROOT)
    held = environ(new)
    assert (held["NCCL_ALGO"], held["NCCL_P2P_LEVEL"]) == ("Ring", "SYS")
    assert "NCCL_PROTO" not in held
    assert held["HF_TOKEN"] == SECRET
    assert health(slot.port) == 200
    audit = (slot.folder / "state" / "audit.jsonl").read_text()
    told = repr(console.items) + audit + repr(adopted) + repr(again)
    assert SECRET not in told
    kept = str(adopted.results["recipe"])
    assert SECRET in Path(kept).read_text()  # noqa: ASYNC240
    assert os.stat(kept).st_mode & 0o777 == 0o600


async def test_arms_are_swapped_and_swapped_back(slot: Slot, models: Path) -> None:
    slot.add("base", serve(models, slot.port))
    slot.add("spec", serve(models, slot.port, "--spec"), "speculative")
    async with acting(slot.file(), *YES) as console:
        first = await console.do("launch", "base", env="NCCL_PROTO=LL", see="ranks nccl")
        assert first.exit is Exit.OK, first.text
        held = environ(int(first.results["pid"]))
        assert (held["NCCL_PROTO"], held["SPT_NOENV"]) == ("LL", "1")
        assert held["NCCL_DEBUG_FILE"] == f"{slot.folder}/base.log.nccl.%h.%p"
        for arm, other in (("spec", "base"), ("base", "spec")):
            refused = await console.do("stop", arm)
            assert refused.exit is Exit.GUARD
            assert f"{other} runs in this slot, not {arm}" in refused.text
            swapped = await console.do("swap", arm)
            assert swapped.exit is Exit.OK, swapped.text
            assert servers(models) == [swapped.results["pid"]]
        stopped = await console.do("stop", "base")
        assert stopped.exit is Exit.OK
        assert servers(models) == []
        assert health(slot.port) is None
    lines = (slot.folder / "state" / "audit.jsonl").read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    refused_ones = [one for one in records if one["result"].startswith("refused: ")]
    assert [one["server"] for one in refused_ones] == ["spec", "base"]
    records = [one for one in records if one not in refused_ones]
    assert [one["verb"] for one in records] == [
        verb for verb in ("launch", "swap", "swap", "stop") for _ in range(2)
    ]
    assert records[0]["env_after"]["NCCL_PROTO"] == "LL"
    assert records[2]["env_before"]["NCCL_PROTO"] == "LL"
    assert records[-1]["result"].startswith("done: stopped")
    assert chained(lines) is None
    lines[1] = lines[1].replace(b"done", b"fine")
    assert chained(lines) == 2


DYING = """
import http.server, os, sys, threading
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
        threading.Timer(0.1, lambda: os._exit(3)).start()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
SILENT = "import signal; print('loading', flush=True); signal.pause()"
OOM = """
import signal
print("[2026-02-24 17:00:00 TP3] Scheduler hit an exception: Traceback (most recent call last):\\n"
"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 738.00 MiB. GPU 3 has a total "
"capacity of 94.97 GiB of which 123.00 MiB is free.", flush=True)
signal.pause()
"""


@pytest.mark.parametrize(
    ("program", "code", "why"),
    [
        (None, 3, "the model was not found at the path or name that was given"),
        (DYING, 3, "died after it was ready"),
        (SILENT, 5, "stalled: nothing moved for 6 s"),
        (OOM, 3, "CUDA out of memory on GPU 3"),
    ],
    ids=["bad-model", "dies-after-ready", "never-ready", "out-of-memory"],
)
async def test_a_load_that_fails_is_told_and_rolled_back(
    slot: Slot, models: Path, program: str | None, code: int, why: str
) -> None:
    base = serve(models, slot.port)
    slot.add("base", base)
    argv = serve(slot.folder / "no-models", slot.port)
    if program is not None:
        wrong = slot.folder / "wrong.py"
        wrong.write_text(program)
        argv = [sys.executable, str(wrong), str(slot.port)]
    slot.add("spec", argv, "speculative")
    pace = replace(FAST, stall_s=6.0) if program is SILENT else FAST
    if program is OOM:
        # It stays although it failed: nothing is gained by waiting for its end.
        pace = replace(FAST, kill_grace_s=0.5)
    async with acting(slot.file(), *YES, pace=pace) as console:
        first = await console.do("launch", "base", env="NCCL_PROTO=LL")
        assert first.exit is Exit.OK, first.text
        before = int(first.results["pid"])
        held = environ(before)
        if program is None:
            failed = await console.do("swap", "spec")
            assert failed.exit == code
            assert failed.text.endswith("; the slot is empty")
            assert left(slot) == []
            opened = "no-models/target.gguf' (No such file or directory)"
            assert any(opened in line for line in failed.lines)
            first = await console.do("launch", "base", env="NCCL_PROTO=LL")
            held = environ(int(first.results["pid"]))
        back = await console.do("swap", "spec", on_fail="rollback")
        assert back.exit is Exit.ROLLED_BACK, back.text
        assert why in back.text
        assert "; rolled back: base runs as before, ready after" in back.text
        assert back.results["outcome"] == "rolled back"
    (now,) = left(slot)
    assert now == back.results["pid"] != before
    assert cmdline(now) == base
    assert environ(now) == held
    assert health(slot.port) == 200


async def test_a_taken_port_ends_a_load_and_what_ran_comes_back(slot: Slot, models: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        slot.add("base", serve(models, slot.port))
        slot.add("spec", serve(models, other.getsockname()[1], "--spec"), "speculative")
        async with acting(slot.file(), *YES) as console:
            first = await console.do("launch", "base")
            assert first.exit is Exit.OK, first.text
            back = await console.do("swap", "spec", on_fail="rollback")
            assert back.exit is Exit.ROLLED_BACK, back.text
            assert "port" in back.text.partition(";")[0]
            assert any("bind" in line for line in back.lines)
            assert left(slot) == [back.results["pid"]]
            assert health(slot.port) == 200


async def test_nothing_is_stopped_where_nothing_can_be_kept(slot: Slot, models: Path) -> None:
    slot.add("base", serve(models, slot.port))
    async with acting(slot.file(), *YES) as console:
        first = await console.do("launch", "base")
        assert first.exit is Exit.OK, first.text
        assert slot.sshd is not None
        private = slot.sshd.home / ".spec-console"
        private.rename(private.with_name("elsewhere"))
        private.write_text("no folder can be made here")
        refused = await console.do("restart", "base")
        assert refused.exit is Exit.GUARD
        told = f"restart refused: the host cannot be locked: cannot make {private}"
        assert refused.text == told
        assert servers(models) == [first.results["pid"]]
        assert health(slot.port) == 200


async def test_a_connection_cut_while_it_rolls_back_brings_one_server_back(
    slot: Slot, models: Path
) -> None:
    slot.add("base", serve(models, slot.port))
    slot.add("spec", serve(slot.folder / "no-models", slot.port), "speculative")
    assert slot.sshd is not None
    async with acting(slot.file(), *YES) as console:
        first = await console.do("launch", "base", env="NCCL_PROTO=LL")
        assert first.exit is Exit.OK, first.text
        cut_at(console, "roll back", slot.sshd.restart)
        back = await console.do("swap", "spec", on_fail="rollback")
        assert back.exit is Exit.ROLLED_BACK, back.text
    (pid,) = left(slot)
    assert pid == back.results["pid"]
    assert environ(pid)["NCCL_PROTO"] == "LL"


@pytest.mark.parametrize("phase", ["keep", "term", "gone", "launch", "load"])
async def test_a_connection_cut_in_any_phase_never_makes_two_servers_or_none(
    phase: str, slot: Slot, models: Path
) -> None:
    slot.add("base", serve(models, slot.port))
    assert slot.sshd is not None
    most: list[int] = []
    async with acting(slot.file(), *YES) as console:
        first = await console.do("launch", "base")
        assert first.exit is Exit.OK, first.text
        cut_at(console, phase, slot.sshd.kill_sessions)
        task = asyncio.ensure_future(console.do("restart", "base", env="NCCL_ALGO=Tree"))
        while not task.done():
            most.append(len(servers(models)))
            await asyncio.wait([task], timeout=0.02)
        again = task.result()
        assert again.exit is Exit.OK, again.text
        assert "link" in console.phases
    # Between fork and exec a launch shows for a moment as the shell that becomes the server.
    assert max(most) == 1
    (pid,) = servers(models)
    assert pid == again.results["pid"] != first.results["pid"]
    assert environ(pid)["NCCL_ALGO"] == "Tree"


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        ("term", "base was told to stop; look at what runs"),
        ("launch", "; whether base was started is not known"),
    ],
)
async def test_a_connection_that_stays_cut_ends_an_act_that_says_what_it_leaves(
    phase: str, told: str, slot: Slot, models: Path
) -> None:
    slot.add("base", serve(models, slot.port))
    assert slot.sshd is not None
    pace = replace(FAST, act_link_s=1.0, stop_grace_s=30.0)
    async with acting(slot.file(), *YES, pace=pace) as console:
        first = await console.do("launch", "base")
        assert first.exit is Exit.OK, first.text
        cut_at(console, phase, slot.sshd.stop)
        again = await console.do("restart", "base")
        assert again.exit is Exit.UNREACHABLE, again.text
        assert again.text.startswith(f"left in phase {phase}: ")
        assert told in again.text
        assert console.ends()[-1] == ("failed", plain(again.text))
        slot.sshd.start()
        running = servers(models)
        assert running in ([], [first.results["pid"]])
        assert phase == "term" or running == []


async def test_leaving_in_the_middle_of_a_load_leaves_it_and_says_so(
    slot: Slot, llama_slow_folder: Path
) -> None:
    models = slot.folder / "slow"
    os.symlink(llama_slow_folder, models)
    slot.add("base", serve(models, slot.port))
    async with acting(slot.file(), *YES, pace=replace(FAST, act_settle_s=60.0)) as console:
        task = asyncio.ensure_future(console.do("launch", "base"))
        await auntil(lambda: "load" in console.phases, 10, "loading")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        outcome, text = console.ends()[-1]
        (pid,) = servers(models)
        assert (outcome, text) == (
            "interrupted",
            f"left in phase load: process {pid} was started and goes on",
        )
    async with acting(slot.file(), *YES) as again:
        refused = await again.do("launch", "base")
        assert refused.exit is Exit.GUARD
        assert "in this slot; swap or restart" in refused.text
        assert servers(models) == [pid]
        stopped = await again.do("stop", "base")
        assert stopped.exit is Exit.OK, stopped.text
    assert servers(models) == []


async def test_two_consoles_do_one_act_at_a_time(slot: Slot, models: Path) -> None:
    slot.add("base", serve(models, slot.port))
    async with acting(slot.file(), *YES) as one, acting(slot.file(), *YES) as two:
        both = await asyncio.gather(one.do("launch", "base"), two.do("launch", "base"))
        codes = sorted(outcome.exit for outcome in both)
        assert codes == [Exit.OK, Exit.GUARD]
        (pid,) = servers(models)
        lost = next(outcome for outcome in both if outcome.exit is Exit.GUARD)
        assert "another act has this host: root@" in lost.text or "in this slot" in lost.text
        both = await asyncio.gather(
            one.do("restart", "base", env="NCCL_ALGO=Ring"),
            two.do("restart", "base", env="NCCL_ALGO=Tree"),
        )
        assert sorted(outcome.exit for outcome in both) == [Exit.OK, Exit.GUARD]
        done = next(outcome for outcome in both if outcome.ok)
        assert servers(models) == [done.results["pid"]] != [pid]


async def test_a_stale_lock_is_explained_and_taken_over_only_by_a_person(
    slot: Slot, models: Path
) -> None:
    slot.add("base", serve(models, slot.port))
    assert slot.sshd is not None
    lock = slot.sshd.home / ".spec-console" / "lock"
    lock.mkdir(parents=True)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()  # noqa: ASYNC240
    since_boot = float(Path("/proc/uptime").read_text().split()[0])  # noqa: ASYNC240
    (lock / "at").write_text(f"act-old {boot} {since_boot - 600:.0f}\n")
    (lock / "owner").write_text("ann@laptop since yesterday: restart base\n")
    async with acting(slot.file(), *YES) as console:
        refused = await console.do("launch", "base")
        assert refused.exit is Exit.GUARD
        assert "a stale lock: ann@laptop since yesterday: restart base" in refused.text
        assert f"its lock is {lock} on the host" in refused.text
        assert servers(models) == []
    person = Person(lambda question: question.choices[1])
    async with acting(slot.file(), "--apply", ask=person) as console:
        done = await console.do("launch", "base")
        assert done.exit is Exit.OK, done.text
        assert person.asked[-1].choices == ("Cancel", "Take over")
    assert not os.path.exists(lock)  # noqa: ASYNC240


async def test_on_a_host_whose_clock_is_an_hour_off_acts_go_as_on_any_other(
    tmp_path: Path, models: Path
) -> None:
    variables, hours = shifted_clock(tmp_path)
    with ended(str(tmp_path)), Sshd(tmp_path / "sshd", set_env=variables) as far:
        slot = Slot(tmp_path, free_port(), far)
        slot.add("base", serve(models, slot.port))
        async with acting(slot.file(), *YES) as console:
            first = await console.do("launch", "base")
            assert first.exit is Exit.OK, first.text
            for shift in ("1", "-1"):
                hours.write_text(shift)
                again = await console.do("restart", "base", env="NCCL_ALGO=Ring")
                assert again.exit is Exit.OK, again.text
                assert servers(models) == [again.results["pid"]]
            machine = console.live.timeline.state.hosts["box"].machine
            assert machine is not None
            assert machine.skew_us is not None
            assert abs(machine.skew_us + 3_600_000_000) < 60_000_000


async def test_a_person_sees_what_will_happen_and_types_the_name_of_a_foreign_server(
    slot: Slot, models: Path
) -> None:
    slot.add("base", serve(models, slot.port))
    slot.add("spec", serve(models, slot.port, "--spec"), "speculative")
    answers: list[Callable[[Question], str | None]] = [lambda _question: "Cancel"]
    person = Person(lambda question: answers[-1](question))
    line = by_hand(serve(models, slot.port), {"NCCL_PROTO": "LL"}, slot.folder / "base.log")
    subprocess.Popen(["/bin/sh", "-c", line["nohup"]], cwd=ROOT, start_new_session=True)  # noqa: ASYNC220
    await auntil(lambda: health(slot.port) == 200, 20, "up")
    (pid,) = servers(models)
    async with acting(slot.file(), ask=person) as console:
        locked = await console.do("swap", "spec")
        assert (locked.exit, person.asked) == (Exit.GUARD, [])
        assert console.live.can("swap") == "read-only: nothing on a host is changed; unlock first"
        assert (await console.do("unlock", "")).ok
        assert console.live.can("swap") is None
        cancelled = await console.do("swap", "spec", env="NCCL_ALGO=Ring")
        assert cancelled.exit is Exit.GUARD
        question = person.asked[-1]
        assert (question.must_type, question.choices) == ("spec", ("Cancel", "Swap"))
        assert "somebody else started it" in question.text
        told = "\n".join(question.detail)
        for words in (
            f"slot box:1 on box, port {slot.port}",
            f"runs now: base: process {pid}",
            "started by somebody else",
            f"  {shlex.join(serve(models, slot.port))}",
            "stops: base, the other arm of this slot",
            f"stop: kill -TERM {pid}, then what is left after 4 s",
            "start: spec, from the fleet file's recipe",
            f"  {shlex.join(serve(models, slot.port, '--spec'))}",
            "  - NCCL_PROTO=LL",
            "  + NCCL_ALGO=Ring",
            "to undo: base is kept; if this fails you are asked to bring it back",
        ):
            assert words in told
        assert runs(pid)
        assert (await console.do("lock", "")).ok
        assert (await console.do("swap", "spec")).exit is Exit.GUARD
        assert [verb for verb, _ in console.ends()] == ["swap", "swap", "swap"]
        assert all(said.startswith("refused: ") for _, said in console.ends())
    lines = (slot.folder / "state" / "audit.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["result"] for line in lines] == [said for _, said in console.ends()]
    assert {json.loads(line)["host"] for line in lines} == {"box"}
    assert chained(lines) is None


@pytest.mark.parametrize("where", ["server", "host"])
async def test_what_is_read_only_in_the_fleet_file_stays_so(
    where: str, slot: Slot, models: Path
) -> None:
    slot.read_only = "read_only = true\n" if where == "server" else ""
    slot.add("base", serve(models, slot.port))
    fleet = slot.file(read_only=where == "host")
    async with acting(fleet, *YES) as console:
        refused = await console.do("launch", "base")
        assert refused.exit is Exit.GUARD
        assert "is read_only in the fleet file" in refused.text
    assert servers(models) == []


async def test_a_recipe_that_overrides_what_is_wanted_is_up_but_not_as_asked(
    slot: Slot, models: Path
) -> None:
    command = f"NCCL_ALGO=Tree exec {shlex.join(serve(models, slot.port))}"
    slot.add("base", ["/bin/sh", "-c", command])
    async with acting(slot.file(), *YES) as console:
        done = await console.do("launch", "base", env="NCCL_ALGO=Ring NCCL_BUFFSIZE=0x1000000")
        assert done.exit is Exit.ASSERTION
        assert done.results["outcome"] == "up, but not as asked"
        assert done.text.endswith("launcher has NCCL_ALGO=Tree")
    assert len(servers(models)) == 1


async def test_what_changed_while_a_person_thought_is_not_taken_for_what_was_confirmed(
    slot: Slot, models: Path
) -> None:
    slot.add("base", serve(models, slot.port))
    async with acting(slot.file(), *YES) as console:
        assert (await console.do("launch", "base")).ok
    (before,) = servers(models)

    def meanwhile(question: Question) -> str:
        os.kill(before, 9)
        line = by_hand(serve(models, slot.port), {}, slot.folder / "base.log")["nohup"]
        subprocess.run(["/bin/sh", "-c", line], cwd=ROOT, check=True)
        until(lambda: health(slot.port) == 200, 20, "up again")
        return question.choices[1]

    async with acting(slot.file(), "--apply", ask=Person(meanwhile)) as console:
        refused = await console.do("stop", "base")
        assert refused.exit is Exit.GUARD
        assert "changed while it was confirmed" in refused.text
    (after,) = servers(models)
    assert after != before
    assert health(slot.port) == 200


def script(folder: Path, *steps: str) -> Path:
    path = folder / "script.toml"
    head = 'schema = "script/1"\nname = "s"\ntargets = ["base"]\n'
    path.write_text(head + "".join(f"[[step]]\n{step}\n" for step in steps))
    return path


def test_a_script_needs_apply_and_the_name_says_what_it_would_do_and_does_it(
    slot: Slot, models: Path
) -> None:
    slot.add("base", serve(models, slot.port))
    fleet = slot.file()
    steps = script(
        slot.folder,
        'id = "up"\nlaunch = { env = "NCCL_PROTO=LL", on_fail = "rollback" }',
        'wait = { until = "health" }',
        "stop = {}",
    )

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        return console(slot.folder, "--fleet", fleet, "--script", steps, *options)

    for options, why in (
        ((), "read-only: nothing on a host is changed without --apply"),
        (("--apply",), "not confirmed: --yes-target base is missing"),
        (("--apply", "--yes-target", "spec"), "not confirmed: --yes-target base is missing"),
        (("--yes-target", "base"), "without --apply"),
    ):
        done = run(*options)
        assert (done.returncode, done.stdout) == (6, ""), done.stderr
        assert why in done.stderr
    dry = run("--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert f"  {shlex.join(serve(models, slot.port))}" in dry.stdout.splitlines()
    assert "  + NCCL_PROTO=LL" in dry.stdout.splitlines()
    assert servers(models) == []
    assert slot.sshd is not None
    assert os.listdir(slot.sshd.home) == []
    done = run("--apply", "--yes-target", "base", "--json")
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    up = next(one for one in told if one.get("step") == "up" and "exit" in one)
    assert up["results"]["outcome"] == "done"
    assert servers(models) == []


STUBBORN = """
import http.server, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


async def test_no_launch_follows_a_stop_that_leaves_a_gpu_wedged(
    tmp_path: Path, models: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    smi, used = tools / "nvidia-smi", tools / "used"
    smi.write_text(
        f'#!/bin/sh\ncase "$1" in --query-gpu=*) echo "0, GPU-0, $(cat {used}), 0" ;; esac\n'
    )
    smi.chmod(0o755)
    used.write_text("90000")
    variables = {"PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin"}
    pace = replace(FAST, kill_grace_s=0.5)
    with ended(str(tmp_path)), Sshd(tmp_path / "sshd", set_env=variables) as far:
        slot = Slot(tmp_path, free_port(), far)
        slot.add("base", serve(models, slot.port))
        slot.add("spec", serve(models, slot.port, "--spec"), "speculative")
        held = "GPU 0 still holds 90,000 MiB and no process is shown"
        async with acting(slot.file(), *YES, pace=pace) as console:
            first = await console.do("launch", "base")
            assert first.exit is Exit.OK, first.text
            stuck = await console.do("swap", "spec", on_fail="rollback")
            assert stuck.exit is Exit.STEP
            assert stuck.results["outcome"] == "wedged GPU"
            assert stuck.text == f"wedged: {held}; nothing is launched here"
            assert servers(models) == []
        async with acting(slot.file(), *YES, pace=pace) as console:
            refused = await console.do("launch", "spec")
            assert refused.exit is Exit.GUARD
            assert refused.text == f"launch refused: wedged since an earlier stop: {held}"
            assert servers(models) == []
            used.write_text("4")
            freed = await console.do("launch", "spec")
            assert freed.exit is Exit.OK, freed.text
            used.write_text("90000")
            assert (await console.do("launch", "spec")).exit is Exit.GUARD
            assert servers(models) == [freed.results["pid"]]


async def test_who_ignores_term_is_killed_only_by_a_person_or_a_step_that_says_so(
    slot: Slot,
) -> None:
    wrong = slot.folder / "wrong.py"
    wrong.write_text(STUBBORN)
    slot.add("base", [sys.executable, str(wrong), str(slot.port)])
    fleet, pace = slot.file(), replace(FAST, stop_grace_s=0.3, kill_grace_s=0.5)
    async with acting(fleet, *YES, pace=pace) as console:
        first = await console.do("launch", "base")
        assert first.exit is Exit.OK, first.text
        pid = first.results["pid"]
        polite = await console.do("stop", "base")
        assert polite.exit is Exit.STEP
        assert polite.text.startswith(
            f"not stopped: process {pid} (S); port {slot.port} is held by"
        )
        assert left(slot) == [pid]
        forced = await console.do("stop", "base", kill_after=1)
        assert forced.exit is Exit.OK, forced.text
        assert left(slot) == []
        assert (await console.do("launch", "base")).ok
    person = Person(lambda question: question.choices[1])
    async with acting(fleet, "--apply", ask=person, pace=pace) as console:
        killed = await console.do("stop", "base")
        assert killed.exit is Exit.OK, killed.text
        assert person.asked[-1].choices == ("Cancel", "Kill")
        assert person.asked[-1].must_type == "base"
        assert person.asked[-1].detail[0].endswith(f"{wrong} {slot.port}")
    assert left(slot) == []
