"""Hosts that answer what makes no sense: an error that says so, never a defect, never for ever."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from console.model.clock import ManualClock, Pace, SystemClock
from console.model.failure import WireError
from console.model.fleet import Arm, Host, Server
from console.model.mask import Masks
from console.services.checking import listening, log_found, tools
from console.services.circumstances import look_at_host
from console.services.container import configured
from console.services.env_file import Unwritten, fabric, write_env_file
from console.services.environ import Reader
from console.services.gpu import gpus
from console.services.launcher import HostRefused, Launcher, Start
from console.services.process import HostCommands, Identity, Seen
from console.services.settings_files import Bounds, find_settings
from console.services.stopper_gpu import look_at_gpus
from console.services.supervised import supervised
from console.services.topology import joined
from console.stream.host_events import GpuListed, GpusAbsent
from console.transport.wire import READ_BYTES, Done, Use

BOOT = "3d7c2a54-1111-2222-3333-444444444444"
SERVER = Server("base", "slot", Arm.BASELINE, "http://127.0.0.1:8000", log=None)
SEEN = Seen(Identity(BOOT, 42, 99, "1-2"), "S", 1, 42, 42)
ANSWER = f"""@boot {BOOT}
@process 42 99 S 1 42 42 123-45
 python3
 --port
@member 42
@sent 42
@host {BOOT} 1772438401.5 1772430000 100 6.1.0-18
@holders 42 43
@process launcher 42 99 1000
@title python3
@library /opt/libnccl.so.2
@environ
 NCCL_PROTO=LL
@process rank 43 100 1000
@shut permission denied
@container {"c" * 64} 12
@file 42 NCCL_CONF_FILE /etc/nccl.conf
 label
 1:NCCL_ALGO=Ring
@launched act-1 42 99 {BOOT} base
@log /tmp/base.log
@recipe /root/.spec-console/port-8000/act-1.recipe
@adopted /root/.spec-console/adopted/base.recipe
@of 42 99 {BOOT}
@cwd /tmp
@words
 python3
@environment
 NCCL_PROTO=LL
@variables 12 0
@stdout /tmp/base.log
@held act-0 12
 somebody
 /root/.spec-console/lock
@written /etc/base.env
@groups 12 DMA
@acs 1 2
@peers r
 GPU0 GPU1
 GPU0 X OK
@unit sglang.service
@id "abc"
@started "2026-02-24T17:00:00Z"
 "NCCL_PROTO=LL"
