"""A bare program with the same kinds of widgets as the dashboard: what starting costs at least."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.strip import Strip
from textual.widget import Widget


class Pane(Widget, can_focus=True):
    """A framed widget drawn line by line."""

    DEFAULT_CSS = "Pane { height: 1fr; border: round $primary; }"

    def render_line(self, y: int) -> Strip:  # noqa: ARG002
        return Strip.blank(self.size.width)


class Line(Widget):
    """One line."""

    DEFAULT_CSS = "Line { height: 1; }"

    def render_line(self, y: int) -> Strip:  # noqa: ARG002
        return Strip.blank(self.size.width)


class Bare(App[None]):
    """The same layout, empty."""

    CSS = "#results { height: 3; }"

    def compose(self) -> ComposeResult:
        yield Line()
        yield Pane()
        yield Horizontal(Pane(), Pane(), id="results")
        yield Pane()
        yield Line()
        yield Line()


if __name__ == "__main__":
    Bare().run(mouse=False)
