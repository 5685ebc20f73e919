"""Adopting, launching, locking and stopping on a host, with real processes, here and over SSH."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Arm, Host, Recipe, Server
from console.model.fleet import Wire as Way
from console.services.launcher import Held, HostRefused, Launched, Start
from console.services.process import Identity, Sent
from console.services.recipe_file import file_values
from console.services.stopper import Limits, Stopped, Stopper
from console.transport.local import LocalWire
from console.transport.ssh import SshWire
from tests.rig.disk import SmallDisk
from tests.rig.ports import free_port
from tests.rig.process import runs
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil, until
from tests.services.launching import (
    Box,
    cmdline,
    ended,
    environ,
    in_background,
    shifted_clock,
    with_word,
)

pytestmark = pytest.mark.rig


@pytest.fixture
async def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Box]:
    """This machine."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NCCL_PROTO", "Simple")
    wire = LocalWire(Host("box"))
    with ended(str(tmp_path)):
        yield Box(wire, home, tmp_path)
    await wire.close()


@pytest.fixture
async def far_box(sshd: Sshd, tmp_path: Path) -> AsyncIterator[Box]:
    """The same behind sshd."""
    host = Host("far", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config))
    wire = SshWire(host, SystemClock(), Pace(), Nobody())
    with ended(str(tmp_path)):
        yield Box(wire, sshd.home, tmp_path)
    await wire.close()


@pytest.fixture(params=["box", "far_box"])
def either(request: pytest.FixtureRequest) -> Box:
    """Both."""
    box: Box = request.getfixturevalue(request.param)
    return box


