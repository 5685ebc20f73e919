"""GPUs of a host through a stand-in nvidia-smi that checks its calls, and through the lab's."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console.model.clock import Pace, SystemClock
from console.model.fleet import Host
from console.model.mask import Masks
from console.services.gpu import gpus
from console.stream.events import Event
from console.stream.host_events import GpuHeld, GpuListed, GpusAbsent, GpuSeen, GpusJoined
from console.transport.local import LocalWire
from tests.rig.waiting import auntil

PACE = Pace(gpu_s=0.02, gpu_apps_s=0.05, reconnect_first_s=0.02, reconnect_most_s=0.05)
HELP = '"index"\\n\\n"uuid" or "gpu_uuid"\\n\\n"name"\\n\\n"memory.used"\\n\\n"power.draw"\\n\\n'
HELP += '"clocks_throttle_reasons.active"\\n\\n"pcie.link.gen.current"\\n\\n"memory.total"\\n'
HEADER = (
    "index, uuid, name, memory.total [MiB], memory.used [MiB], power.draw [W], "
    "clocks_throttle_reasons.active, pcie.link.gen.current"
)
FIELDS = (
    "index,uuid,name,memory.total,memory.used,power.draw,"
    "clocks_throttle_reasons.active,pcie.link.gen.current"
)
TOPOLOGY = "\\tGPU0\\tGPU1\\nGPU0\\tX\\tSYS\\nGPU1\\tSYS\\tX\\n"
PEERS = "\\tGPU0\\tGPU1\\nGPU0\\tX\\tCNS\\nGPU1\\tCNS\\tX\\n"
ROW = "{index}, GPU-{index}, NVIDIA X, 97887 MiB, {used} MiB, {power}, 0x{mask:016x}, {gen}"


class Tool:
    """A stand-in in PATH: says what its files hold, notes every call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.calls = folder / "calls"
        self.calls.write_text("")
        self.rows = folder / "rows"
        self.apps = folder / "apps"
        self.apps.write_text("")
        self.set(used=4, power="31.00 W")
        script = folder / "nvidia-smi"
        script.write_text(
            "#!/bin/sh\n"
            f'here="{folder}"\n'
            'echo "$*" >> "$here/calls"\n'
            'case "$*" in\n'
            f"--help-query-gpu) printf '{HELP}' ;;\n"
            f"'topo -m') printf '{TOPOLOGY}' ;;\n"
            f"'topo -p2p r') printf '{PEERS}' ;;\n"
            '--query-compute-apps=*) cat "$here/apps" ;;\n'
            f'*-lms*) echo "{HEADER}"; while [ ! -e "$here/end" ]; do cat "$here/rows"; '
            "sleep 0.02; done ;;\n"
            f'*) echo "{HEADER}"; cat "$here/rows" ;;\n'
            "esac\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    def set(self, used: int, power: str, mask: int = 0, gen: int = 5) -> None:
        rows = [
            ROW.format(index=n, used=used + n, power=power, mask=mask, gen=gen) for n in range(2)
        ]
        new = self.folder / "rows.new"
        new.write_text("".join(f"{row}\n" for row in rows))
        new.rename(self.rows)

    def asked(self) -> list[str]:
        return self.calls.read_text().splitlines()


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    found = Tool(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{found.folder}:{os.environ['PATH']}")
    return found


@asynccontextmanager
async def watching() -> AsyncIterator[list[Event]]:
    wire, seen = LocalWire(Host("gpu8")), list[Event]()

    async def collect() -> None:
        async for event in gpus(wire, SystemClock(), PACE, Masks()):
            seen.append(event)

    task = asyncio.create_task(collect())
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await wire.close()


def of(seen: list[Event], kind: type) -> list[Event]:
    return [event for event in seen if isinstance(event, kind)]


def figures(seen: list[Event], gpu: int) -> dict[str, float]:
    last = [e for e in seen if isinstance(e, GpuSeen) and e.gpu == gpu][-1]
    return {str(name): value for name, value in last.figures}


async def test_one_long_lived_query_whose_fields_were_intersected_once(tool: Tool) -> None:
    async with watching() as seen:
        await auntil(lambda: len(of(seen, GpuListed)) == 2)
        listed = of(seen, GpuListed)[0]
        assert isinstance(listed, GpuListed)
        assert (listed.host, listed.gpu, listed.name) == ("gpu8", 0, "NVIDIA X")
        assert dict(listed.facts)["memory_total_mib"] == "97887"  # type: ignore[index]
        await auntil(lambda: of(seen, GpuSeen))
        assert figures(seen, 0) == {"memory_used_mib": 4.0, "power_w": 31.0, "pcie_gen": 5.0}
        tool.set(used=87_000, power="312.50 W", mask=0x48)
        await auntil(lambda: figures(seen, 1)["memory_used_mib"] == 87_001.0)
        last = of(seen, GpuSeen)[-1]
        assert isinstance(last, GpuSeen)
        assert last.throttle == ("HW slowdown", "HW thermal slowdown")
        await auntil(lambda: len([c for c in tool.asked() if "compute-apps" in c]) > 2)
        (joined,) = of(seen, GpusJoined)
        assert isinstance(joined, GpusJoined)
        assert (joined.links, joined.peers) == ((("0-1", "SYS"),), (("0-1", "CNS"),))
        asked = [call for call in tool.asked() if "compute-apps" not in call]
        assert asked == [
            "--help-query-gpu",
            f"--query-gpu={FIELDS} --format=csv",
            f"--query-gpu={FIELDS} --format=csv -lms 20",
            "topo -m",
            "topo -p2p r",
        ]


async def test_what_did_not_change_is_not_said_again(tool: Tool) -> None:
    async with watching() as seen:
        await auntil(lambda: len([c for c in tool.asked() if "compute-apps" in c]) > 3)
        assert len(of(seen, GpuSeen)) == 2


async def test_what_the_driver_does_not_report_is_absent_and_an_error_is_a_finding(
    tool: Tool,
) -> None:
    tool.set(used=4, power="[N/A]")
    async with watching() as seen:
        await auntil(lambda: of(seen, GpuSeen))
        assert "power_w" not in figures(seen, 0)
        tool.set(used=4, power="ERR!")
        await auntil(lambda: len(of(seen, GpuSeen)) == 4)
        last = of(seen, GpuSeen)[-1]
        assert isinstance(last, GpuSeen)
        assert last.throttle == ("power_w reads ERR!",)


async def test_who_holds_memory_is_said_when_it_changes(tool: Tool) -> None:
    async with watching() as seen:
        await auntil(lambda: of(seen, GpuSeen))
        assert of(seen, GpuHeld) == []
        tool.apps.write_text("GPU-1, 91022, [Not Found], 11674\nGPU-9, 1, other, 5\n")
        await auntil(lambda: of(seen, GpuHeld))
        (held,) = of(seen, GpuHeld)
        assert isinstance(held, GpuHeld)
        assert (held.gpu, held.held) == (1, (("91022", "name unknown, 11674 MiB"),))
        tool.apps.write_text("")
        await auntil(lambda: len(of(seen, GpuHeld)) == 2)
        gone = of(seen, GpuHeld)[1]
        assert isinstance(gone, GpuHeld)
        assert gone.held == ()


async def test_a_process_in_a_slice_is_told_of_the_gpu_that_is_cut(tool: Tool) -> None:
    script = tool.folder / "nvidia-smi"
    text = script.read_text().replace(', pcie.link.gen.current"', ', mig.mode.current"')
    script.write_text(text)
    rows = "".join(
        f"{n}, GPU-{n}, NVIDIA X, 97887 MiB, 5 MiB, 9 W, 0x0, {mig}\n"
        for n, mig in enumerate(("[N/A]", "Enabled"))
    )
    tool.rows.write_text(rows)
    tool.apps.write_text("MIG-41b36014, 512, sglang::scheduler, 22408\n")
    async with watching() as seen:
        await auntil(lambda: of(seen, GpuHeld))
        (held,) = of(seen, GpuHeld)
        assert isinstance(held, GpuHeld)
        assert (held.gpu, held.held) == (1, (("512", "sglang::scheduler, 22408 MiB"),))


async def test_a_query_that_ends_is_said_and_begun_again(tool: Tool) -> None:
    async with watching() as seen:
        await auntil(lambda: of(seen, GpuSeen))
        (tool.folder / "end").touch()
        await auntil(lambda: of(seen, GpusAbsent))
        absent = of(seen, GpusAbsent)[0]
        assert isinstance(absent, GpusAbsent)
        assert absent.why == "nvidia-smi ended"
        (tool.folder / "end").unlink()
        await auntil(lambda: len(of(seen, GpuListed)) >= 4)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 127", "this host has no nvidia-smi"),
        ("echo No devices were found; exit 6", "nvidia-smi finds no GPU"),
        (
            'echo "NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver."',
            "nvidia-smi is there, but the driver does not answer",
        ),
    ],
    ids=["no tool", "no device", "no driver"],
)
async def test_a_host_without_gpus_says_why(tool: Tool, script: str, why: str) -> None:
    (tool.folder / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    async with watching() as seen:
        await auntil(lambda: seen)
        (absent,) = seen
        assert isinstance(absent, GpusAbsent)
        assert absent.why == why


async def test_a_host_without_the_tool_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sh", "env"):
        (tmp_path / name).symlink_to(f"/bin/{name}" if name == "sh" else "/usr/bin/env")
    monkeypatch.setenv("PATH", str(tmp_path))
    async with watching() as seen:
        await auntil(lambda: seen)
        (absent,) = seen
        assert isinstance(absent, GpusAbsent)
        assert absent.why == "this host has no nvidia-smi"
