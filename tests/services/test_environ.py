"""What is in a server's environment, read of real processes over a real sshd: who tells what, and
that nothing else crosses the wire."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock, utc_from_text
from console.model.failure import Failure, WireError
from console.model.fleet import Arm, Fleet, Host, Recipe, Server, Slot
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.services.environ import Reader, port_of
from console.services.environ_script import environ_argv
from console.services.live import watch_fleet
from console.stream.environment import GONE
from console.stream.events import Event
from console.stream.fact import Completeness
from console.stream.host_events import HostSeen
from console.stream.server_events import EnvRead, ProcessSeen
from console.stream.state import Item
from console.stream.timeline import Timeline
from console.transport.local import LocalWire
from console.transport.ssh import SshWire
from console.transport.wire import Wire
from tests.rig.ports import free_port
from tests.rig.process import Child
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil, until
from tests.rig.wire import Recorded

pytestmark = pytest.mark.rig

WHOLE, PARTLY, UNREADABLE = Completeness.WHOLE, Completeness.PARTLY, Completeness.UNREADABLE
CANARY = "canary-that-must-stay-at-home"
TOOLS = (
    *("cat", "sed", "grep", "tr", "ls", "cut", "head", "uniq", "date", "printf", "echo", "sh"),
    *("find", "wc", "sleep"),
)
SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}


@pytest.fixture(params=["gnu", "busybox"])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sshd]:
    """A host with its own tools, or with BusyBox's alone in PATH."""
    set_env = {"NCCL_PROTO": "of-the-shell"}
    if request.param == "busybox":
        folder = tmp_path / "busybox"
        folder.mkdir()
        for name in TOOLS:
            (folder / name).symlink_to("/usr/bin/busybox")
        set_env["PATH"] = str(folder)
    with Sshd(tmp_path / "sshd", set_env=set_env) as server:
        yield server


class Seen:
    """One reading, by source."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.envs = {str(e.source): e for e in events if isinstance(e, EnvRead)}
        self.hosts = [e for e in events if isinstance(e, HostSeen)]
        (self.process,) = [e for e in events if isinstance(e, ProcessSeen)]

    def values(self, source: str) -> dict[str, str]:
        return {str(name): str(value) for name, value in self.envs[source].values}

    def whole(self, source: str) -> Completeness:
        return self.envs[source].completeness


def fleet_of(host: Host, port: int, recipe: Recipe | None = None) -> Fleet:
    slot = Slot("slot", host.name, port=port)
    url = f"http://127.0.0.1:{port}"
    return Fleet("test", (host,), (slot,), (Server("s", "slot", Arm.BASELINE, url, recipe=recipe),))


def reader(wire: Wire, port: int, recipe: Recipe | None = None, arm: Arm | None = None) -> Reader:
    fleet = fleet_of(wire.host, port, recipe)
    server = replace(fleet.server("s"), arm=arm or Arm.BASELINE)
    found, clock = port_of(fleet, server), SystemClock()
    return Reader(server, found, wire, clock, Pace(), Masks(), contested=arm is not None)


async def look(box: Sshd, port: int, recipe: Recipe | None = None, *enter: str) -> Seen:
    """One reading over SSH; what the wire carried must hold no canary."""
    ssh = SshWire(
        Host("box", Way.ASYNCSSH, box.alias, str(box.ssh_config), enter),
        SystemClock(),
        Pace(),
        Nobody(),
    )
    wire = Recorded(ssh)
    try:
        events = await reader(wire, port, recipe).read()  # type: ignore[arg-type]
    finally:
        await ssh.close()
    assert not any(CANARY.encode() in data for data in wire.said)
    assert len(wire.said) == 2
    return Seen(events)


def text_of(path: str) -> str:
    """A small file of /proc."""
    return Path(path).read_text().strip()


def listens(port: int) -> bool:
    """Whether something takes connections there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def opened(folder: Path) -> None:
    """Let other users into a test's folder, which several workers have one level deeper."""
    for place in (folder, *folder.parents):
        if place == Path(tempfile.gettempdir()):
            return
        place.chmod(0o755)


