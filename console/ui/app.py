"""The application: keys and palette entries from the table of verbs, modes, themes, dialogs.

Whether a verb may run is asked in one place. Reads no State and draws nothing. What the screens
need is imported after the first paint, together with the control.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.theme import Theme as ScreenTheme
from textual.worker import WorkerFailed

from console.model.ask import Question
from console.model.clock import Clock
from console.model.verbs import VERBS
from console.render.keys import key_names
from console.store.preferences import Settings
from console.store.theme import Theme
from console.ui.ask import Answered, Dialogs, Tell
from console.ui.palette import VerbCommands
from console.ui.screens.opening import Opening
from console.ui.terminal import draws_ascii, turn_mouse
from console.ui.theme import Ink
from console.ui.themes import Themes

if TYPE_CHECKING:
    from textual.filter import LineFilter
    from textual.screen import Screen

    from console.control.port import Control
    from console.ui.follow import Follow
    from console.ui.modes import Modes
    from console.ui.screens.dashboard import Dashboard

DASH = "mode.dash"


class ConsoleApp(App[None]):
    """The interactive front end.

    Args:
        opening: makes the control; awaited once, after the first paint.
        recorded: how many bytes are recorded so far; None for nobody who could say.
        first_run: there is no fleet yet; `opening` asks for one.
    """

    TITLE = "spec-console"
    COMMANDS: ClassVar = {VerbCommands}
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(verb.key, f"verb('{verb.id}')", verb.title, id=verb.id, tooltip=verb.help)
        for verb in VERBS.values()
        if verb.key
    ]

    control: Control
    dashboard: Dashboard
    follow: Follow
    modes: Modes

    def __init__(
        self,
        opening: Callable[[], Awaitable[Control]],
        clock: Clock,
        settings: Settings,
        theme: Theme,
        dialogs: Dialogs | None = None,
        recorded: Callable[[], int | None] | None = None,
        *,
        first_run: bool = False,
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        # Opened by its verb, so by whatever key the keymap gives it, and by no other.
        self.use_command_palette = True
        self.dialogs = dialogs or Dialogs()
        self.ink = Ink(theme)
        self.defect: BaseException | None = None
        self.is_open = False
        self._opening = opening
        self._clock = clock
        self.settings = settings
        self._recorded = recorded
        self.parting = ""
        self._first_run = first_run
        self._tell: Tell | None = None
        self.themes = Themes(self, theme)
        self.keys = {verb.id: settings.keymap.get(verb.id, verb.key) for verb in VERBS.values()}
        self.set_keymap(dict(settings.keymap))
        self._filters_of_text: list[LineFilter] = []
        if draws_ascii(settings.ascii):
            from console.ui.ascii import Ascii

            self._filters_of_text.append(Ascii())

    def get_default_screen(self) -> Screen[None]:
        if not self._first_run:
            return Opening(self.ink)
        from console.ui.screens.welcome import Welcome

        welcome = Welcome(self.ink)
        self._tell = welcome.tell
        return welcome

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, self._themed)
        # A shell has written where the screen was: nothing that it shows may be taken for painted.
        self.app_resume_signal.subscribe(self, lambda app: app.screen.refresh(layout=True))
        self.dialogs.attach(self._show_question, self._tell)
        self.call_after_refresh(lambda: self.run_worker(self._open(), group="opening"))

    def on_unmount(self) -> None:
        if self.is_open and self.defect is None:
            self.parting = self.modes.remember()
        self.dialogs.close()

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self._filters_of_text]

    def refusal(self, verb: str) -> str | None:
        """None when a verb may run now; otherwise why not."""
        if not self.is_open:
            return None if verb in ("view.quit", "view.suspend") else "still opening"
        return self.modes.refusal(verb) or self.control.can(verb)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "verb" and self.refusal(str(parameters[0])) is not None:
            return None
        return True

    def action_verb(self, verb: str) -> None:
        """Run a verb, or say why not: where every key and palette entry ends."""
        refusal = self.refusal(verb)
        if refusal is not None:
            from console.ui.acting import permitting

            remedy = permitting(self, verb)
            told = f"{VERBS[verb].title}: {refusal}" + (f" ({remedy})" if remedy else "")
            self.say(told, good=False)
            return
        match verb:
            case "view.quit":
                self.exit()
            case "view.palette":
                self.action_command_palette()
            case "view.help":
                from console.render.guide import page_of
                from console.ui.screens.help import Help

                keys = {v: keys for v, keys in self.keys.items() if self.modes.is_shown(v)}
                page = page_of((self.focused and self.focused.id) or "")
                self.push_screen(Help(self.ink, page, keys, self.refusal))
            case "view.theme":
                for wrong in self.themes.load_all():
                    self.say(wrong, good=False)
                self.search_themes()
            case "view.suspend":
                self.action_suspend_process()
            case "view.mouse":
                self.say(turn_mouse(self._driver), good=True)
            case _ if verb in self.modes.present:
                self.run_worker(self.modes.go(verb), group="modes")
            case _ if (move := self.modes.move(verb)) is not None:
                move()
                self.follow.look()
            case _:
                from console.ui.acting import act

                self.run_worker(act(self, VERBS[verb]), group="verbs")

    def say(self, text: str, good: bool) -> None:
        """Tell a person how what was asked for has ended."""
        if self.is_open:
            self.modes.say(text, good)

    def on_key(self, event: events.Key) -> None:
        """A key whose verb is refused comes here, or one that only the keymap knows; one pressed in
        a dialog is the dialog's alone."""
        if self.screen.is_modal:
            return
        for verb in VERBS.values():
            bound = bool(verb.key) and self.refusal(verb.id) is None
            if event.key in self.keys[verb.id].split(",") and not bound and self.is_open:
                self.action_verb(verb.id)

    def action_help_quit(self) -> None:
        """What ctrl+c does: nothing but say how to leave."""
        self.say(f"{key_names(self.keys['view.quit'])} leaves the console", good=True)

    async def _open(self) -> None:
        from console.ui.follow import Follow
        from console.ui.modes import Modes

        self.control = await self._opening()
        self.modes = Modes(self, self.control, self._clock, self.ink)
        self.dashboard = self.modes.dashboard
        self.follow = Follow(
            self.control,
            self._clock,
            self.settings.pace,
            self.modes.show,
            self._recorded,
            self.settings.zone,
        )
        hindered = self.modes.recall()
        await self.modes.go(DASH)
        self.is_open = True
        if hindered:
            self.say(hindered, good=False)
        if self.modes.wanted != DASH:
            self.follow.look()
            await self.modes.go(self.modes.wanted)
        self.run_worker(self.follow.run(), group="follow")

    def _show_question(self, question: Question, done: Answered) -> None:
        from console.ui.screens.act_dialog import dialog_for

        dialog = dialog_for(question, self._clock)
        # On the first run what was found so far stays in view above it.
        dialog.set_class(self._first_run and not self.is_open, "low")
        # Questions come from tasks of services: the screen is pushed from the app's own.
        self.call_later(lambda: self.push_screen(dialog, done))

    def _themed(self, theme: ScreenTheme) -> None:
        self.ink = self.themes.ink(theme.name)
        if self.is_open:
            self.modes.wear(self.ink)

    def _fatal_error(self) -> None:
        # The toolkit prints a traceback with all local values here; a person gets one line instead.
        failed = self._exception
        self.defect = failed.error if isinstance(failed, WorkerFailed) else failed
        self._close_messages_no_wait()
