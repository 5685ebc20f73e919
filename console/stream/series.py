"""Where samples are: numbered by subject and name, in columns of time and value.

Bounded per series: the oldest half is thinned to every second sample when a series is full, so a
long night keeps its shape.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import NamedTuple, Protocol

from console.stream.fact import Figures

MOST_SAMPLES = 20_000


class SeriesKey(NamedTuple):
    """Whose samples, and which figure."""

    subject: str
    name: str


class Columns(NamedTuple):
    """Samples of one series: microseconds since the session began, and values."""

    t_us: array[int]
    value: array[float]


class Series(Protocol):
    """Access to samples."""

    def window(self, key: SeriesKey, t0_us: int, t1_us: int) -> Columns:
        """The samples with t0_us <= t < t1_us; empty columns for an unknown series."""
        ...


class Samples:
    """The samples of a session, in memory."""

    def __init__(self, most: int = MOST_SAMPLES) -> None:
        self._most = most
        self._columns: dict[SeriesKey, Columns] = {}

    def take(self, subject: str, t_us: int, figures: Figures) -> None:
        """Add one sample to each of the named series."""
        for name, value in figures:
            key = SeriesKey(subject, name)
            columns = self._columns.get(key)
            if columns is None:
                columns = self._columns[key] = Columns(array("q"), array("d"))
            columns.t_us.append(t_us)
            columns.value.append(value)
            if len(columns.t_us) > self._most:
                self._columns[key] = _thinned(columns)

    def clear(self) -> None:
        """Forget everything: a seek begins anew."""
        self._columns.clear()

    def window(self, key: SeriesKey, t0_us: int, t1_us: int) -> Columns:
        columns = self._columns.get(key)
        if columns is None:
            return Columns(array("q"), array("d"))
        first, end = bisect_left(columns.t_us, t0_us), bisect_left(columns.t_us, t1_us)
        return Columns(columns.t_us[first:end], columns.value[first:end])


def _thinned(columns: Columns) -> Columns:
    half = len(columns.t_us) // 2
    return Columns(
        columns.t_us[:half:2] + columns.t_us[half:], columns.value[:half:2] + columns.value[half:]
    )
