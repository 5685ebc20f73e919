"""Exit codes, the same for scripts and subcommands."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Why the program ended. The first failing step decides."""

    OK = 0
    """All passed."""
    ASSERTION = 1
    """An assertion failed, a status was not the expected one, or a comparison gave no verdict."""
    USAGE = 2
    """Bad usage, or a file that does not validate: nothing was done."""
    STEP = 3
    """A step failed: a log is missing, an answer is not HTTP, a benchmark broke."""
    UNREACHABLE = 4
    """Connection, SSH, authentication, host key or certificate refused."""
    DEADLINE = 5
    """A deadline passed or progress stalled."""
    GUARD = 6
    """A guard refused: not confirmed, busy, or read-only."""
    ROLLED_BACK = 7
    """An act failed and was rolled back."""
    INTERNAL = 8
    """A defect of this program."""
    INTERRUPTED = 130
    """Interrupted by a signal; the state of the servers was printed."""


class NotStarted(Exception):
    """Nothing was started; the text says why, the code is how the program ends."""

    def __init__(self, code: Exit, text: str) -> None:
        super().__init__(text)
        self.code = code


MEANINGS: dict[Exit, str] = {
    Exit.OK: "all passed",
    Exit.ASSERTION: "an assertion failed, an unexpected status, or a comparison without a verdict",
    Exit.USAGE: "bad usage or a file that does not validate; nothing was done",
    Exit.STEP: "a step failed: log missing, not HTTP, benchmark broken",
    Exit.UNREACHABLE: "unreachable: connection, SSH, login, host key or certificate refused",
    Exit.DEADLINE: "deadline passed or progress stalled",
    Exit.GUARD: "guard refused: not confirmed, busy, read-only",
    Exit.ROLLED_BACK: "an act failed and was rolled back",
    Exit.INTERNAL: "internal error",
    Exit.INTERRUPTED: "interrupted by a signal",
}
