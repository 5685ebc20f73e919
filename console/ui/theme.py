"""From roles to terminal styles: the only place in the screen that knows a colour.

`Ink` turns spans and log pieces into strips of exactly the width asked for, and is the last gate
before the terminal: no control character passes it, whatever it was given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from unicodedata import category

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.theme import Theme as ScreenTheme

from console.model.palette import Role
from console.model.span import Span
from console.render.spans import fitted
from console.store.theme import Pen, Theme

if TYPE_CHECKING:
    from console.model import ansi
    from console.render.lines import Piece


def screen_theme(theme: Theme) -> ScreenTheme:
    """The toolkit's own theme, for dialogs, inputs and the palette."""
    ground = {key: _screen_colour(colour) for key, colour in theme.ground.items()}
    pens = {role: _screen_colour(pen.colour) for role, pen in theme.pens.items()}
    return ScreenTheme(
        name=theme.name,
        primary=ground["accent"],
        secondary=pens[Role.NOTE],
        warning=pens[Role.WARNING],
        error=pens[Role.ERROR],
        success=pens[Role.GOOD],
        accent=ground["accent"],
        foreground=pens[Role.TEXT],
        background=ground["background"],
        surface=ground["surface"],
        panel=ground["panel"],
        dark=theme.dark,
        ansi=theme.ansi,
        variables={key: _screen_colour(colour) for key, colour in theme.variables.items()},
    )


class Ink:
    """The styles of one theme."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.ground = Style(
            color=_colour(theme.pens[Role.TEXT].colour), bgcolor=_colour(theme.ground["background"])
        )
        self._roles = {role: self.ground + _style(pen) for role, pen in theme.pens.items()}
        self._mixed: dict[tuple[Role, ansi.Style], Style] = {}
        border, focus, selected = (theme.ground[key] for key in ("border", "focus", "selected"))
        self.border = self.ground + Style(color=_colour(border))
        self.focus = self.ground + Style(color=_colour(focus), bold=True)
        self.selected = (
            Style(bold=True) if selected == "default" else Style(bgcolor=_colour(selected))
        )

    def style(self, role: Role) -> Style:
        """The style of a role, on the ground."""
        return self._roles[role]

    def segments(self, spans: Iterable[Span]) -> list[Segment]:
        """Spans in their styles."""
        return _merged((text, self._roles[role]) for text, role in spans)

    def strip(self, spans: Iterable[Span], room: int, over: Style | None = None) -> Strip:
        """Spans as one line of exactly `room` cells, a cut marked; `over` is laid over it."""
        segments = self.segments(fitted(tuple(spans), room))
        if over is not None:
            segments = [Segment(text, (style or self.ground) + over) for text, style, _ in segments]
        return Strip(segments).adjust_cell_length(room, self.ground if over is None else over)

    def blank(self, room: int) -> Strip:
        """An empty stretch of the ground."""
        return Strip.blank(room, self.ground)

    def pieces(self, pieces: Iterable[Piece]) -> Strip:
        """A log line in its styles, as wide as it is."""
        segments = _merged((piece.text, self._mix(piece.role, piece.style)) for piece in pieces)
        return Strip(segments, plain_cells(segments))

    def _mix(self, role: Role, look: ansi.Style) -> Style:
        from console.model.ansi import DEFAULT  # needed for logs, not for the first paint

        if look == DEFAULT:
            return self._roles[role]
        mixed = self._mixed.get((role, look))
        if mixed is None:
            # The server's own colours win over the console's marks: they are its words.
            mixed = self._roles[role] + _server_style(look)
            if len(self._mixed) < 4096:
                self._mixed[role, look] = mixed
        return mixed


def plain_cells(segments: Iterable[Segment]) -> int | None:
    """How wide ASCII is, which the toolkit else counts character by character; None for others."""
    cells = 0
    for text, _, _ in segments:
        if not text.isascii():
            return None
        cells += len(text)
    return cells


def _merged(parts: Iterable[tuple[str, Style]]) -> list[Segment]:
    """Segments, neighbours of one style as one: every change of style costs the wire 40 bytes."""
    found: list[tuple[str, Style]] = []
    for text, style in parts:
        if found and found[-1][1] == style:
            found[-1] = (found[-1][0] + text, style)
        elif text:
            found.append((text, style))
    return [Segment(safe(text), style) for text, style in found]


def safe(text: str) -> str:
    """The text, every character that could act or hide replaced by U+FFFD."""
    if text.isprintable():
        return text
    return "".join(
        " " if char == "\t" else char if category(char) not in _ACTING else "\ufffd"
        for char in text
    )


_ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def _style(pen: Pen) -> Style:
    on = pen.attributes
    return Style(
        color=_colour(pen.colour),
        bold="bold" in on or None,
        dim="dim" in on or None,
        italic="italic" in on or None,
        underline="underline" in on or None,
        reverse="reverse" in on or None,
    )


def _server_style(look: ansi.Style) -> Style:
    return Style(
        color=_server_colour(look.fg),
        bgcolor=_server_colour(look.bg),
        bold=look.bold or None,
        dim=look.dim or None,
        italic=look.italic or None,
        underline=look.underline or None,
        reverse=look.reverse or None,
        strike=look.strike or None,
    )


def _server_colour(colour: ansi.Colour) -> Color | None:
    match colour:
        case None:
            return None
        case int():
            return Color.from_ansi(colour)
        case (red, green, blue):
            return Color.from_rgb(red, green, blue)


def _colour(text: str) -> Color:
    if text == "default":
        return Color.default()
    return Color.parse(text)


def _screen_colour(text: str) -> str:
    return text if text.startswith("#") else f"ansi_{text}"
