"""What a simulated server finds on its host: the lab's settings, its switches, its notes.

One directory per host, `run/` in it holding what servers leave for each other and for the
stand-in nvidia-smi.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from console.lab.switches import CONTROL, Switches, read_switches

SITE = "lab.json"


@dataclass(frozen=True, slots=True)
class Site:
    """A host of the lab as its servers see it.

    Attributes:
        lab: the lab's directory, where control.json is.
        servers: this host's server names by arm.
    """

    host: str
    lab: str
    scale: float
    seed: str
    assume: str
    servers: dict[str, str]
    directory: str = ""

    @property
    def run(self) -> Path:
        """Where servers leave their notes."""
        return Path(self.directory) / "run"

    def save(self, directory: Path) -> None:
        """Write it where `load` finds it."""
        (directory / "run").mkdir(parents=True, exist_ok=True)
        (directory / SITE).write_text(json.dumps(asdict(self), indent=1) + "\n")

    def switches(self, server: str) -> Switches:
        """A server's switches as they are now."""
        return read_switches(Path(self.lab), server)

    def switched(self) -> int:
        """Changes whenever the switches may have."""
        try:
            return (Path(self.lab) / CONTROL).stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def next_launch(self, server: str) -> int:
        """Count the launches of a server: each has its own noise."""
        note = self.run / f"launches-{server}"
        number = int(note.read_text()) + 1 if note.exists() else 1
        note.write_text(str(number))
        return number

    def will_be_up(self, server: str, seconds: float) -> None:
        """Make the next launch of a server come with that much of a past."""
        (self.run / f"up-{server}").write_text(str(seconds))

    def up_since(self, server: str) -> float | None:
        """Seconds this launch is to have been up already; asked once."""
        note = self.run / f"up-{server}"
        if not note.exists():
            return None
        seconds = float(note.read_text())
        note.unlink()
        return seconds

    def note_gpus(self, state: dict[str, object]) -> None:
        """Leave what nvidia-smi is to show of this server's GPUs."""
        new = self.run / ".gpus.new"
        new.write_text(json.dumps(state))
        os.replace(new, self.run / "gpus.json")


def load_site(directory: Path) -> Site:
    """The site of a host's directory."""
    return Site(**(json.loads((directory / SITE).read_text()) | {"directory": str(directory)}))
