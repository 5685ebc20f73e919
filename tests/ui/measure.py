"""What the screen costs a terminal and a core, measured on a pseudo-terminal of 120x40."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.rig.terminal import Terminal
from tests.rig.waiting import until

ROOT = Path(__file__).parents[2]
FIRST_PAINT_BYTES = 1500


@dataclass(frozen=True, slots=True)
class Load:
    """What a busy screen takes: bytes a second to the terminal, and of one core."""

    bytes_s: float
    core: float


def busy_load(rate: int = 50, seconds: float = 6.0) -> Load:
    """Run the dashboard with a log growing by `rate` lines a second and watch it for a while."""
    terminal = _started("tests.ui.busy", str(rate))
    try:
        until(lambda: "kimi-base" in terminal.screen, 20, "the dashboard")
        time.sleep(2.0)
        size, used, began = len(terminal.output), _cpu_s(terminal.pid), time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        return Load((len(terminal.output) - size) / took, (_cpu_s(terminal.pid) - used) / took)
    finally:
        terminal.stop()


@dataclass(frozen=True, slots=True)
class FirstPaint:
    """Medians in seconds from start to the first 1.5 kB on the terminal."""

    console_s: float
    bare_s: float

    @property
    def ratio(self) -> float:
        """How much longer the console takes."""
        return self.console_s / self.bare_s


def first_paint(times: int = 5) -> FirstPaint:
    """Start the dashboard and the bare program in turn, `times` each."""
    console, bare = [], []
    for _ in range(times):
        bare.append(_painted("tests.ui.bare"))
        console.append(_painted("tests.ui.busy", "0"))
    return FirstPaint(statistics.median(console), statistics.median(bare))


def _painted(module: str, *words: str) -> float:
    began = time.monotonic()
    terminal = _started(module, *words)
    try:
        until(lambda: len(terminal.output) >= FIRST_PAINT_BYTES, 20, "first paint")
        return time.monotonic() - began
    finally:
        terminal.stop()


def _started(module: str, *words: str) -> Terminal:
    argv: Sequence[str] = [sys.executable, "-m", module, *words]
    return Terminal(argv, cols=120, rows=40, cwd=ROOT)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    load = busy_load()
    print(f"{load.bytes_s / 1024:.1f} KiB/s, {load.core * 100:.1f} % of a core")
    paint = first_paint()
    print(f"first paint {paint.console_s:.2f} s, bare {paint.bare_s:.2f} s, x{paint.ratio:.2f}")
