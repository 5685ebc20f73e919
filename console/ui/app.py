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
from console.model.clock import Clock
from console.model.verb import VERBS, Verb
from console.render.label import label
from console.store.preferences import Settings
from console.store.theme import Theme
from console.ui.ask import Answered, Dialogs
from console.ui.palette import VerbCommands
from console.ui.screens.opening import Opening
from console.ui.theme import Ink
from console.ui.themes import Themes

if TYPE_CHECKING:
    from console.control.port import Control
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
        settings: Settings,
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
        self.settings = settings
        self._recorded = recorded
        self.themes = Themes(self, theme)

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
        """Run a verb, or say why not: where every key and palette entry ends."""
        refusal = self.refusal(verb)
        if refusal is not None:
            self.say(f"{VERBS[verb].title}: {refusal}", good=False)
            return
        match verb:
            case "view.quit":
                self.exit()
            case "view.palette":
                self.action_command_palette()
            case "view.help":
                from console.ui.screens.help import Help

                self.push_screen(Help(self.ink, self.refusal))
            case "view.theme":
                for wrong in self.themes.load_all():
                    self.say(wrong, good=False)
                self.search_themes()
            case _ if verb in self.dashboard.moves:
                self.dashboard.moves[verb]()
                self.follow.look()
            case _:
                self.run_worker(self._do(VERBS[verb]), group="verbs")

    def say(self, text: str, good: bool) -> None:
        """Tell a person how what was asked for has ended."""
        if self.is_open:
            self.dashboard.say(text, good)

    def on_key(self, event: events.Key) -> None:
        """A key whose verb is refused comes here: say why."""
        for verb in VERBS.values():
            if event.key in verb.key.split(",") and self.refusal(verb.id) is not None:
                self.action_verb(verb.id)

    def action_help_quit(self) -> None:
        """What ctrl+c does: nothing but say how to leave."""
        self.say("q leaves the console", good=True)

    async def _open(self) -> None:
        from console.ui.follow import Follow
        from console.ui.screens.dashboard import Dashboard

        self.control = await self._opening()
        self.dashboard = Dashboard(self.control, self._clock, self.ink)
        self.follow = Follow(
            self.control, self._clock, self.settings.pace, self.dashboard.show, self._recorded
        )
        self.add_mode("dashboard", lambda: self.dashboard)
        await self.switch_mode("dashboard")
        self.is_open = True
        self.run_worker(self.follow.run(), group="follow")

    async def _do(self, verb: Verb) -> None:
        from console.ui.questions import NotUnderstood, arguments

        try:
            given = await arguments(verb, self.dialogs)
        except NotUnderstood as error:
            self.say(str(error), good=False)
            return
        if given is None:
            return
        outcome = await self.control.do(verb.id, self.dashboard.servers.selected, given)
        self.follow.look()
        if outcome.text and (not outcome.ok or not verb.id.startswith("replay.")):
            self.say(label(outcome.text), outcome.ok)

    def _show_question(self, question: Question, done: Answered) -> None:
        from console.ui.screens.dialog import Dialog

        # Questions come from tasks of services: the screen is pushed from the app's own.
        self.call_later(lambda: self.push_screen(Dialog(question), done))

    def _themed(self, theme: ScreenTheme) -> None:
        self.ink = self.themes.ink(theme.name)
        if self.is_open:
            self.dashboard.wear(self.ink)

    def _fatal_error(self) -> None:
        # The toolkit prints a traceback with all local values here; a person gets one line instead.
        failed = self._exception
        self.defect = failed.error if isinstance(failed, WorkerFailed) else failed
        self._close_messages_no_wait()