def stat_of(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


async def up(box: Box, port: int) -> None:
    """Return once something listens."""

    async def listening() -> bool:
        return (await box.commands.tree(port)).listening

    await auntil(listening, 10, "listening")


def start(box: Box, port: int, *ways: str, **more: str | None) -> Start:
    recipe = Recipe(box.argv(port, *ways), str(box.program.parent))
    return Start("base", port, str(box.program.parent / "base.log"), "", recipe, more)


async def stop(
    box: Box, port: int, launched: Launched | None, kill_s: float | None = None
) -> tuple[Stopped, list[str]]:
    tree = await box.commands.tree(port)
    stopper = Stopper(box.commands, port, tree, launched, Limits(0.4, kill_s))
    phases = [phase async for phase, _ in stopper.run()]
    return stopper.result, phases


async def test_a_launch_is_a_session_of_its_own_with_the_recipe_as_its_whole_environment(
    either: Box, tmp_path: Path
) -> None:
    port = free_port()
    lines = (
        "# for NCCL", "NCCL_ALGO=Tree", "export HF_TOKEN='hf_0123456789abcdef'", 'TWO="a b"',
        "  OMP_NUM_THREADS=16", "EMPTY=", "SINGLE='a $b'", "EQUALS=a=b'c", "LAST=", "LAST=2 ",
    )  # fmt: skip
    (tmp_path / "base.env").write_text("\n".join(lines))
    wanted = start(either, port, NCCL_ALGO="Ring", TWICE="one\ntwo")
    assert wanted.recipe is not None
    recipe = replace(wanted.recipe, env_file="base.env")
    launched = await either.launcher.launch("act-1", replace(wanted, recipe=recipe))
    await up(either, port)
    stat = stat_of(launched.pid)
    assert (stat[2], stat[3]) == (str(launched.pid), str(launched.pid))
    assert int(stat[19]) == launched.start_ticks
    assert cmdline(launched.pid) == list(either.argv(port))
    held = environ(launched.pid)
    assert held.pop("PATH").startswith("/usr/local/sbin:")
    assert held.pop("PWD") == str(tmp_path)
    assert held == {
        "HOME": str(either.home), "USER": "root", "LOGNAME": "root", "SHELL": "/bin/sh",
        "TWICE": "one\ntwo", **file_values(lines), "NCCL_ALGO": "Ring",
    }  # fmt: skip
    assert (held["TWO"], held["SINGLE"], held["EQUALS"], held["LAST"]) == (
        "a b", "a $b", "a=b'c", "2 ",
    )  # fmt: skip
    assert (held["OMP_NUM_THREADS"], held["EMPTY"]) == ("16", "")
    assert file_values(["A=$B", "C=`d`", "set -a", "E-F=1", "#G=1"]) == {}
    log = tmp_path / "base.log"
    until(lambda: log.read_text().count("\n") == 3, 5, "three lines")
    assert log.read_text() == "out\nerr\nout again\n"
    assert either.private.stat().st_mode & 0o777 == 0o700
    assert os.stat(launched.recipe).st_mode & 0o777 == 0o600
    assert launched.recipe.startswith(f"{either.private}/")
    tree = await either.commands.tree(port)
    assert tree.launcher is not None
    assert launched.is_it(tree.launcher)
    words, shown = await either.launcher.show(launched.recipe)
    assert list(words) == list(either.argv(port))
    assert shown == {"NCCL_ALGO": "Ring", "OMP_NUM_THREADS": "16"}
    result, phases = await stop(either, port, launched)
    assert result.gone
    assert phases == ["term", "gone"]
    assert either.running() == []


async def test_a_launch_in_a_window_of_tmux_is_shown_there_and_is_like_any_other(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    monkeypatch.delenv("TMUX", raising=False)
    port, log = free_port(), tmp_path / "base.log"

    def tmux(*words: str) -> str:
        done = subprocess.run(["tmux", *words], capture_output=True, text=True, check=True)
        return done.stdout

    try:
        wanted = replace(start(box, port, NCCL_ALGO="Ring"), window=True)
        launched = await box.launcher.launch("act-1", wanted)
        assert await box.launcher.launch("act-1", wanted) == launched
        assert launched.window == "spec-console:0"
        await up(box, port)
        assert box.running() == [launched.pid]
        stat = stat_of(launched.pid)
        assert (stat[2], stat[3]) == (str(launched.pid), str(launched.pid))
        held = environ(launched.pid)
        assert held["NCCL_ALGO"] == "Ring"
        assert not {"TMUX", "TMUX_PANE", "TERM", "NCCL_PROTO"} & held.keys()
        until(lambda: log.read_text() == "out\nerr\nout again\n", 5, "its log")
        shown = ("capture-pane", "-p", "-t", launched.window)
        until(lambda: tmux(*shown).split() == ["out", "err", "out", "again"], 5, "its window")
        result, _ = await stop(box, port, launched)
        assert result.gone
        until(lambda: tmux("list-panes", "-s", "-F", "#{pane_dead}") == "1\n", 5, "a dead pane")
        assert "out again" in tmux(*shown)
        again = await box.launcher.launch("act-2", wanted)
        assert tmux("list-windows", "-F", "#{window_name} #{pane_pid}") == f"base {again.pid}\n"
        await up(box, port)
        assert (await stop(box, port, again))[0].gone
    finally:
        tmux("kill-server")


async def test_one_act_launches_once_and_a_slot_holds_one(box: Box) -> None:
    port = free_port()
    both = await asyncio.gather(*(box.launcher.launch("act-1", start(box, port)) for _ in range(2)))
    assert both[0] == both[1]
    assert box.running() == [both[0].pid]
    with pytest.raises(HostRefused, match="base, launched earlier as process"):
        await box.launcher.launch("act-2", start(box, port))
    await up(box, port)
    assert await box.launcher.launch("act-1", start(box, port)) == both[0]
    os.unlink(f"{box.private}/port-{port}/launch")
    with pytest.raises(HostRefused, match=f"port {port} is taken"):
        await box.launcher.launch("act-3", start(box, port))
    assert box.running() == [both[0].pid]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("A=1\nB=$A\n", "2: B wants a shell"),
        ("A=`id`\n", "1: A wants a shell"),
        ("A=1\n\nset -a\n", "3: no NAME=VALUE"),
        ("A-B=1\n", "1: no NAME=VALUE"),
        (None, "recipe cannot be made"),
    ],
)
async def test_an_environment_file_is_data_and_no_script(
    box: Box, tmp_path: Path, text: str | None, why: str
) -> None:
    if text is not None:
        (tmp_path / "base.env").write_text(text)
    wanted = start(box, free_port())
    assert wanted.recipe is not None
    recipe = replace(wanted.recipe, env_file="base.env")
    with pytest.raises(HostRefused, match=why):
        await box.launcher.launch("act-1", replace(wanted, recipe=recipe))
    assert box.running() == []


async def test_nothing_starts_from_half_a_recipe_or_onto_a_full_disk(box: Box) -> None:
    port = free_port()

    class Half(Start):
        def text(self) -> bytes:
            return super().text()[:-2]

    whole = start(box, port)
    with pytest.raises(HostRefused, match="cut short"):
        await box.launcher.launch("act-1", Half("base", port, whole.log, "", whole.recipe))
    with pytest.raises(HostRefused, match="cannot write the log"):
        await box.launcher.launch("act-2", replace(whole, log="/dev/full/base.log"))
    assert box.running() == []


