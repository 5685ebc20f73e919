"""The footer: the keys that do something now, fewer of them where there is less room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.keys import key_name
from console.render.spans import cells, joined, spread
from console.ui.panes.pane import Line

if TYPE_CHECKING:
    from console.ui.app import ConsoleApp
    from console.ui.modes import Mode

_Entry = tuple[tuple[str, ...], str]

_FIRST: Sequence[_Entry] = (
    (("view.help",), "help"),
    (("servers.up", "servers.down"), "server"),
    (("view.next",), "pane"),
)
_OF_MODE: Mapping[str, Sequence[_Entry]] = {
    "mode.dash": (
        (("bench",), "bench"),
        (("compare",), "compare"),
        (("restart",), "restart"),
        (("swap",), "swap arms"),
    ),
    "mode.logs": (
        (("logs.filter",), "filter"),
        (("logs.quiet",), "quiet"),
        (("logs.previous_error", "logs.next_error"), "errors"),
        (("logs.layout",), "merge"),
        (("logs.copy",), "copy"),
        (("logs.save",), "save"),
    ),
    "mode.environment": (
        (("environment.edit",), "edit"),
        (("plan",), "import"),
        (("env",), "read anew"),
        (("restart",), "restart with it"),
    ),
    "mode.bench": (
        (("bench",), "bench"),
        (("bench.stop",), "end it"),
        (("compare",), "compare"),
    ),
    "mode.session": (
        (("marker",), "mark"),
        (("save",), "save"),
    ),
}
"""What each screen is for."""
_LAST: Sequence[_Entry] = (
    (("view.palette",), "palette"),
    (("unlock",), "unlock"),
    (("logs.follow",), "follow"),
    (("logs.pause",), "pause"),
    (("health",), "ask health"),
    (("marker",), "mark"),
    (("view.maximise",), "maximise"),
    (("logs.page_up", "logs.page_down"), "scroll"),
    (("view.theme",), "theme"),
)
"""Most wanted first; they stand in this order as far as they fit."""


class Keys(Line):
    """The footer: the screens there are, then keys."""

    def show(self) -> None:
        """Show the keys of verbs that are not refused here and now."""
        room = self.size.width
        console = cast("ConsoleApp", self.app)
        end: Spans = (*self._entry(("view.quit",), "quit"), Span(" "))
        modes = joined((self._mode(mode) for mode in console.modes.present.values()), " ")
        if cells(modes) + cells(end) + 3 > room:
            modes = tuple(span for span in modes if span.role is not Role.DIM)
        kept: list[Spans] = [modes] if len(console.modes.present) > 1 else []
        for verbs, word in (*_FIRST, *_OF_MODE.get(console.modes.current, ()), *_LAST):
            if any(console.refusal(verb) is not None for verb in verbs):
                continue
            entry = self._entry(verbs, word)
            line = joined((*kept, entry), "  ")
            if cells(line) + cells(end) + 3 > room:
                break
            kept.append(entry)
        self.put(spread((Span(" "), *joined(kept, "  ")), end, room))

    def _mode(self, mode: Mode) -> Spans:
        console = cast("ConsoleApp", self.app)
        key, word = self._entry((mode.verb,), mode.word)
        here = mode.verb == console.modes.current
        return (key, Span(word.text, Role.STRONG if here else Role.DIM))

    def _entry(self, verbs: tuple[str, ...], word: str) -> Spans:
        # The first key of each: the others stand in the help.
        known = cast("ConsoleApp", self.app).keys
        keys = [key_name(known[verb].split(",")[0]) for verb in verbs]
        apart = "" if all(len(key) == 1 for key in keys) else " "
        return (Span(apart.join(keys), Role.KEY), Span(f" {word}", Role.DIM))
