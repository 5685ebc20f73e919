"""A whole console beside a lab that runs faster: its environment."""

from __future__ import annotations

from pathlib import Path

from console.model.clock import Pace
from console.store.preferences import MOST_S
from tests.live.fleets import environment

_OWN = ("kill_grace_s", "read_deadline_s", "health_deadline_s", "screen_s", "unlock_idle_s")


def at_scale(scale: float, folder: Path) -> dict[str, str]:
    """Loads are simulated and run faster; what this machine has to do, and a person, does not."""
    own = {name: min(getattr(Pace(), name) * scale, MOST_S) for name in _OWN}
    kept = {f"SPEC_CONSOLE_PACE_{name.upper()}": str(value) for name, value in own.items()}
    return {**environment(folder), **kept}
