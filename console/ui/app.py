"""The application: keys and palette entries from the table of verbs, themes, dialogs.

Whether a verb may run is asked of the control in one place. Reads no State and draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.theme import Theme as ScreenTheme

from console.control.port import Argument, Control
from console.model.ask import Question
from console.model.clock import Clock, Pace
from console.model.verb import VERBS, Verb
from console.render.units import clock_us
from console.store.theme import Theme, load_theme, theme_names
from console.store.toml import BadFile
from console.ui.ask import Dialog, Dialogs
from console.ui.follow import Follow
from console.ui.palette import VerbCommands
from console.ui.screens.dashboard import Dashboard
from console.ui.theme import Ink, screen_theme


class ConsoleApp(App[None]):
    """The interactive front end.

    Args:
        recorded: how many bytes are recorded so far; None for nobody who could say.
        on_ready: called once, after the first paint.
    """

    TITLE = "spec-console"
    COMMANDS: ClassVar = {VerbCommands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(verb.key, f"verb('{verb.id}')", verb.title, id=verb.id, tooltip=verb.help)
        for verb in VERBS.values()
        if verb.key
    ]

    def __init__(
        self,
        control: Control,
        clock: Clock,
        pace: Pace,
        theme: Theme,
        dialogs: Dialogs | None = None,
        recorded: Callable[[], int | None] | None = None,
        on_ready: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self.control = control
        self.dialogs = dialogs or Dialogs()
        self.ink = Ink(theme)
        self.defect: Exception | None = None
        self._themes = {theme.name: theme}
        self._on_ready = on_ready
        self.dashboard = Dashboard(control, clock, self.ink)
        self.follow = Follow(control, clock, pace, self.dashboard.show, recorded)
        self.register_theme(screen_theme(theme))
        self.theme = theme.name

    def get_default_screen(self) -> Dashboard:
        return self.dashboard

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, self._themed)
        self.dialogs.attach(self._show_question)
        self.call_after_refresh(self._start)

    def on_unmount(self) -> None:
        self.dialogs.close()

    def refusal(self, verb: str) -> str | None:
        """None when a verb may run now; otherwise why not."""
        return self.control.can(verb)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "verb" and self.refusal(str(parameters[0])) is not None:
            return None
        return True

    def action_verb(self, verb: str) -> None:
        """What a key of the verb table does."""
        self.act(verb)

    def act(self, verb: str) -> None:
        """Run a verb, or say why not."""
        refusal = self.refusal(verb)
        if refusal is not None:
            self.dashboard.say(f"{VERBS[verb].title}: {refusal}", good=False)
        elif move := self.dashboard.moves.get(verb):
            move()
            self.follow.look()
        elif own := self._own().get(verb):
            own()
        else:
            self.run_worker(self._do(VERBS[verb]), group="verbs")

    def on_key(self, event: events.Key) -> None:
        """A key whose verb is refused comes here: say why."""
        for verb in VERBS.values():
            if event.key in verb.key.split(",") and self.refusal(verb.id) is not None:
                self.act(verb.id)

    def action_help_quit(self) -> None:
        """What ctrl+c does: nothing but say how to leave."""
        self.dashboard.say("q leaves the console", good=True)

    def _own(self) -> dict[str, Callable[[], object]]:
        from console.ui.screens.help import Help

        return {
            "view.help": lambda: self.push_screen(Help(self.ink, self.refusal)),
            "view.palette": self.action_command_palette,
            "view.theme": self._choose_theme,
            "view.quit": self.exit,
        }

    async def _do(self, verb: Verb) -> None:
        arguments = await self._arguments(verb)
        if arguments is None:
            return
        outcome = await self.control.do(verb.id, self.dashboard.servers.selected, arguments)
        self.follow.look()
        if outcome.text and (not outcome.ok or not verb.id.startswith("replay.")):
            self.dashboard.say(outcome.text, outcome.ok)

    async def _arguments(self, verb: Verb) -> dict[str, Argument] | None:
        """What the verb needs to be told; None when the person declined."""
        found: dict[str, Argument] = {}
        if verb.id == "replay.goto":
            typed = await self.dialogs.ask(Question(verb.title, "Time: 12:41, 1:02:03 or seconds"))
            at_us = clock_us(typed) if typed is not None else None
            if typed is not None and at_us is None:
                self.dashboard.say(f"{typed} is no time such as 12:41", good=False)
            return None if at_us is None else {"at_us": at_us}
        for field in verb.script or ():
            if field.required:
                typed = await self.dialogs.ask(Question(verb.title, field.help))
                if not typed:
                    return None
                found[field.name] = typed
        return found

    def _show_question(self, question: Question, done: Callable[[str | None], None]) -> None:
        # Questions come from tasks of services: the screen is pushed from the app's own.
        self.call_later(lambda: self.push_screen(Dialog(question), done))

    def _start(self) -> None:
        self.run_worker(self.follow.run(), group="follow")
        if self._on_ready is not None:
            self._on_ready()

    def _choose_theme(self) -> None:
        for name in theme_names():
            if name not in self._themes:
                try:
                    self._themes[name] = load_theme(name)
                except BadFile as error:
                    self.dashboard.say(str(error.problems[0]), good=False)
                    continue
                self.register_theme(screen_theme(self._themes[name]))
        for name in set(self.available_themes) - set(self._themes):
            self.unregister_theme(name)
        self.search_themes()

    def _themed(self, theme: ScreenTheme) -> None:
        self.ink = Ink(self._themes[theme.name])
        self.dashboard.wear(self.ink)

    def _fatal_error(self) -> None:
        # The toolkit prints a traceback with all local values here; a person gets one line instead.
        self.defect = self._exception
        self._close_messages_no_wait()
