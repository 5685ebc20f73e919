"""What is read on a host is read in a container as well: another root, another process namespace.

HTTP does not enter: a server is reached at its url as the host sees it.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure, WireError
from console.model.fleet import Arm, Host, Server
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.model.text import Clean
from console.nccl.truth import Extent
from console.services.circumstances import look_at_host
from console.services.container_script import container_of
from console.services.environ import Reader
from console.services.gpu import gpus
from console.stream.environment import effective
from console.stream.events import Event
from console.stream.fact import Completeness, FeedState, GapKind
from console.stream.fold import fold_all
from console.stream.host_events import GpuListed, GpusAbsent
from console.stream.server_events import EnvRead, ProcessSeen
from console.stream.state import State
from console.transport.http import Http
from console.transport.wire import Wire
from console.transport.wires import wire_to
from tests.rig.http import ScriptedHttp
from tests.rig.ports import free_port
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil, until
from tests.services.following import following
from tests.transport.container import Container, container

pytestmark = pytest.mark.rig

PACE = replace(Pace().scaled(20), connect_deadline_s=5.0)

GPU_TOOL = """#!/bin/sh
case "$*" in
--help-query-gpu) echo '"index"'; echo '"uuid"'; echo '"name"' ;;
--query-compute-apps=*) : ;;
*-lms*) echo "index, uuid, name"; echo "0, GPU-0, NVIDIA Y"; exec sleep 60 ;;
*) echo "index, uuid, name"; echo "0, GPU-0, NVIDIA Y" ;;
esac
"""


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Container]:
    (tmp_path / "container").mkdir()
    with container(tmp_path / "container") as found:
        yield found


@pytest.fixture(params=[Way.LOCAL, Way.ASYNCSSH, Way.OPENSSH])
async def wire(
    request: pytest.FixtureRequest, sshd: Sshd, inside: Container
) -> AsyncIterator[Wire]:
    """The container, from this machine and over both ways of SSH."""
    host = Host("box", request.param, sshd.alias, str(sshd.ssh_config), inside.enter)
    wire = wire_to(host, SystemClock(), PACE, Nobody())
    yield wire
    await wire.close()


@pytest.fixture
def server(inside: Container) -> Iterator[int]:
    """The port of a server of the container, with a variable of NCCL in its environment."""
    port = free_port()
    argv = ["env", "-i", "NCCL_PROTO=LL", "SECRET_TOKEN=hidden", "PATH=/bin"]
    argv += ["httpd", "-f", "-p", f"127.0.0.1:{port}", "-h", "/tmp"]
    with subprocess.Popen([*inside.enter, *argv], stdin=subprocess.DEVNULL) as running:
        listening = f"0100007F:{port:04X} 00000000:0000 0A"
        until(lambda: listening in Path("/proc/net/tcp").read_text(), 5)
        yield port
        inside.run("killall", "httpd")
        running.wait(5)


async def test_a_command_sees_only_the_container(wire: Wire) -> None:
    done = await wire.run(["sh", "-c", "echo $$; ls /usr; ls /bin/busybox"], deadline_s=5)
    pid, busybox = done.out.decode().split()
    assert (int(pid) < 100, busybox) == (True, "/bin/busybox")
    assert b"/usr: No such file" in done.err
    assert (await wire.run(["no-such-program"], deadline_s=5)).code == 127


async def test_input_and_deadline_reach_into_it(wire: Wire, inside: Container) -> None:
    assert (await wire.run(["cat"], stdin=b"in", deadline_s=5)).out == b"in"
    with pytest.raises(WireError) as caught:
        await wire.run(["sleep", "4321"], deadline_s=1.0)
    assert caught.value.kind is Failure.TIMEOUT
    await auntil(lambda: "4321" not in inside.run("ps"), 5, "the command inside is gone")


async def test_its_log_is_followed_to_the_byte(wire: Wire, inside: Container) -> None:
    log = inside.root / "tmp" / "server.log"
    await asyncio.to_thread(log.write_text, "one\ntwo\n")
    async with following(wire, "/tmp/server.log") as said:
        await said.until_line("two")
        with log.open("a") as file:
            file.write("three\n")
        await said.until_line("three")
        log.rename(log.with_name("server.log.1"))
        log.write_text("four\n")
        await said.until_line("four")
        assert said.lines == ["one", "two", "three", "four"]
        assert said.gap_kinds == [GapKind.ROTATED]
    await auntil(lambda: "server.log" not in inside.run("ps"), 5, "nothing stays inside")


async def test_a_command_that_prints_its_log(wire: Wire, inside: Container) -> None:
    async with following(wire, ("sh", "-c", "echo from $0; exec sleep 4321", "here")) as said:
        await said.until_line("from here")
        assert said.lines == ["from here"]
    await auntil(lambda: "4321" not in inside.run("ps"), 5, "the command inside is gone")


async def test_the_environment_of_its_server(wire: Wire, server: int) -> None:
    entry = Server("s", "slot", Arm.BASELINE, f"http://127.0.0.1:{server}")
    events = await Reader(entry, server, wire, SystemClock(), Pace(), Masks()).read()
    (process,) = [event for event in events if isinstance(event, ProcessSeen)]
    assert process.pid is not None
    assert process.pid < 100  # as the container numbers it
    launcher = next(event for event in events if isinstance(event, EnvRead))
    assert dict(launcher.values)[Clean("NCCL_PROTO")] == "LL"
    assert "hidden" not in repr(events)


CONFIGURED = r"""@id 5f0c
@started "2026-03-01T10:00:00.123456789Z"
"PATH=/bin"
"NCCL_PROTO=Simple"
"NCCL_ALGO=\u003cRing\u003e\nNCCL_NET=IB"
"HF_TOKEN=hidden"
"""


async def test_how_its_container_is_configured(wire: Wire, server: int, inside: Container) -> None:
    """Asked of its engine outside of it; the process says otherwise, and that holds."""
    inside.configure(CONFIGURED)
    entry = Server("s", "slot", Arm.BASELINE, f"http://127.0.0.1:{server}")
    events = await Reader(entry, server, wire, SystemClock(), Pace(), Masks()).read()
    reads = {event.source: event for event in events if isinstance(event, EnvRead)}
    config = reads[Clean("container's configuration")]
    assert config.completeness is Completeness.WHOLE
    assert dict(config.values) == {"NCCL_PROTO": "Simple", "NCCL_ALGO": "<Ring><LF>NCCL_NET=IB"}
    first = reads[Clean("container's first process")]
    assert (first.pid, first.completeness) == (1, Completeness.WHOLE)
    (process,) = [event for event in events if isinstance(event, ProcessSeen)]
    assert process.container == "5f0c"
    assert process.container_started == "2026-03-01T10:00:00.123456Z"
    assert "hidden" not in repr(events)
    state = fold_all(State(), events)
    assert effective(state.servers["s"]) == ({"NCCL_PROTO": "LL"}, Extent.WHOLE)


async def test_a_configuration_that_cannot_be_asked_for_says_why(wire: Wire, server: int) -> None:
    entry = Server("s", "slot", Arm.BASELINE, f"http://127.0.0.1:{server}")
    events = await Reader(entry, server, wire, SystemClock(), Pace(), Masks()).read()
    reads = {event.source: event for event in events if isinstance(event, EnvRead)}
    config = reads[Clean("container's configuration")]
    assert config.completeness is Completeness.UNREADABLE
    assert "No such file" in config.why
    assert reads[Clean("launcher")].completeness is Completeness.WHOLE


@pytest.mark.parametrize(
    ("enter", "found"),
    [
        ("docker exec -i kimi", (("docker",), "kimi")),
        ("sudo -n /usr/bin/docker -H unix:///d exec -i -u 0 kimi nice",
         (("sudo", "-n", "/usr/bin/docker", "-H", "unix:///d"), "kimi")),
        ("podman exec --env A=b --tty kimi", (("podman",), "kimi")),
        ("docker exec -i", None),
        ("kubectl exec -i pod --", None),
        ("nsenter -t 7 -p", None),
        ("", None),
    ],
)  # fmt: skip
def test_which_way_in_is_a_container(enter: str, found: tuple[tuple[str, ...], str] | None) -> None:
    assert container_of(enter.split()) == found


async def test_the_circumstances_of_a_run(wire: Wire, server: int) -> None:
    entry = Server("s", "slot", Arm.BASELINE, f"http://127.0.0.1:{server}")
    groups = await look_at_host(entry, wire, 10.0, "2026-02-24T17:00:00.000000Z")
    assert {group.unread for group in groups.values()} == {""}
    assert int(str(groups["launch"].values["pid"])) < 100  # as the container numbers it


async def test_its_gpus(wire: Wire, inside: Container) -> None:
    tool = inside.root / "bin" / "nvidia-smi"
    await asyncio.to_thread(tool.write_text, GPU_TOOL)
    tool.chmod(0o755)
    seen: list[Event] = []
    async with asyncio.timeout(8), aclosing(gpus(wire, SystemClock(), Pace(), Masks())) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, GpuListed | GpusAbsent):
                break
    assert [type(event) for event in seen] == [GpuListed]


async def test_http_goes_to_the_host_not_into_it(wire: Wire, scripted_http: ScriptedHttp) -> None:
    http = Http(wire, SystemClock())
    assert (await http.get(f"{scripted_http.url}/health", deadline_s=5)).code == 200
    await http.close()


async def test_a_container_that_is_not_there_says_what_the_way_in_says(
    sshd: Sshd, inside: Container
) -> None:
    enter = (*inside.enter[:-1], "other")
    host = Host("box", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config), enter)
    wire = wire_to(host, SystemClock(), PACE, Nobody())
    done = await wire.run(["true"], deadline_s=5)
    assert (done.code, b"No such container: other" in done.err) == (1, True)
    async with following(wire, "/tmp/server.log") as said:
        await said.until_state(FeedState.CUT)
        assert said.feeds[-1].failure is Failure.REMOTE
    await wire.close()
