"""The themes a person can choose from: loaded when somebody wants to choose, not before."""

from __future__ import annotations

from typing import Any

from textual.app import App

from console.store.theme import Theme, load_theme, theme_names
from console.store.toml import BadFile
from console.ui.theme import Ink, screen_theme


class Themes:
    """The themes of an application, the one it starts with among them."""

    def __init__(self, app: App[Any], theme: Theme) -> None:
        self._app = app
        self._loaded = {theme.name: theme}
        app.register_theme(screen_theme(theme))
        if theme.dark and not theme.ansi:
            # As the toolkit's own is: assigned, it would have every style worked out twice before
            # the first paint.
            app.set_reactive(App.theme, theme.name)
        else:
            app.theme = theme.name

    def ink(self, name: str) -> Ink:
        """The styles of a loaded theme."""
        return Ink(self._loaded[name])

    def load_all(self) -> list[str]:
        """Load what is not loaded yet and forget the toolkit's own; what is wrong, a line each."""
        wrong = []
        for name in theme_names():
            if name not in self._loaded:
                try:
                    self._loaded[name] = load_theme(name)
                except BadFile as error:
                    wrong.append(str(error.problems[0]))
                    continue
                self._app.register_theme(screen_theme(self._loaded[name]))
        for name in set(self._app.available_themes) - set(self._loaded):
            self._app.unregister_theme(name)
        return wrong
