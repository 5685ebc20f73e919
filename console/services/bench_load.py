"""What the GPUs of a host did while runs were timed: clocks, links, what held them back.

Owns which of it voids a run. Readings come from the stream; an idle GPU says nothing of a run, so
only what was read while one was timed counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from console.bench.provenance import Group, Unread, Value
from console.stream.host_events import GpuSeen
from console.stream.state import Item, State

HELD_BACK = {
    "HW slowdown": "hw_slowdown",
    "HW thermal slowdown": "hw_thermal",
    "HW power brake": "power_brake",
}
"""What makes a run say nothing of the server."""
SETTING = "application clocks"
"""All that a driver tells of clocks a person set; of `nvidia-smi -lgc` it tells nothing."""
CAPPED = ("SW power cap", "sw_power_cap")
_IDLE = Unread("no reading while a GPU was at work")


class GpuLoad:
    """The GPUs of one host over the runs of a benchmark."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._timed = False
        self._window: list[GpuSeen] = []
        self._all: list[GpuSeen] = []
        self._now: dict[int, GpuSeen] = {}
        self._start_c: float | None = None

    def take(self, item: Item, state: State) -> None:
        """One item of the timeline."""
        del state
        if isinstance(item, GpuSeen) and item.host == self._host:
            self._now[item.gpu] = item
            if self._timed:
                self._window.append(item)

    def begin(self) -> None:
        """A run is about to be timed."""
        if self._start_c is None:
            found = [_figure(seen, "temp_c") for seen in self._now.values()]
            self._start_c = max((value for value in found if value is not None), default=None)
        self._timed, self._window = True, []

    def end(self) -> tuple[str, ...]:
        """It is over: why it must not count, () when nothing speaks against it."""
        self._timed = False
        self._all += self._window
        found: dict[str, set[int]] = {}
        for seen in self._window:
            for word in seen.throttle:
                if word in HELD_BACK:
                    found.setdefault(word, set()).add(seen.gpu)
        return tuple(
            f"{word} on GPU {', '.join(map(str, sorted(gpus)))} during the run"
            for word, gpus in found.items()
        )

    def group(self) -> Group | None:
        """All runs so far as one group of circumstances; None when nothing was read in any."""
        if not self._all:
            return None
        words = {str(word) for seen in self._all for word in seen.throttle}
        pairs = (*HELD_BACK.items(), CAPPED)
        values: dict[str, Value] = {key: _active(word in words) for word, key in pairs}
        if SETTING in words:
            values["clock_setting"] = "active"
        clocks = [v for seen in self._all if (v := _figure(seen, "clock_mhz")) is not None]
        if clocks:
            values["sm_clock"] = f"{median(clocks):.0f}"
        if self._start_c is not None:
            values["temperature"] = f"{self._start_c:.0f}"
        for key in ("pcie_gen", "pcie_width"):
            told = [seen for seen in self._all if _figure(seen, key) is not None]
            if told:
                slowest = _slowest(told, key)
                values[key] = _IDLE if slowest is None else f"{slowest:.0f}"
        return Group(values)


def _slowest(readings: Sequence[GpuSeen], key: str) -> float | None:
    """Of each GPU's best under load (links need a moment to speed up) the lowest; None where no
    reading found one at work: the link of an idle GPU is slow and says nothing."""
    best: dict[int, float] = {}
    for seen in readings:
        value = _figure(seen, key)
        if value is not None and _figure(seen, "util_pct") != 0:
            best[seen.gpu] = max(value, best.get(seen.gpu, value))
    return min(best.values(), default=None)


def _figure(seen: GpuSeen, name: str) -> float | None:
    return next((value for key, value in seen.figures if key == name), None)


def _active(found: bool) -> str:
    return "active" if found else "not active"