async def test_what_runs_is_kept_exactly_and_only_masked_words_come_back(
    either: Box, tmp_path: Path
) -> None:
    port = free_port()
    argv = (*either.argv(port), "", "--api-key", "very-secret-words", "two\nlines")
    line = f"HF_TOKEN=another-secret-word nohup {shlex.join(argv[:3])}"
    (either.home / ".bash_history").write_text(f"ls\n{line}\nexit\n")
    more = {
        "TMUX_PANE": "%3",
        "NL": "a\nb",
        "EMPTY": "",
        "ODD.NAME": "kept not",
        "HF_TOKEN": "another-secret-word",
    }
    by_hand = in_background(argv, tmp_path / "hand.log", more)
    await up(either, port)
    tree = await either.commands.tree(port)
    assert tree.launcher is not None
    kept = await either.launcher.capture(tree.launcher, "adopted/base.recipe")
    assert kept.words == (*argv[:-2], "<masked>", "two<LF>lines")
    assert (kept.log, kept.unkept) == (str(tmp_path / "hand.log"), 1)
    assert kept.hints == (
        "shell history: ~/.bash_history line 2",
        "what it printed: tmux capture-pane -p -S - -t %3",
    )
    before = environ(by_hand.pid)
    with pytest.raises(HostRefused, match="is taken"):
        await either.launcher.launch("act-0", Start("base", port, "", kept.path))
    by_hand.terminate()
    by_hand.wait(5)
    launched = await either.launcher.launch("act-1", Start("base", port, kept.log, kept.path))
    await up(either, port)
    assert cmdline(launched.pid) == list(argv)
    assert os.readlink(f"/proc/{launched.pid}/cwd") == os.getcwd()
    again = environ(launched.pid)
    del before["ODD.NAME"]
    changes = {name for name in before.keys() | again.keys() if before.get(name) != again.get(name)}
    assert changes <= {"PWD", "_", "OLDPWD", "SHLVL"}
    server = Server("base", "s", Arm.BASELINE, "")
    records = await either.launcher.records(server, port)
    assert records.launched is not None
    assert records.launched.pid == launched.pid
    assert records.adopted == kept.path
    assert records.of.split()[0] == str(by_hand.pid)


async def test_a_process_that_has_overwritten_its_command_line_is_not_kept(box: Box) -> None:
    port = free_port()
    named = box.program.with_name("named.py")
    named.write_text(
        "import setproctitle\nsetproctitle.setproctitle('sglang::launcher')\n"
        + box.program.read_text()
    )
    by_hand = in_background((sys.executable, str(named), str(port)), box.program.with_name("n.log"))
    try:
        await up(box, port)
        tree = await box.commands.tree(port)
        assert tree.launcher is not None
        with pytest.raises(HostRefused, match="overwritten its command line"):
            await box.launcher.capture(tree.launcher, "adopted/base.recipe")
    finally:
        by_hand.kill()
        by_hand.wait(5)


async def test_a_signal_goes_to_no_other_process_than_was_looked_at(box: Box) -> None:
    sleeper = in_background(("sleep", "600"), box.program.with_name("s.log"))
    try:
        seen = (await box.commands.look([sleeper.pid]))[sleeper.pid]
        one = seen.identity
        for other, told in (
            (replace(one, start_ticks=one.start_ticks - 1), Sent.REUSED),
            (replace(one, cmdline_sum="1-2"), Sent.RENAMED),
            (replace(one, boot_id="another"), Sent.REBOOTED),
        ):
            assert await box.commands.signal("KILL", [other]) == {one.pid: told}
            assert await box.commands.signal("KILL", [other], group=True) == {one.pid: told}
            assert sleeper.poll() is None
        assert await box.commands.signal("TERM", [one]) == {one.pid: Sent.SENT}
        assert sleeper.wait(5) == -signal.SIGTERM
        gone = Identity(one.boot_id, one.pid, one.start_ticks, one.cmdline_sum)
        assert await box.commands.signal("TERM", [gone]) == {one.pid: Sent.GONE}
    finally:
        sleeper.kill()
        sleeper.wait(5)


async def test_a_job_in_the_same_group_survives(box: Box, tmp_path: Path) -> None:
    port = free_port()
    job = tmp_path / "job.py"
    job.write_text("import signal; signal.pause()")
    line = f"{shlex.join(box.argv(port, 'stubborn'))} & exec {sys.executable} {job}"
    shell = in_background(("/bin/sh", "-c", line), tmp_path / "shell.log", own_session=True)
    try:
        await up(box, port)
        result, phases = await stop(box, port, None, kill_s=0.6)
        assert result.gone
        assert phases == ["term", "term", "kill", "gone"]
        assert with_word(str(job)) == [shell.pid]
        assert shell.poll() is None
    finally:
        shell.kill()
        shell.wait(5)