@contextmanager
def server(
    folder: Path,
    port: int,
    then: str,
    env: dict[str, str] | None = None,
    *before: str,
    more: Sequence[str] = (),
) -> Iterator[Child]:
    """A process that listens on `port`, then does `then` and waits."""
    script = folder / f"server-{port}.py"
    body = textwrap.dedent(then)
    script.write_text(
        "import os, socket, sys, time\n"
        "def main():\n"
        '    held = socket.create_server(("127.0.0.1", int(sys.argv[1])))\n'
        f"{textwrap.indent(body, '    ')}\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    log = folder / f"server-{port}.log"
    given = {"PATH": os.environ["PATH"], "HOME": f"/{CANARY}/home", "HF_TOKEN": CANARY}
    given |= {"NCCL_SECRET_KEY": CANARY, "VLLM_API_KEY": CANARY, **(env or {})}
    child = Child([*before, sys.executable, str(script), str(port), *more], log, env=given)
    try:
        until(lambda: b"ready" in log.read_bytes() or child.returncode is not None, 10)
        assert child.returncode is None, log.read_text()
        yield child
    finally:
        child.kill()


async def test_a_plain_process_tells_all_it_was_started_with(box: Sshd, tmp_path: Path) -> None:
    port = free_port()
    with server(tmp_path, port, "pass", SIX | {"NCCL_ODD": "a\nb=c", "PATH_OF": "x"}) as child:
        seen = await look(box, port)
    assert list(seen.envs) == ["launcher", *(s for s in seen.envs if s.startswith("conf "))]
    assert seen.whole("launcher") is WHOLE
    assert seen.values("launcher") == SIX | {"NCCL_ODD": "a<LF>b=c"}
    assert (seen.process.pid, seen.envs["launcher"].pid) == (child.pid, child.pid)
    (host,) = seen.hosts
    assert host.boot_id == text_of("/proc/sys/kernel/random/boot_id")
    assert host.skew_us is not None
    assert abs(host.skew_us) < 2_000_000
    age_s = (SystemClock().utc() - utc_from_text(seen.process.started)).total_seconds()
    assert -3 < age_s < 30


async def test_what_changes_after_the_start_shows_in_the_resource_tracker_only(
    box: Sshd, tmp_path: Path
) -> None:
    port = free_port()
    body = """
    os.environ["NCCL_CUMEM_ENABLE"] = "0"
    from multiprocessing import resource_tracker
    resource_tracker.ensure_running()
    """
    with server(tmp_path, port, body, {"NCCL_PROTO": "LL"}):
        seen = await look(box, port)
    assert seen.values("launcher") == {"NCCL_PROTO": "LL"}
    assert seen.values("tracker") == {"NCCL_PROTO": "LL", "NCCL_CUMEM_ENABLE": "0"}
    assert seen.whole("tracker") is WHOLE


RENAMED = """
    import multiprocessing as mp
    os.environ["NCCL_CUMEM_ENABLE"] = "0"
    way = mp.get_context(METHOD)
    import child_of_test
    for rank in range(2):
        mine, its = way.Pipe()
        way.Process(target=child_of_test.work, args=(rank, TITLE, its), daemon=True).start()
        mine.recv()
"""
CHILD = """
import time
def work(rank, title, parent):
    if title:
        import setproctitle
        setproctitle.setproctitle(f"{title}_TP{rank}")
    parent.send(rank)
    time.sleep(60)
"""


@pytest.mark.parametrize("noenv", [False, True])
async def test_ranks_that_renamed_themselves_lose_what_they_inherited(
    box: Sshd, tmp_path: Path, noenv: bool
) -> None:
    (tmp_path / "child_of_test.py").write_text(CHILD)
    body = RENAMED.replace("METHOD", "'spawn'").replace("TITLE", "'sglang::scheduler'")
    env = {"NCCL_PROTO": "LL"} | ({"SPT_NOENV": "1"} if noenv else {})
    port = free_port()
    with server(tmp_path, port, body, env):
        seen = await look(box, port)
    for rank in ("rank 0", "rank 1"):
        if noenv:
            assert seen.whole(rank) is WHOLE
            assert seen.values(rank) == env | {"NCCL_CUMEM_ENABLE": "0"}
        else:
            assert seen.whole(rank) is not WHOLE
            assert "NCCL_PROTO" not in seen.values(rank)
            assert "zeroed" in seen.envs[rank].why
    assert seen.values("tracker") == env | {"NCCL_CUMEM_ENABLE": "0"}


async def test_spawned_children_tell_and_forked_ones_are_left_out(
    box: Sshd, tmp_path: Path
) -> None:
    (tmp_path / "child_of_test.py").write_text(CHILD)
    shown = {}
    for method in ("spawn", "fork"):
        body = RENAMED.replace("METHOD", f"'{method}'").replace("TITLE", "''")
        port = free_port()
        with server(tmp_path, port, body, {"NCCL_PROTO": "LL"}):
            seen = await look(box, port)
        ranks = [source for source in seen.envs if source.startswith("rank of process ")]
        shown[method] = [seen.values(rank) for rank in ranks]
    assert shown["spawn"] == [{"NCCL_PROTO": "LL", "NCCL_CUMEM_ENABLE": "0"}] * 2
    assert shown["fork"] == []


async def test_a_process_of_another_user_says_why_it_is_not_read(tmp_path: Path) -> None:
    """The reader is nobody special; the server belongs to root."""
    port = free_port()
    with server(tmp_path, port, "pass", SIX):
        wire = LocalWire(Host("here", enter=("setpriv", "--reuid", "65534", "--clear-groups")))
        seen = Seen(await reader(wire, port).read())
        await wire.close()
    assert seen.whole("launcher") is UNREADABLE
    why = f"port {port} is held by a process of uid 0, whose descriptors this user may not read"
    assert seen.envs["launcher"].why == why
    assert (seen.process.pid, seen.process.why) == (None, why)


async def test_ones_own_process_needs_no_root(tmp_path: Path) -> None:
    port = free_port()
    as_user = ("setpriv", "--reuid", "65534", "--clear-groups")
    opened(tmp_path)
    with server(tmp_path, port, "pass", SIX, *as_user):
        wire = LocalWire(Host("here", enter=as_user))
        seen = Seen(await reader(wire, port).read())
        await wire.close()
    assert seen.whole("launcher") is WHOLE
    assert seen.values("launcher") == SIX


async def test_behind_enter_the_container_is_read(tmp_path: Path) -> None:
    """unshare stands in for a container: own processes, own network, own /proc."""
    port = free_port()
    ready = tmp_path / "pid"
    inner = f"ip link set lo up 2>/dev/null; exec {sys.executable} {tmp_path}/inner.py {port}"
    (tmp_path / "inner.py").write_text(
        "import signal, socket, sys\n"
        'held = socket.create_server(("0.0.0.0", int(sys.argv[1])))\n'
        f"open({str(ready)!r}, 'w').write('up')\nsignal.pause()\n"
    )
    argv = [
        "unshare",
        "--kill-child",
        "--pid",
        "--net",
        "--mount",
        "--fork",
        "--mount-proc",
        "sh",
        "-c",
        inner,
    ]
    holder = Child(argv, tmp_path / "log", env={"PATH": os.environ["PATH"], **SIX})
    try:
        until(lambda: ready.exists() or holder.returncode is not None, 10)
        assert holder.returncode is None, (tmp_path / "log").read_text()
        inside = text_of(f"/proc/{holder.pid}/task/{holder.pid}/children").split()[0]
        outside = LocalWire(Host("here"))
        enter = ("nsenter", "-t", inside, "-p", "-n", "-m")
        within = LocalWire(Host("here", enter=enter))
        without = Seen(await reader(outside, port).read())
        seen = Seen(await reader(within, port).read())
        await outside.close()
        await within.close()
    finally:
        holder.kill()
    assert without.process.why == f"nothing listens on port {port}"
    assert seen.values("launcher") == SIX
    assert seen.process.pid == 1


async def test_conf_files_and_the_recipe_come_in_the_same_reading(
    box: Sshd, tmp_path: Path
) -> None:
    conf = tmp_path / "site.conf"
    conf.write_text(f"# a\nNCCL_ALGO=Ring\n\nNCCL_ALGO=Tree\nexport NCCL_PROTO=LL\nKEY={CANARY}\n")
    (tmp_path / "r.env").write_text(f"HF_TOKEN={CANARY}\nNCCL_PROTO=LL\nexport NCCL_NTHREADS=256\n")
    port = free_port()
    recipe = Recipe(("env", "NCCL_BUFFSIZE=1", "serve"), str(tmp_path), "r.env")
    with server(tmp_path, port, "pass", {"NCCL_CONF_FILE": str(conf)}):
        seen = await look(box, port, recipe)
    assert seen.values(f"conf {conf}") == {"NCCL_ALGO": "Ring"}
    assert seen.envs["conf /etc/nccl.conf"].why == "no such file"
    assert seen.values("recipe") == {
        "NCCL_PROTO": "LL",
        "NCCL_NTHREADS": "256",
        "NCCL_BUFFSIZE": "1",
    }
    assert "conf ~/.nccl.conf" not in " ".join(seen.envs)


async def test_only_what_changed_is_said_again_and_what_went_is_gone(tmp_path: Path) -> None:
    wire = LocalWire(Host("here"))
    port = free_port()
    one = reader(wire, port)
    with server(tmp_path, port, "pass", SIX):
        assert "launcher" in Seen(await one.read()).envs
        again = Seen(await one.read())
        assert (again.envs, again.hosts) == ({}, [])
    seen = Seen(await one.read())
    assert seen.envs["launcher"].why == f"nothing listens on port {port}"
    assert {seen.envs[source].why for source in seen.envs if source != "launcher"} == {GONE}
    await wire.close()


async def test_a_host_that_answers_nonsense_is_a_failure() -> None:
    wire = LocalWire(Host("here", enter=("echo",)))
    with pytest.raises(WireError) as refused:
        await reader(wire, free_port()).read()
    assert refused.value.kind is Failure.REMOTE
    assert "ends too early" in refused.value.why


def test_the_command_is_one_line_and_runs_in_every_shell() -> None:
    argv = environ_argv(1)
    assert "\n" not in "".join(argv)
    for name in ("dash", "bash", "busybox"):
        shell = shutil.which(name)
        assert shell is not None, name
        program = [shell, "sh"] if name == "busybox" else [shell]
        done = subprocess.run([*program, *argv[1:]], capture_output=True, check=False)
        assert done.stdout.endswith(b"@nobody\n@end\n"), (name, done.stderr)


def test_a_port_without_a_number_is_the_schemes() -> None:
    host = Host("h")
    server = Server("s", "slot", Arm.BASELINE, "https://x")
    assert port_of(Fleet("f", (host,), (Slot("slot", "h", port=81),), (server,)), server) == 81
    assert port_of(Fleet("f", (host,), (Slot("slot", "h"),), (server,)), server) == 443


@pytest.mark.parametrize("drafts", [False, True])
async def test_of_two_arms_at_one_port_the_one_that_runs_is_read(
    tmp_path: Path, drafts: bool
) -> None:
    port = free_port()
    option = ("--speculative-algorithm", CANARY) if drafts else ("--tp-size", CANARY)
    wire = Recorded(LocalWire(Host("here")))
    with server(tmp_path, port, "pass", SIX, more=option):
        base, fast = [
            Seen(await reader(wire, port, arm=arm).read())  # type: ignore[arg-type]
            for arm in (Arm.BASELINE, Arm.SPECULATIVE)
        ]
    up, down = (fast, base) if drafts else (base, fast)
    assert up.values("launcher") == SIX
    why = f"not loaded: port {port} is held by the other arm, by its arguments"
    assert (down.process.pid, down.process.why) == (None, why)
    assert not any(CANARY.encode() in data for data in wire.said)
    await wire.wire.close()


async def test_a_forwarded_port_says_that_the_container_must_be_entered(tmp_path: Path) -> None:
    """A stand-in for docker-proxy: what counts is that it holds the port under that name."""
    port = free_port()
    proxy = tmp_path / "docker-proxy"
    proxy.symlink_to(sys.executable)
    wire = LocalWire(Host("here"))
    code = f"import signal, socket; s = socket.create_server(('', {port})); signal.pause()"
    child = Child([str(proxy), "-c", code], tmp_path / "log")
    try:
        await auntil(lambda: listens(port), 10)
        seen = Seen(await reader(wire, port).read())
    finally:
        child.kill()
    await wire.close()
    assert seen.process.pid is None
    assert seen.process.why.startswith(f"port {port} is forwarded into a container")


async def test_nothing_is_read_during_a_timed_run(tmp_path: Path) -> None:
    port = free_port()
    host = Host("here")
    clock = SystemClock()
    timeline = Timeline(clock)
    pace = Pace().scaled(600)
    fleet = fleet_of(host, port)
    with server(tmp_path, port, "pass", SIX):
        async with watch_fleet(
            fleet, timeline, clock, pace, Masks(), Nobody(), on_demand=True
        ) as watch:
            watch.environs.follow("s")
            seen: list[Item] = []
            timeline.subscribe(
                lambda item, _: seen.append(item) if isinstance(item, ProcessSeen) else None
            )
            await auntil(lambda: len(seen) > 1, 10)
            await watch.pause("s")
            seen.clear()
            for _ in range(3):
                await watch.environs.read("s")
            assert len(seen) == 3
            watch.resume("s")
            await auntil(lambda: len(seen) > 4, 10)
