"""The application: keys and palette entries from the table of verbs, themes, dialogs.

Whether a verb may run is asked of the control in one place. Reads no State and draws nothing. What
the dashboard needs is imported after the first paint, together with the control.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.theme import Theme as ScreenTheme
from textual.worker import WorkerFailed

from console.model.ask import Question
from console.model.clock import Clock, Pace
from console.model.verb import VERBS, Verb
from console.render.label import label
from console.store.theme import Theme, load_theme, theme_names
from console.store.toml import BadFile
from console.ui.ask import Answered, Dialogs
from console.ui.palette import VerbCommands
from console.ui.screens.opening import Opening
from console.ui.theme import Ink, screen_theme

if TYPE_CHECKING:
    from console.control.port import Argument, Control
    from console.ui.follow import Follow
    from console.ui.screens.dashboard import Dashboard


class ConsoleApp(App[None]):
    """The interactive front end.

    Args:
        opening: makes the control; awaited once, after the first paint.
        recorded: how many bytes are recorded so far; None for nobody who could say.
    """

    TITLE = "spec-console"
    COMMANDS: ClassVar = {VerbCommands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(verb.key, f"verb('{verb.id}')", verb.title, id=verb.id, tooltip=verb.help)
        for verb in VERBS.values()
        if verb.key
    ]

    control: Control
    dashboard: Dashboard
    follow: Follow

    def __init__(
        self,
        opening: Callable[[], Awaitable[Control]],
        clock: Clock,
        pace: Pace,
        theme: Theme,
        dialogs: Dialogs | None = None,
        recorded: Callable[[], int | None] | None = None,
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self.dialogs = dialogs or Dialogs()
        self.ink = Ink(theme)
        self.defect: BaseException | None = None
        self.is_open = False
        self._opening = opening
        self._clock = clock
        self._pace = pace
        self._recorded = recorded
        self._themes = {theme.name: theme}
        self.register_theme(screen_theme(theme))
        self.theme = theme.name

    def get_default_screen(self) -> Opening:
        return Opening(self.ink)

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, self._themed)
        self.dialogs.attach(self._show_question)
        self.call_after_refresh(lambda: self.run_worker(self._open(), group="opening"))

    def on_unmount(self) -> None:
        self.dialogs.close()

    def refusal(self, verb: str) -> str | None:
        """None when a verb may run now; otherwise why not."""
        if not self.is_open:
            return None if verb == "view.quit" else "still opening"
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
            self.say(f"{VERBS[verb].title}: {refusal}", good=False)
        elif own := self._own().get(verb):
            own()
        elif move := self.dashboard.moves.get(verb):
            move()
            self.follow.look()
        else:
            self.run_worker(self._do(VERBS[verb]), group="verbs")

    def say(self, text: str, good: bool) -> None:
        """Tell a person how what was asked for has ended."""
        if self.is_open:
            self.dashboard.say(text, good)

    def on_key(self, event: events.Key) -> None:
        """A key whose verb is refused comes here: say why."""
        for verb in VERBS.values():
            if event.key in verb.key.split(",") and self.refusal(verb.id) is not None:
                self.act(verb.id)

    def action_help_quit(self) -> None:
        """What ctrl+c does: nothing but say how to leave."""
        self.say("q leaves the console", good=True)

    async def _open(self) -> None:
        from console.ui.follow import Follow
        from console.ui.screens.dashboard import Dashboard

        self.control = await self._opening()
        self.dashboard = Dashboard(self.control, self._clock, self.ink)
        self.follow = Follow(
            self.control, self._clock, self._pace, self.dashboard.show, self._recorded
        )
        self.add_mode("dashboard", lambda: self.dashboard)
        await self.switch_mode("dashboard")
        self.is_open = True
        self.run_worker(self.follow.run(), group="follow")

    def _own(self) -> dict[str, Callable[[], object]]:
        return {
            "view.help": self._help,
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
            self.say(label(outcome.text), outcome.ok)

    async def _arguments(self, verb: Verb) -> dict[str, Argument] | None:
        """What the verb needs to be told; None when the person declined."""
        from console.render.units import clock_us

        if verb.id == "replay.goto":
            typed = await self.dialogs.ask(Question(verb.title, "Time: 12:41, 1:02:03 or seconds"))
            at_us = clock_us(typed) if typed is not None else None
            if typed is not None and at_us is None:
                self.say(f"{typed} is no time such as 12:41", good=False)
            return None if at_us is None else {"at_us": at_us}
        if verb.id == "replay.find":
            typed = await self.dialogs.ask(Question(verb.title, "Text of an event or a log line"))
            return {"text": typed} if typed else None
        found: dict[str, Argument] = {}
        for field in verb.script or ():
            if field.required:
                typed = await self.dialogs.ask(Question(verb.title, field.help))
                if not typed:
                    return None
                found[field.name] = typed
        return found

    def _show_question(self, question: Question, done: Answered) -> None:
        from console.ui.screens.dialog import Dialog

        # Questions come from tasks of services: the screen is pushed from the app's own.
        self.call_later(lambda: self.push_screen(Dialog(question), done))

    def _help(self) -> None:
        from console.ui.screens.help import Help

        self.push_screen(Help(self.ink, self.refusal))

    def _choose_theme(self) -> None:
        for name in theme_names():
            if name not in self._themes:
                try:
                    self._themes[name] = load_theme(name)
                except BadFile as error:
                    self.say(str(error.problems[0]), good=False)
                    continue
                self.register_theme(screen_theme(self._themes[name]))
        for name in set(self.available_themes) - set(self._themes):
            self.unregister_theme(name)
        self.search_themes()

    def _themed(self, theme: ScreenTheme) -> None:
        self.ink = Ink(self._themes[theme.name])
        if self.is_open:
            self.dashboard.wear(self.ink)

    def _fatal_error(self) -> None:
        # The toolkit prints a traceback with all local values here; a person gets one line instead.
        failed = self._exception
        self.defect = failed.error if isinstance(failed, WorkerFailed) else failed
        self._close_messages_no_wait()
