"""A failure marker: the form of one row of the tables of markers.

`weight` orders causes: of several markers of one crash the heaviest names it; a signal or an exit
code never outweighs the line that says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Marker:
    """`pattern` is searched in the message where a needle was found; named groups are details."""

    id: str
    needles: tuple[str, ...]  # cheap test: one of them is in every text that fits
    pattern: str
    meaning: str
    fatal: bool
    remedy: str
    weight: int
    severity: Literal["info", "warning", "error"] = "error"
