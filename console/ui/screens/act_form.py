"""What a launch is to be like: its variables, what makes more of it visible, how it is started.

Owns that only what can be meant is handed on. Nothing is done by it: the act looks and asks next.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Checkbox, Static, TextArea

from console.control.acting_request import BadRequest, read_variables
from console.control.port import Argument
from console.ui.theme import safe

_OPTIONS = (
    ("ranks", "keep the ranks' environment readable (SPT_NOENV=1)"),
    ("nccl", "NCCL tells what it reads, beside the log (NCCL_DEBUG=INFO)"),
    ("rollback", "if it fails, bring back by itself what runs now"),
    ("tmux", "in a window of tmux on the host, to be looked at there"),
)


class Tick(Checkbox):
    """A box that tells by its shape whether it is ticked."""

    BUTTON_LEFT = ""
    BUTTON_RIGHT = ""

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]
        """What stands in the box."""
        return "[x]" if self.value else "[ ]"


class ActForm(ModalScreen["dict[str, Argument] | None"]):
    """The arguments of a launch, or None.

    Args:
        env: assignments to begin with, and `origin` where they are from.
    """

    DEFAULT_CSS = """
    ActForm { align: center middle; }
    ActForm > Vertical { width: 90; max-width: 100%; height: auto; max-height: 100%;
        border: round $primary; padding: 0 1; background: $surface; }
    ActForm Static { height: auto; }
    ActForm TextArea, ActForm TextArea:focus { height: 6; border: round $primary; padding: 0; }
    ActForm .toggle--button { color: $foreground; background: $surface; }
    ActForm .-on .toggle--button { color: $foreground; background: $surface; }
    ActForm Checkbox { border: none; padding: 0; background: $surface; width: 100%; }
    ActForm Horizontal { height: auto; align-horizontal: right; }
    ActForm Button { margin-left: 1; }
    ActForm Button:focus { text-style: bold reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", priority=True),
        Binding("ctrl+s", "go_on", "Go on", priority=True),
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
    ]

    def __init__(self, verb: str, server: str, env: str = "", origin: str = "") -> None:
        super().__init__()
        self._verb = verb
        self._server = server
        self._origin = origin
        self.env = TextArea(env, id="env", soft_wrap=True)

    def compose(self) -> ComposeResult:
        with Vertical():
            head = Text(f"{self._verb} {safe(self._server)}", "bold")
            head.append("\nVariables over its recipe's: NAME=VALUE, -NAME leaves one out", "none")
            if self._origin:
                head.append(f"\nThese are the profile {safe(self._origin)}", "dim")
            yield Static(head, markup=False)
            yield self.env
            yield Static("", id="wrong", markup=False)
            for name, text in _OPTIONS:
                yield Tick(text, id=name, compact=True)
            with Horizontal():
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Look and ask ^s", id="go", compact=True)

    def on_mount(self) -> None:
        self.env.focus()

    def on_text_area_changed(self) -> None:
        self._variables()

    def on_button_pressed(self, pressed: Button.Pressed) -> None:
        if pressed.button.id == "go":
            self.action_go_on()
        else:
            self.action_leave()

    def action_leave(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)

    def action_go_on(self) -> None:
        """Hand on what was filled in, where it can be meant."""
        if self._variables() is None:
            self.env.focus()
            return
        on = {name: self.query_one(f"#{name}", Checkbox).value for name, _ in _OPTIONS}
        given: dict[str, Argument] = {}
        if words := shlex.split(self.env.text):
            given["env"] = shlex.join(words)
        if see := " ".join(name for name in ("ranks", "nccl") if on[name]):
            given["see"] = see
        if on["rollback"]:
            given["on_fail"] = "rollback"
        if on["tmux"]:
            given["method"] = "tmux"
        self.dismiss(given)

    def _variables(self) -> Mapping[str, str | None] | None:
        """What is typed as variables; None with the reason shown where it is none."""
        try:
            found = read_variables(self.env.text)
            wrong = ""
        except BadRequest as error:
            found, wrong = None, str(error)
        self.query_one("#wrong", Static).update(Text(safe(wrong), "bold"))
        return found