async def test_who_ignores_term_is_listed_and_killed_only_when_allowed(box: Box) -> None:
    port = free_port()
    launched = await box.launcher.launch("act-1", start(box, port, "stubborn"))
    await up(box, port)
    result, phases = await stop(box, port, launched)
    assert phases == ["term", "term", "gone"]
    assert [one.identity.pid for one in result.survivors] == [launched.pid]
    assert result.why() == (
        f"process {launched.pid} (S); port {port} is held by process {launched.pid}: "
        + " ".join(box.argv(port, "stubborn"))[:120]
    )
    assert runs(launched.pid)
    result, phases = await stop(box, port, launched, kill_s=0.6)
    assert result.gone
    assert "kill" in phases
    assert box.running() == []


async def test_orphans_that_hold_the_port_are_found_together_and_ended(box: Box) -> None:
    port = free_port()
    launched = await box.launcher.launch("act-1", start(box, port, "orphans"))
    await up(box, port)
    until(lambda: len(box.running()) == 3, 5, "two children")
    os.kill(launched.pid, signal.SIGKILL)
    until(lambda: not runs(launched.pid), 5, "launcher gone")
    assert len(box.running()) == 2
    with pytest.raises(HostRefused, match="these are left: "):
        await box.launcher.launch("act-2", start(box, port))
    result, _ = await stop(box, port, launched)
    assert result.gone
    assert box.running() == []


async def test_what_is_left_of_a_launch_stands_in_the_way_of_the_next(box: Box) -> None:
    port = free_port()
    launched = await box.launcher.launch("act-1", start(box, port, "left"))
    await up(box, port)
    until(lambda: len(box.running()) == 3, 5, "two children")
    os.kill(launched.pid, signal.SIGKILL)
    until(lambda: not runs(launched.pid), 5, "launcher gone")
    assert not (await box.commands.tree(port)).listening
    left = " ".join(map(str, box.running()))
    with pytest.raises(HostRefused, match=f"of base, .* these are left: {left}"):
        await box.launcher.launch("act-2", start(box, port))
    assert await box.commands.members(launched.pid) == box.running()


async def test_a_full_disk_stops_a_launch_and_leaves_nothing(tmp_path: Path) -> None:
    home = tmp_path / "small"
    home.mkdir()
    full = 'mount -t tmpfs -o size=8k none "$HOME" && head -c 8k /dev/zero >"$HOME/x"; exec "$@"'
    enter = ("env", f"HOME={home}", "unshare", "-m", "/bin/sh", "-c", full, "sh")
    wire = LocalWire(Host("box", enter=enter))
    box = Box(wire, home, tmp_path)
    with ended(str(tmp_path)):
        with pytest.raises(HostRefused, match=r"the recipe cannot be made|cannot write"):
            await box.launcher.launch("act-1", start(box, free_port()))
        with pytest.raises(HostRefused, match="cannot write"):
            await box.launcher.lock("act-1", "me")
        assert box.running() == []
    await wire.close()


async def test_a_recipe_that_cannot_be_kept_leaves_the_one_that_was(tmp_path: Path) -> None:
    home = tmp_path / "small"
    home.mkdir()
    with SmallDisk(home) as disk, in_background(("sleep", "600"), tmp_path / "log") as child:
        wire = LocalWire(Host("box", enter=(*disk.enter, "env", f"HOME={home}")))
        box = Box(wire, home, tmp_path)
        seen = (await box.commands.look([child.pid]))[child.pid]
        kept = await box.launcher.capture(seen, "adopted/base.recipe")
        folder = disk.seen / ".spec-console" / "adopted"
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert set(before) == {"base.recipe", "base.recipe.of"}
        disk.fill()
        with pytest.raises(HostRefused, match="No space left on device") as caught:
            await box.launcher.capture(seen, "adopted/base.recipe")
        assert caught.value.unwritten
        assert str(caught.value).startswith(f"cannot write {kept.path}: ")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        child.kill()
        await wire.close()


async def test_a_lock_that_is_renewed_on_a_full_disk_does_not_become_stale(tmp_path: Path) -> None:
    home = tmp_path / "small"
    home.mkdir()
    with SmallDisk(home) as disk:
        wire = LocalWire(Host("box", enter=(*disk.enter, "env", f"HOME={home}")))
        box = Box(wire, home, tmp_path)
        assert await box.launcher.lock("act-1", "me") is None
        at = disk.seen / ".spec-console" / "lock" / "at"
        act, boot, since = at.read_text().split()
        at.write_text(f"{act} {boot} {'1'.rjust(len(since), '0')}\n")
        held = await box.launcher.lock("act-2", "you")
        assert held is not None
        assert held.stale
        disk.fill()
        assert await box.launcher.lock("act-1", "me") is None
        held = await box.launcher.lock("act-2", "you")
        assert held is not None
        assert (held.act, held.stale, held.age_s < 60) == ("act-1", False, True)
        await box.launcher.unlock("act-1")
        await wire.close()


