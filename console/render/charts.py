"""The one canvas with axes: points in, lines of text out. The only module that knows plotext.

plotext 5 keeps one global figure and gives up on what is not finite, so that everything is made
finite, clamped and thinned before it gets there. It draws axes and points; lines, for which it
needs 5 us a dot, are drawn here into its canvas. A marker's role follows from the marker.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from console.model.palette import Role
from console.model.span import Span, Spans

MOST_POINTS = 400
"""Of all series together: plotext takes 5 us a point, and no chart is wider."""
MOST_LOOKED_AT = 4000
FARTHEST = 1e9
LEAST_WIDTH, LEAST_HEIGHT = 24, 5
MOST_WIDTH, MOST_HEIGHT = 400, 100
BRAILLE = "braille"
LEVEL = "┄"
MOST_LEVELS = 8
_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Of a braille cell: the bits of its left and its right dots, from the top."""
_CODES = re.compile(r"\x1b\[[0-9;]*m")


Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Points:
    """A series: (x, y) pairs, the marker they are drawn with and its role; BRAILLE joins them by
    lines, in the order of x."""

    pairs: Sequence[Pair]
    marker: str
    role: Role


@dataclass(frozen=True, slots=True)
class Axes:
    """Ticks of the x axis by position; the y axis finds its own. `floor`: y that must be shown.
    `levels`: values drawn as dotted lines across, in `level_role`."""

    ticks: Mapping[float, str] = field(default_factory=dict)
    floor: float | None = None
    levels: Sequence[float] = ()
    level_role: Role = Role.NOTE


@dataclass(frozen=True, slots=True)
class Box:
    """What the canvas shows."""

    first: float
    last: float
    low: float
    high: float


def loaded() -> bool:
    """Whether plotext is there already."""
    return "plotext" in sys.modules


def load() -> None:
    """Load plotext, which takes some 0.1 s; safe in a thread."""
    import plotext

    plotext.clear_figure()


