"""Running a command that the fleet file names: its words as they stand there, its answer bounded.

Owns nothing but the one round trip; who may ask for it is control's to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.model.fleet import Command
from console.model.mask import Masks
from console.model.text import Clean, clean_lines
from console.transport.wire import Use, Wire

MOST_BYTES = 1_048_576
MOST_LINES = 1000


@dataclass(frozen=True, slots=True)
class Said:
    """What a command came to: exit code (negative for a signal) and its last lines, both outputs
    one after the other."""

    code: int
    lines: Sequence[Clean]
    left_out: int = 0


async def run_named(command: Command, wire: Wire, deadline_s: float, masks: Masks) -> Said:
    """Run it to its end.

    Raises:
        WireError: the host was not reached, the deadline passed, or it said more than MOST_BYTES.
    """
    use = Use.READ if command.read_only else Use.ACT
    done = await wire.run(command.argv, deadline_s=deadline_s, most_bytes=MOST_BYTES, use=use)
    lines = clean_lines([*done.out.splitlines(), *done.err.splitlines()], masks)
    return Said(done.code, lines[-MOST_LINES:], max(0, len(lines) - MOST_LINES))
