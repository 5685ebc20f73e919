"""Known failure markers: what their text means, whether it ends a start, and what helps.

Order matters only where two patterns fit one line: the first wins.
"""

from __future__ import annotations

from console.engines.marker import Marker
from console.engines.markers_end import OF_END
from console.engines.markers_machine import OF_MACHINE
from console.engines.markers_start import OF_START

MARKERS: tuple[Marker, ...] = (*OF_MACHINE, *OF_START, *OF_END)
BY_ID: dict[str, Marker] = {m.id: m for m in MARKERS}
