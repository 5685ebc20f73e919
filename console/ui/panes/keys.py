"""The footer: the keys that do something now, fewer of them where there is less room."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from console.model.palette import Role
from console.model.span import Span, Spans
from console.model.verb import VERBS
from console.render.keys import key_name
from console.render.spans import cells, joined, spread
from console.ui.panes.pane import Line

_SHOWN: Sequence[tuple[tuple[str, ...], str]] = (
    (("view.help",), "help"),
    (("servers.up", "servers.down"), "server"),
    (("view.next",), "pane"),
    (("logs.follow",), "follow"),
    (("logs.pause",), "pause"),
    (("view.palette",), "palette"),
    (("health",), "ask health"),
    (("marker",), "mark"),
    (("view.maximise",), "maximise"),
    (("logs.page_up", "logs.page_down"), "scroll"),
    (("save",), "save"),
    (("view.theme",), "theme"),
)
"""Most wanted first; they stand in this order as far as they fit."""


class Keys(Line):
    """The footer."""

    def show(self, refusal: Callable[[str], str | None]) -> None:
        """Show the keys of verbs that are not refused."""
        room = self.size.width
        end: Spans = (*_entry(("view.quit",), "quit"), Span(" "))
        kept: list[Spans] = []
        for verbs, word in _SHOWN:
            if any(refusal(verb) is not None for verb in verbs):
                continue
            entry = _entry(verbs, word)
            line = joined((*kept, entry), "  ")
            if cells(line) + cells(end) + 3 > room:
                break
            kept.append(entry)
        self.put(spread((Span(" "), *joined(kept, "  ")), end, room))


def _entry(verbs: tuple[str, ...], word: str) -> Spans:
    # The first key of each: the others stand in the help.
    keys = [key_name(VERBS[verb].key.split(",")[0]) for verb in verbs]
    apart = "" if all(len(key) == 1 for key in keys) else " "
    return (Span(apart.join(keys), Role.KEY), Span(f" {word}", Role.DIM))
