"""What can go wrong on a wire, as data.

One closed list of kinds, each with the word a person reads and the exit code a script ends with.
A transport raises `WireError`; a service turns it into an event.
"""

from __future__ import annotations

from enum import StrEnum

from console.model.exits import Exit


class Failure(StrEnum):
    """The kind of a failure."""

    REFUSED = "refused"
    NO_HOST = "no host"
    TIMEOUT = "timeout"
    CLOSED = "closed"
    NOT_HTTP = "not HTTP"
    CERTIFICATE = "bad certificate"
    TOO_LARGE = "too large"
    KEY_UNKNOWN = "host key unknown"
    KEY_CHANGED = "host key changed"
    AUTH = "not authenticated"
    LINK_LOST = "link lost"
    NO_LINK = "no link"
    """The host itself is not reached: says nothing of what would answer there."""
    NO_CHANNEL = "no channel"
    CONFIG = "ssh configuration"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    REMOTE = "remote command"

    @property
    def exit(self) -> Exit:
        """The exit code of a script that stops on it."""
        return _EXITS.get(self, Exit.STEP)


_EXITS: dict[Failure, Exit] = {
    Failure.REFUSED: Exit.UNREACHABLE,
    Failure.NO_HOST: Exit.UNREACHABLE,
    Failure.TIMEOUT: Exit.DEADLINE,
    Failure.CERTIFICATE: Exit.UNREACHABLE,
    Failure.KEY_UNKNOWN: Exit.UNREACHABLE,
    Failure.KEY_CHANGED: Exit.UNREACHABLE,
    Failure.AUTH: Exit.UNREACHABLE,
    Failure.LINK_LOST: Exit.UNREACHABLE,
    Failure.NO_LINK: Exit.UNREACHABLE,
    Failure.CONFIG: Exit.UNREACHABLE,
}


class WireError(Exception):
    """A transport could not do what it was asked.

    Attributes:
        kind: which failure.
        why: one line for a person; not yet cleaned.
        detail: further lines, what to do next among them; not yet cleaned.
    """

    def __init__(self, kind: Failure, why: str, detail: tuple[str, ...] = ()) -> None:
        super().__init__(f"{kind.value}: {why}")
        self.kind = kind
        self.why = why
        self.detail = detail

    @property
    def told(self) -> str:
        """All of it in one line: what and where first, what to do next last."""
        return "; ".join((self.why, *self.detail))
