"""What survives a restart: the selected server, the screen, the pane with all the room, filters.

Takes it from the screens and gives it back to new ones. A value that means nothing any more (a
server that is gone, a pattern that does not compile) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from console.render.pattern import NotAPattern
from console.ui.panes.log import Log

if TYPE_CHECKING:
    from console.store.layout import Kept
    from console.ui.screens.dashboard import Dashboard

_PATTERNS = ("include", "exclude", "mark")


def of_dashboard(dashboard: Dashboard) -> dict[str, str | int | bool]:
    """What is remembered of the dashboard."""
    kept: dict[str, str | int | bool] = {"server": dashboard.servers.selected}
    if dashboard.maximised is not None and dashboard.maximised.id:
        kept["maximised"] = dashboard.maximised.id
    return kept | of_log(dashboard.log_pane)


def of_log(pane: Log) -> dict[str, str | int | bool]:
    """What is remembered of a log pane: what it hides, finds and how it shows lines."""
    wanted, find = pane.find.wanted, pane.find
    kept: dict[str, str | int | bool] = {
        name: held.text for name in _PATTERNS if (held := getattr(wanted, name)) is not None
    }
    return kept | {
        "case": find.case,
        "word": find.word,
        "quiet": find.preset,
        "fold": wanted.fold,
        "wrap": pane.rows.wrap,
        "times": pane.times.shown,
    }


def to_dashboard(dashboard: Dashboard, kept: Kept) -> None:
    """Leave the dashboard as it was, before it has shown anything."""
    dashboard.servers.selected = str(kept.get("server", ""))
    panes = (dashboard.servers, dashboard.chart, dashboard.verdict, dashboard.log_pane)
    named = str(kept.get("maximised", ""))
    dashboard.maximised = next((pane for pane in panes if pane.id == named), None)
    to_log(dashboard.log_pane, kept)


def to_log(pane: Log, kept: Kept) -> None:
    """Leave a log pane as it was."""
    find = pane.find
    find.case, find.word = bool(kept.get("case", False)), bool(kept.get("word", False))
    for _ in range(_whole(kept, "quiet")):
        find.next_preset()
    found = {}
    for name in _PATTERNS:
        try:
            found[name] = find.pattern(str(kept.get(name, "")))
        except NotAPattern:
            found[name] = None
    find.want(**found, fold=bool(kept.get("fold", find.wanted.fold)))
    pane.rows.wrap = bool(kept.get("wrap", pane.rows.wrap))
    pane.times.shown = bool(kept.get("times", pane.times.shown))


def _whole(kept: Mapping[str, str | int | bool], key: str) -> int:
    """A small whole number; 0 for anything else."""
    value = kept.get(key, 0)
    return value if isinstance(value, int) and 0 <= value < 20 else 0
