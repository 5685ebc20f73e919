"""The pause before a launch is measured, until its GPUs are about as cool as before the first one.

A GPU that a long load or the arm before has heated runs at other clocks. Owns how long is waited
and that it is said; a host that tells no temperature is not waited for. That GPUs which are cooler
come up to their clocks again is the warm-up's.
"""

from __future__ import annotations

from collections.abc import Iterable

from console.model.clock import Clock
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.session_events import Noticed
from console.stream.state import State
from console.stream.timeline import Timeline

WITHIN_C = 3.0
MOST_S = 300.0
_LOOK_S = 1.0
_TEMPERATURE = Clean("temp_c")

Temperatures = dict[tuple[str, int], float]
"""Degrees Celsius by host and GPU."""


def temperatures(state: State, hosts: Iterable[str]) -> Temperatures:
    """What the GPUs of these hosts tell, those that tell none left out."""
    found: Temperatures = {}
    for host in hosts:
        cell = state.hosts.get(Clean(host))
        for gpu, seen in cell.gpus.items() if cell is not None else ():
            figures = dict(seen.figures)
            if _TEMPERATURE in figures:
                found[host, gpu] = figures[_TEMPERATURE]
    return found


async def cooled(
    timeline: Timeline,
    clock: Clock,
    scale: float,
    first: Temperatures,
    server: str,
    masks: Masks,
) -> bool:
    """Wait until no GPU is more than 3 °C warmer than before the first launch, for five minutes at
    most (`scale` times sooner on a simulated box); whether it came to that.

    Says once that it waits, and where that was in vain.
    """
    told = False
    for _ in range(round(MOST_S / _LOOK_S)):
        warm = _warmer(timeline.state, first)
        if warm is None:
            return True
        if not told:
            told = True
            _say(timeline, server, f"waits until GPUs have cooled: {warm}", "note", masks)
        await clock.sleep(_LOOK_S / scale)
    text = f"not cooled within {MOST_S:g} s, measured all the same: {warm}"
    _say(timeline, server, text, "warning", masks)
    return False


def _warmer(state: State, first: Temperatures) -> str | None:
    """The GPU that is furthest above its first temperature, in words; None where none is."""
    now = temperatures(state, {host for host, _ in first})
    above = {place: now[place] - began for place, began in first.items() if place in now}
    place = max(above, key=lambda one: above[one], default=None)
    if place is None or above[place] <= WITHIN_C:
        return None
    host, gpu = place
    return f"GPU {gpu} of {host} has {now[place]:g} °C, {first[place]:g} before the first launch"


def _say(timeline: Timeline, server: str, text: str, severity: str, masks: Masks) -> None:
    timeline.emit(Noticed(clean(server, masks), Clean(severity), clean(text, masks)))
