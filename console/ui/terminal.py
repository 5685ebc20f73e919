"""What is asked of the terminal beside drawing: whether it shows more than ASCII, the mouse, and
one reader of its keyboard."""

from __future__ import annotations

import os
from collections.abc import Mapping

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from console.store.preferences import When

_C = ("C", "POSIX")


class TerminalDriver(LinuxDriver):
    """The toolkit's driver, with one reader of the keyboard whatever tells it to go on.

    The toolkit begins another at each SIGCONT, which a terminal that goes away and some shells send
    to what was never stopped; one that is left over keeps the process from ending.
    """

    _runs = False

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._runs = True

    def stop_application_mode(self) -> None:
        self._runs = False
        super().stop_application_mode()

    def _sigcont_application(self, *_: object) -> None:
        if not self._must_signal_resume:
            if not self._runs or not os.isatty(self.fileno):
                return
            self.disable_input()
            # Somebody else may have written where the screen was.
            self._must_signal_resume = True
        super()._sigcont_application()


def draws_ascii(when: When, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to draw in ASCII only: as told, else when a locale is set that is not UTF-8.

    Without any locale UTF-8 is assumed, as Python itself does: containers set none.
    """
    if when is not When.AUTO:
        return when is When.YES
    named = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    if named == "C.UTF-8" and not environ.get("LC_ALL") and environ.get("LANG") in _C:
        # Python has put this LC_CTYPE in the place of the C locale that was asked for.
        named = "C"
    return bool(named) and "utf8" not in named.lower().replace("-", "")


def turn_mouse(driver: Driver | None) -> str:
    """Take the mouse from the terminal, or give it back; which of them, for the person.

    The toolkit decides it once, at the start, and has no word for changing it.
    """
    if not isinstance(driver, LinuxDriver):
        return "the mouse cannot be taken here"
    taken = not driver._mouse
    driver._mouse = True
    (driver._enable_mouse_support if taken else driver._disable_mouse_support)()
    driver._mouse = taken
    if taken:
        return "clicks select; hold shift for the terminal's own selection"
    return "the mouse is the terminal's again"