def plotted(series: Sequence[Points], axes: Axes, width: int, height: int) -> tuple[Spans, ...]:
    """A chart of at most `height` lines and `width` cells; () where nothing can be shown."""
    width, height = min(width, MOST_WIDTH), min(height, MOST_HEIGHT)
    each = max(1, len(series))
    drawn = [
        (points, thinned(finite(points.pairs, MOST_LOOKED_AT // each), MOST_POINTS // each))
        for points in series
    ]
    drawn = [(points, pairs) for points, pairs in drawn if pairs]
    if not drawn or width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return ()
    levels = [y for _, y in finite([(0.0, y) for y in axes.levels])][:MOST_LEVELS]
    box = _box([pair for _, pairs in drawn for pair in pairs], levels, axes.floor)
    rows = _rows(drawn, axes, box, width, height)
    for level in levels:
        _draw_level(rows, level, box, width)
    for points, pairs in drawn:
        if points.marker == BRAILLE:
            _draw_line(rows, pairs, box)
    roles = {LEVEL: axes.level_role, **{points.marker: points.role for points, _ in drawn}}
    line_role = next((p.role for p, _ in drawn if p.marker == BRAILLE), Role.TEXT)
    texts = ("".join(row).rstrip()[:width] for row in rows)
    return tuple(tuple(_spans(text, roles, line_role)) for text in texts if text)


def _box(pairs: Sequence[Pair], levels: Sequence[float], floor: float | None) -> Box:
    """Everything, with a little room above and below, and at the right for a tick's label."""
    xs, ys = [x for x, _ in pairs], [*(y for _, y in pairs), *levels]
    first, last, low, high = min(xs), max(xs), min(ys), max(ys)
    if floor is not None:
        low = min(low, floor)
    room = (high - low) * 0.05 or max(abs(high) * 0.05, 0.5)
    bottom = low if low == floor else low - room
    return Box(first, last + ((last - first) * 0.03 or 1.0), bottom, high + room)


def _rows(
    drawn: Sequence[tuple[Points, Sequence[Pair]]], axes: Axes, box: Box, width: int, height: int
) -> list[list[str]]:
    """What plotext makes: axes and points, character by character."""
    import plotext

    plotext.clear_figure()
    plotext.theme("clear")
    plotext.limit_size(False, False)  # else it cuts at the terminal it believes to be in
    plotext.plot_size(width, height)
    plotext.xaxes(True, False)
    plotext.yaxes(True, False)
    for points, pairs in drawn:
        kept = pairs[:1] if points.marker == BRAILLE else pairs
        marker = "⠀" if points.marker == BRAILLE else points.marker
        plotext.scatter([x for x, _ in kept], [y for _, y in kept], marker=marker)
    plotext.xlim(box.first, box.last)
    plotext.ylim(box.low, box.high)
    ticks = y_ticks(box.low, box.high, height)
    plotext.yticks(list(ticks), list(ticks.values()))
    shown = {x: name for x, name in axes.ticks.items() if box.first <= x <= box.last}
    if shown:
        plotext.xticks(list(shown), list(shown.values()))
    else:
        plotext.xfrequency(0)
    text = _CODES.sub("", str(plotext.build()))
    return [list(row) for row in text.split("\n")][:height]


def _canvas(rows: list[list[str]]) -> tuple[list[list[str]], int]:
    """The rows right of the y axis, and the column where they begin."""
    axis = next((row.index(char) for row in rows for char in "┤│" if char in row), -1)
    if axis < 0:
        return [], 0
    return [row for row in rows if len(row) > axis and row[axis] in "┤│"], axis + 1


def _draw_level(rows: list[list[str]], level: float, box: Box, width: int) -> None:
    """A dotted line across, behind everything else."""
    canvas, start = _canvas(rows)
    if canvas:
        share = (box.high - level) / (box.high - box.low)
        row = canvas[min(len(canvas) - 1, max(0, round(share * (len(canvas) - 1))))]
        row += " " * (width - len(row))
        row[start:width] = [LEVEL if char == " " else char for char in row[start:width]]


def _draw_line(rows: list[list[str]], pairs: Sequence[Pair], box: Box) -> None:
    """Join the points by lines of dots, two a cell across and four down, where nothing stands."""
    canvas, start = _canvas(rows)
    if not canvas:
        return
    wide = 2 * (max(map(len, canvas)) - start)
    tall = 4 * len(canvas)
    dots: dict[tuple[int, int], int] = {}
    for column, (low, high) in _columns(pairs, box, wide, tall).items():
        for dot in range(low, high + 1):
            cell = (dot // 4, column // 2)
            dots[cell] = dots.get(cell, 0) | _BITS[column % 2][dot % 4]
    for (down, across), bits in dots.items():
        row, place = canvas[down], start + across
        row += " " * (place + 1 - len(row))
        if row[place] in (" ", "⠀", LEVEL):
            row[place] = chr(0x2800 + bits)


def _columns(pairs: Sequence[Pair], box: Box, wide: int, tall: int) -> dict[int, tuple[int, int]]:
    """For each column of dots the highest and the lowest dot that the line touches there."""
    found: dict[int, tuple[int, int]] = {}

    def touch(column: int, dot: float) -> None:
        at = min(tall - 1, max(0, round(dot)))
        low, high = found.get(column, (at, at))
        found[column] = (min(low, at), max(high, at))

    last: tuple[int, float] | None = None
    for x, y in sorted(pairs):
        column = min(wide - 1, int((x - box.first) / (box.last - box.first) * wide))
        dot = (box.high - y) / (box.high - box.low) * (tall - 1)
        if last is not None:
            for between in range(last[0], column):
                share = (between - last[0]) / (column - last[0])
                touch(between, last[1] + share * (dot - last[1]))
        if last is not None and last[0] == column:
            touch(column, last[1])
        touch(column, dot)
        last = (column, dot)
    return found


def finite(pairs: Sequence[Pair], most: int = MOST_LOOKED_AT) -> list[Pair]:
    """The pairs that are numbers, brought within ±1e9; of a great many, evenly chosen ones."""
    return [
        (max(-FARTHEST, min(FARTHEST, x)), max(-FARTHEST, min(FARTHEST, y)))
        for x, y in pairs[:: 1 + len(pairs) // most]
        if math.isfinite(x) and math.isfinite(y)
    ]


def thinned(pairs: Sequence[Pair], most: int = MOST_POINTS) -> Sequence[Pair]:
    """At most so many pairs over the whole stretch; of each part its lowest and highest, so that a
    dip or a peak never vanishes."""
    if len(pairs) <= most:
        return pairs
    parts, found = max(1, most // 2), list[Pair]()
    for number in range(parts):
        part = pairs[number * len(pairs) // parts : (number + 1) * len(pairs) // parts]
        low, high = min(part, key=_y), max(part, key=_y)
        found += [low, high] if low[0] <= high[0] else [high, low]
    return found


def _y(pair: Pair) -> float:
    return pair[1]


def y_ticks(low: float, high: float, height: int) -> dict[float, str]:
    """Round values between the limits, one for every two lines or more."""
    most = max(2, min(10, (height - 2) // 2))
    least = 10.0 ** math.floor(math.log10((high - low) / most))

    def within(step: float) -> int:
        return math.floor(high / step) - math.ceil(low / step) + 1

    step = least * next(factor for factor in (1, 2, 5, 10, 20) if within(factor * least) <= most)
    first = math.ceil(low / step)
    values = [(first + n) * step for n in range(most + 1) if (first + n) * step <= high]
    digits = max(0, -math.floor(math.log10(step)))
    return {value: f"{value:,.{min(digits, 6)}f}" for value in values}


def _spans(row: str, roles: Mapping[str, Role], line_role: Role) -> Iterable[Span]:
    """A row cut where the role changes: markers by their own, the frame and its numbers dim."""
    held, role = "", Role.DIM
    for char in row:
        own = roles.get(char)
        if own is None:
            own = line_role if "\u2800" < char <= "\u28ff" else Role.DIM
        if own is not role and char != " ":
            if held:
                yield Span(held, role)
            held, role = "", own
        held += char
    if held:
        yield Span(held, role)