async def test_what_became_another_process_is_left_alone(box: Box) -> None:
    port = free_port()
    launched = await box.launcher.launch("act-1", start(box, port))
    await up(box, port)
    tree = await box.commands.tree(port)
    assert tree.launcher is not None
    one = tree.launcher.identity
    other = replace(tree.launcher, identity=replace(one, start_ticks=one.start_ticks + 1))
    stopper = Stopper(box.commands, port, replace(tree, launcher=other), None, Limits(0.2, 0.2))
    assert [phase async for phase, _ in stopper.run()] == []
    assert not stopper.result.gone
    assert "reused" in stopper.result.why()
    assert runs(launched.pid)


async def test_a_host_has_one_act_and_a_stale_lock_is_told_from_a_fresh_one(either: Box) -> None:
    lock = either.launcher.lock
    many = await asyncio.gather(*(lock(f"act-{n}", f"person {n}") for n in range(6)))
    taken = [n for n, held in enumerate(many) if held is None]
    assert len(taken) == 1
    first = f"act-{taken[0]}"
    held = await lock("act-x", "me")
    assert isinstance(held, Held)
    assert (held.act, held.owner, held.stale) == (first, f"person {taken[0]}", False)
    assert await lock(first, "the same renews") is None
    assert held.place == f"{either.private}/lock"
    grow_old(Path(held.place), 3600)
    stale = await lock("act-x", "me")
    assert stale is not None
    assert stale.stale
    assert 3590 < stale.age_s < 3700
    assert await lock("act-x", "me", over="act-of-nobody") is not None
    assert await lock("act-x", "me", over=first) is None
    again = await lock(first, "who had it")
    assert again is not None
    assert again.act == "act-x"
    await either.launcher.unlock(first)
    assert "lock" in os.listdir(either.private)
    await either.launcher.unlock("act-x")
    assert "lock" not in os.listdir(either.private)


def grow_old(lock: Path, seconds: int) -> None:
    """As if it had been renewed so much earlier."""
    act, boot, at = (lock / "at").read_text().split()
    (lock / "at").write_text(f"{act} {boot} {int(at) - seconds}\n")


async def test_a_clock_an_hour_off_makes_no_lock_stale_and_no_stale_one_fresh(
    tmp_path: Path,
) -> None:
    variables, hours = shifted_clock(tmp_path)
    with Sshd(tmp_path / "sshd", set_env=variables) as far:
        wire = SshWire(
            Host("far", Way.ASYNCSSH, far.alias, str(far.ssh_config)),
            SystemClock(),
            Pace(),
            Nobody(),
        )
        box = Box(wire, far.home, tmp_path)
        assert await box.launcher.lock("act-1", "me") is None
        for shift in ("1", "-1"):
            hours.write_text(shift)
            held = await box.launcher.lock("act-2", "you")
            assert held is not None
            assert not held.stale
            assert held.age_s < 60
            assert await box.launcher.lock("act-1", "me") is None
        grow_old(box.private / "lock", 600)
        stale = await box.launcher.lock("act-2", "you")
        assert stale is not None
        assert stale.stale
        assert await box.launcher.lock("act-1", "me") is None
        renewed = await box.launcher.lock("act-2", "you")
        assert renewed is not None
        assert not renewed.stale
        await wire.close()


async def test_a_lock_that_names_nobody_can_be_taken_over(box: Box) -> None:
    (box.private / "lock").mkdir(parents=True)
    held = await box.launcher.lock("act-1", "me")
    assert held is not None
    assert (held.act, held.owner, held.stale) == ("-", "", False)
    os.utime(box.private / "lock", (1, 1))
    held = await box.launcher.lock("act-1", "me")
    assert held is not None
    assert held.stale
    assert await box.launcher.lock("act-1", "me", over=held.act) is None
    other = await box.launcher.lock("act-2", "you")
    assert other is not None
    assert other.owner == "me"


async def test_a_lock_of_another_boot_is_void(box: Box) -> None:
    assert await box.launcher.lock("act-1", "before the reboot") is None
    at = box.private / "lock" / "at"
    at.write_text("act-1 another-boot 1\n")
    assert await box.launcher.lock("act-2", "after it") is None
