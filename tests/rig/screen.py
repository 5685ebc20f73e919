"""What a pseudo-terminal and a tmux pane have in common: text to wait for, and an end.

It also owns the environment of programs under test: never the size or tmux of the person's
own terminal.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from tests.rig.waiting import POLL_S, auntil, until

Wanted = str | Callable[[str], bool]

TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
ANOTHER_TERMINALS = {"COLUMNS", "LINES", "TMUX", "TMUX_PANE"}


def environment(env: Mapping[str, str] | None) -> dict[str, str]:
    """`env`, or this process's, for a terminal of its own; pytest-xdist exports a false size."""
    given = os.environ if env is None else env
    kept = {name: value for name, value in given.items() if name not in ANOTHER_TERMINALS}
    return {**kept, **TERMINAL}


class Screen(ABC):
    """Something with text on it that can be waited for and that ends with its test.

    `poll_s`: seconds between two looks.
    """

    poll_s: ClassVar[float] = POLL_S

    @property
    @abstractmethod
    def screen(self) -> str:
        """What the terminal shows now: its rows without trailing blanks."""

    @abstractmethod
    def stop(self) -> None:
        """Kill the program and whatever it runs in. Safe to repeat."""

    def wait_for(self, wanted: Wanted, deadline_s: float = 10.0) -> str:
        """The screen once it holds this text or satisfies this predicate.

        Raises DeadlineMissedError, showing the last screen, after `deadline_s` seconds.
        """
        return until(lambda: self._met(wanted), deadline_s, _named(wanted), self.poll_s).text

    async def await_for(self, wanted: Wanted, deadline_s: float = 10.0) -> str:
        """`wait_for` for async tests."""
        return (await auntil(lambda: self._met(wanted), deadline_s, _named(wanted))).text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _met(self, wanted: Wanted) -> _Look:
        text = self.screen
        return _Look(text, wanted in text if isinstance(wanted, str) else wanted(text))


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at a screen: true when it showed what was wanted, readable when it did not."""

    text: str
    met: bool

    def __bool__(self) -> bool:
        return self.met

    def __repr__(self) -> str:
        return f"the screen\n{self.text}"


def _named(wanted: Wanted) -> str:
    return repr(wanted) if isinstance(wanted, str) else "the wanted screen"
