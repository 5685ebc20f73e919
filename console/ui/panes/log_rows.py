"""How one log line is drawn: its colours once, then cut or wrapped to the room there is.

Knows neither where lines come from nor which are in view. A style is asked for once per line and
look; what a person changes about the look begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import dropwhile

from rich.segment import Segment
from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span, Spans
from console.model.text import Clean
from console.render.label import label
from console.render.lines import Piece, notice, pieces
from console.render.spans import cells
from console.ui.theme import Ink, plain_cells
from console.ui.window import Line

_MOST_STYLED = 512
_LEAST_BODY = 16
_HEAD = (Role.LOG_TIME, Role.LOG_RANK)
Find = Callable[[str], list[tuple[int, int]]]


class Rows:
    """Draws lines.

    Attributes:
        left: cells scrolled to the right.
        wrap: whether long lines go on in further rows.
        find: stretches to lift out.
        before: what stands before a line: where it is from, when it came.
        after: what stands at its right end, and a text that goes on after its own.
    """

    def __init__(self, ink: Ink) -> None:
        self.ink = ink
        self.left = 0
        self.wrap = False
        self.find: Find | None = None
        self.before: Callable[[Line], Spans] = lambda _: ()
        self.after: Callable[[Line], tuple[Spans, str]] = lambda _: ((), "")
        self._styled: dict[tuple[Line, str], Strip] = {}
        self._figures: dict[Clean, Spans] = {}

    def forget(self) -> None:
        """The look has changed: style every line anew."""
        self._styled.clear()

    def styled(self, line: Line) -> Strip:
        """A line in its styles, as wide as it is."""
        tail = self.after(line)[1]
        strip = self._styled.get((line, tail))
        if strip is None:
            if len(self._styled) >= _MOST_STYLED:
                self._styled.clear()
            strip = self._styled[line, tail] = self.ink.pieces(self._pieces(line.text, tail))
        return strip

    def tall(self, line: Line, room: int, most: int) -> int:
        """How many rows the line takes in `room` cells, at most `most`."""
        if not self.wrap or line.notice:
            return 1
        body = self._body(line, room, self._after(line, room))
        return max(1, min(most, -(-self.styled(line).cell_length // body)))

    def rows(self, line: Line, room: int, most: int) -> list[Strip]:
        """The line's rows, each at most `room` cells wide."""
        if line.notice:
            told = f"{line.log}: {line.text}" if line.log else line.text
            return [self.ink.pieces(notice(label(told), room))]
        before = self.ink.segments(self.before(line))
        after = self._after(line, room)
        body = self._body(line, room, after)
        strip = self.styled(line)
        count = self.tall(line, room, most)
        if not self.wrap:
            rows = [self._cut(strip, body)]
        else:
            rows = [strip.crop(n * body, (n + 1) * body) for n in range(count)]
            if strip.cell_length > count * body:
                rows[-1] = _ended(strip.crop((count - 1) * body, count * body - 1))
        if after:
            rows[0] = self._tagged(rows[0], after, body)
        if not before:
            return rows
        blank = Segment(" " * cells(self.before(line)), self.ink.ground)
        heads = [before, *([[blank]] * (len(rows) - 1))]
        return [Strip([*head, *row]) for head, row in zip(heads, rows, strict=True)]

    def widest(self, lines: list[Line], room: int) -> int:
        """How far right there is something to see, in cells beyond the room."""
        return max(
            (
                self.styled(line).cell_length - self._body(line, room, self._after(line, room))
                for line in lines
            ),
            default=0,
        )

    def _after(self, line: Line, room: int) -> Spans:
        """What stands at the line's right end: what a person must not miss where it is cut."""
        after = self.after(line)[0]
        if after or self.wrap or self.styled(line).cell_length <= self._body(line, room, ()):
            return after
        found = self._figures.get(line.text)
        if found is None:
            from console.render.reading import figures

            if len(self._figures) >= _MOST_STYLED:
                self._figures.clear()
            told = figures(line.text)
            found = self._figures[line.text] = (Span(told),) if told else ()
        return found

    def _body(self, line: Line, room: int, after: Spans) -> int:
        taken = cells(self.before(line)) + (cells(after) + 2 if after else 0)
        return max(1, min(room, _LEAST_BODY), room - taken)

    def _pieces(self, text: Clean, tail: str) -> tuple[Piece, ...]:
        from console.render.reading import base_role

        found = pieces(text, base_role(text), self.find)
        if not tail:
            return found
        # What was raised says more than where it was caught, and must not be cut off.
        rest = list(dropwhile(lambda piece: piece.role in _HEAD, found))
        head = found[: len(found) - len(rest)]
        return (*head, Piece(f"{tail}  ", Role.LOG_ERROR), *rest)

    def _tagged(self, row: Strip, after: Spans, body: int) -> Strip:
        gap = Segment(" " * max(0, body - row.cell_length + 2), self.ink.ground)
        # Neighbours of one style as one: every change of style costs the wire 40 bytes.
        return Strip([*row, gap, *self.ink.segments(after)]).simplify()

    def _cut(self, strip: Strip, room: int) -> Strip:
        """The stretch in view, an ellipsis at each end where something is left out."""
        if strip.cell_length <= self.left + room and not self.left:
            return strip
        first, last = self.left, self.left + room
        if strip.cell_length <= first:
            return self.ink.strip((Span("…" if strip.cell_length else "", Role.DIM),), room)
        before, after = first > 0, strip.cell_length > last
        parts = _stretch(strip, first + before, last - after)
        # The marks take the look of what they cut: another style would cost the wire 40 bytes.
        if before and parts:
            parts[0] = Segment("…" + parts[0].text, parts[0].style)
        if after and parts:
            parts[-1] = Segment(parts[-1].text + "…", parts[-1].style)
        return Strip(
            parts, None if plain_cells(strip) is None else min(strip.cell_length, last) - first
        )


def _stretch(strip: Strip, first: int, last: int) -> list[Segment]:
    """The cells from `first` up to before `last`."""
    if plain_cells(strip) is None:
        return list(strip.crop(first, last))
    parts, at = [], 0
    for text, style, _ in strip:
        kept = text[max(0, first - at) : max(0, last - at)]
        if kept:
            parts.append(Segment(kept, style))
        at += len(text)
    return parts


def _ended(strip: Strip) -> Strip:
    parts = list(strip)
    if parts:
        parts[-1] = Segment(parts[-1].text + "…", parts[-1].style)
    return Strip(parts)
