"""What NCCL wrote into files of its own: found by the pattern a process has, read on its host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from console.model.fleet import Host
from console.services.environ_said import Process, Said
from console.services.nccl_file import nccl_settings, pattern_of, spoken
from console.transport.local import LocalWire

pytestmark = pytest.mark.rig

LINES = """box:{pid}:{pid} [0] NCCL INFO NCCL version 2.27.7+cuda12.9
box:{pid}:{pid} [0] NCCL INFO NCCL_PROTO set by environment to LL
box:{pid}:{pid} [0] NCCL INFO NCCL_BUFFSIZE set by environment to 16777216.
"""


def said(pattern: str, *ranks: int) -> Said:
    """A launcher with this pattern, its ranks below it."""
    block = b"A=1\0NCCL_DEBUG_FILE=" + pattern.encode() + b"\0"
    launcher = Process("launcher", 1, 1, 0, "python", block=block)
    return Said(processes=[launcher, *(Process("child", pid, 1, 0) for pid in ranks)])


@pytest.mark.parametrize("relative", [False, True])
async def test_the_file_of_a_process_is_found_and_only_what_nccl_read_comes_back(
    relative: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    wire = LocalWire(Host("box"))
    code = "import signal; signal.pause()"
    with subprocess.Popen([sys.executable, "-c", code], cwd=folder) as child:  # noqa: ASYNC220
        try:
            file = folder / f"nccl.some-host.{child.pid}"
            secret = "HF_TOKEN=hf_0123456789abcdef\n"
            file.write_text(secret + LINES.format(pid=child.pid))
            pattern = "nccl.%h.%p" if relative else f"{folder}/nccl.%h.%p"
            found = await nccl_settings(wire, said(pattern, child.pid), 10.0)
            values = {"NCCL_PROTO": "LL", "NCCL_BUFFSIZE": "16777216"}
            assert found == (child.pid, values)
            assert await nccl_settings(wire, said("/no/such/%p", child.pid), 10.0) is None
            assert await nccl_settings(wire, said("", child.pid), 10.0) is None
        finally:
            child.kill()
    await wire.close()


def test_who_says_most_speaks_for_all() -> None:
    one = "@file 7\n x:7:7 [0] NCCL INFO NCCL_PROTO set by environment to LL\n"
    two = one.replace("7", "8") + " x:8:8 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n"
    assert spoken((one + two + "@end\n").encode()) == (8, {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"})
    assert spoken(b"@file 7\n@end\n") is None
    assert spoken(b"") is None


def test_the_tracker_is_asked_before_the_launcher() -> None:
    whole = said("/launcher")
    block = b"NCCL_DEBUG_FILE=/tracker\0"
    whole.processes.append(Process("tracker", 2, 1, 0, block=block))
    assert pattern_of(whole) == "/tracker"
    assert pattern_of(said("/launcher")) == "/launcher"
    assert pattern_of(Said()) == ""