0, GPU-1, 4, 12
GPU-1, 42, python3, 11674
host.boot_id\t{BOOT}
host.load\t0.2
host.cores\t8
launch.pid\t42
launch.start_ticks\t99
gpu.fields\tuuid,name
gpu.row\tGPU-1, X
gpu.remapped\tGPU-1, 1, 0, 1, 0
probe.end\t1
42
/tmp/plan.env
12 /tmp/base.log
@end
"""
JUNK = (
    "",
    "x",
    "-1",
    "9" * 5000,
    "[" * 100_000,
    "\N{ARABIC-INDIC DIGIT FIVE}",
    "\udcff",
    "1e999",
    "nan",
    "@",
    "@end",
    "\r",
    "\0",
)


class Mad:
    """A wire whose host answers everything alike."""

    def __init__(self, out: bytes, code: int = 0) -> None:
        self.host = Host("mad", enter=("docker", "exec", "-i", "box"))
        self._out = out
        self._code = code
        self._sent = 0

    async def run(self, argv: Sequence[str], **how: Any) -> Done:
        del argv, how
        return Done(self._code, self._out, self._out[:500])

    async def open(self, argv: Sequence[str], *, use: Use = Use.TAIL) -> Mad:
        del argv, use
        return Mad(self._out, self._code)

    async def read(self, most: int = READ_BYTES) -> bytes:
        at, self._sent = self._sent, self._sent + most
        return self._out[at : at + most]

    async def read_err(self, most: int = READ_BYTES) -> bytes:
        return await self.read(most)

    async def write(self, data: bytes) -> None:
        del data

    async def close(self) -> None:
        self._sent = 0

    async def up(self) -> None:
        return


def mad(seed: int) -> bytes:
    """The answer with words exchanged, lines cut, repeated and lost, and bytes turned round."""
    chance = random.Random(seed)
    lines = [line.split(" ") for line in ANSWER.split("\n")]
    for _ in range(chance.choice((1, 2, 5, 30))):
        row = chance.randrange(len(lines))
        match chance.randrange(6):
            case 0:
                lines[row][chance.randrange(len(lines[row]))] = chance.choice(JUNK)
            case 1:
                del lines[row][1 + chance.randrange(len(lines[row])) :]
            case 2:
                lines.insert(chance.randrange(len(lines)), lines[row])
            case 3:
                lines[row] = [chance.choice(JUNK), *lines[row]]
            case 4:
                lines[row] = [*lines[row], chance.choice(JUNK)]
            case _:
                lines[row] = [lines[row][0].lower()]
    data = "\n".join(map(" ".join, lines)).encode("utf-8", "surrogateescape")
    if chance.random() < 0.2:
        data = data[: 1 + chance.randrange(len(data))]
    if chance.random() < 0.2:
        spoiled = bytearray(data)
        for _ in range(50):
            spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
        data = bytes(spoiled)
    return data


def asked(wire: Any) -> dict[str, Callable[[], Awaitable[object]]]:
    """Everything that a host is asked, by name."""
    clock, pace, masks = SystemClock(), Pace(), Masks()
    host = HostCommands(wire, clock, pace, masks)
    launcher = Launcher(host)
    return {
        "look": lambda: host.look([42, 43]),
        "tree": lambda: host.tree(8000),
        "members": lambda: host.members(42),
        "signal": lambda: host.signal("TERM", [SEEN.identity]),
        "alive": lambda: host.alive([SEEN.identity]),
        "last lines": lambda: host.last_lines("/tmp/base.log", 5),
        "size": lambda: host.size("/tmp/base.log"),
        "capture": lambda: launcher.capture(SEEN, "x.recipe"),
        "launch": lambda: launcher.launch("act-1", Start("base", 8000, "", "/x")),
        "records": lambda: launcher.records(SERVER, 8000),
        "wedged": lambda: launcher.keep_wedged(8000),
        "show": lambda: launcher.show("/x"),
        "lock": lambda: launcher.lock("act-1", "me"),
        "env file": lambda: write_env_file(host, "/x", "/y", "NCCL_PROTO=LL\n"),
        "fabric": lambda: fabric(host),
        "gpu memory": lambda: look_at_gpus(host),
        "supervised": lambda: supervised(host, SEEN, "c" * 64),
        "container": lambda: configured(wire, 5.0),
        "environment": lambda: Reader(SERVER, 8000, wire, clock, pace, masks).read(),
        "circumstances": lambda: look_at_host(SERVER, wire, 5.0, "", {}),
        "topology": lambda: joined(wire, pace, masks),
        "settings": lambda: find_settings(wire, "/plans", Bounds(most_files=2, seconds=2.0)),
        "tools": lambda: tools(wire, 5.0),
        "log": lambda: log_found(wire, SERVER.log, 5.0),
        "listening": lambda: listening(wire, 8000, 5.0),
    }


NAMES = tuple(asked(Mad(b"")))


@pytest.mark.parametrize("name", NAMES)
async def test_no_answer_of_a_host_is_a_defect(name: str) -> None:
    answers = [ANSWER.encode(), b"", b"@end\n", b"\0" * 100, *map(mad, range(300))]
    for number, out in enumerate(answers):
        wire = Mad(out, number % 3)
        try:
            await asked(wire)[name]()
        except (WireError, HostRefused, Unwritten) as error:
            assert str(error), out
        except Exception as error:
            raise AssertionError(f"{name}: answer {number}: {error!r}") from error


class Flood(Mad):
    """Its nvidia-smi knows its fields, then prints without end."""

    async def run(self, argv: Sequence[str], **how: Any) -> Done:
        del how
        if "--help-query-gpu" in argv:
            return Done(0, b'"index"\n\n"uuid"\n\n"name"\n\n', b"")
        return Done(0, b"index, uuid, name\n0, GPU-0, X\n", b"")

    async def open(self, argv: Sequence[str], *, use: Use = Use.TAIL) -> Mad:
        del argv, use
        rows = "".join(f"{n}, GPU-{n}, X\n" for n in range(5000))
        return Mad(f"index, uuid, name\n{rows}".encode() + b"x" * 3_000_000)


async def test_gpus_of_a_tool_gone_mad_are_bounded() -> None:
    wire: Any = Flood(b"")
    listed: set[int] = set()
    async with aclosing(gpus(wire, ManualClock(), Pace(), Masks())) as events:
        async for event in events:
            if isinstance(event, GpuListed):
                listed.add(event.gpu)
            if isinstance(event, GpusAbsent):
                break
    assert listed == set(range(256))
