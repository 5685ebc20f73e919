"""One hop's side of an SSH handshake: the key it was offered, and questions to a person.

Owns what asyncssh calls back. It never accepts a host key and never prints or stores an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import asyncssh

from console.model.ask import NobodyToAsk, Question
from console.model.clock import Clock
from console.transport.known_hosts import Known, Offered

TRIES = 3
"""How often a person is asked for the same thing."""

Asking = Callable[[Question], Awaitable[str | None]]


class Client(asyncssh.SSHClient):
    """The callbacks of one connection.

    Args:
        subject: the host questions are about.
        alias: the hop's name.
        passwords: those given before, by question; kept in memory only.

    Attributes:
        known: where host keys stand.
        may_ask: whether questions are put to a person.
        unanswered: the question that nobody was there to answer.
    """

    def __init__(
        self, subject: str, alias: str, clock: Clock, asking: Asking, passwords: dict[str, str]
    ) -> None:
        self._subject = subject
        self._alias = alias
        self._clock = clock
        self._asking = asking
        self._passwords = passwords
        self._tries = 0
        self._given: tuple[str, str | None] = ("", None)
        self.known = Known()
        self.may_ask = True
        self.offered: Offered | None = None
        self.unanswered = ""
        self.lost: Exception | None = None
        self.connected_us = 0

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        del conn
        self.connected_us = self._clock.now_us()
        self._tries = 0

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = exc

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        self.offered = Offered(host, addr, port, key, self.known)
        return False

    def validate_host_ca_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.offered = Offered(host, addr, port, key, self.known, authority=True)
        return False

    async def password_auth_requested(self) -> str | None:
        text = f"Password for {self._alias}"
        # One that was refused is asked for again, so it is given back only while unused.
        answer = self._passwords.pop(text, None) or await self._answer(text, secret=True)
        self._given = (text, answer)
        return answer

    def auth_completed(self) -> None:
        text, answer = self._given
        if answer is not None:
            self._passwords[text] = answer

    async def kbdint_auth_requested(self) -> str | None:
        return "" if self.may_ask and self._tries < TRIES else None

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        del name, lang
        answers = []
        for prompt, echo in prompts:
            text = prompt.strip() or f"Answer for {self._alias}"
            answer = await self._answer(text, secret=not echo, detail=instructions)
            if answer is None:
                return None
            answers.append(answer)
        return answers

    async def _answer(self, text: str, *, secret: bool, detail: str = "") -> str | None:
        """A person's answer; None, which ends this method, after a few tries or without one."""
        if not self.may_ask or self._tries >= TRIES:
            return None
        self._tries += 1
        lines = tuple(detail.splitlines())
        try:
            answer = await self._asking(Question(self._subject, text, lines, secret=secret))
        except NobodyToAsk:
            self.unanswered = text
            answer = None
        if answer is None:
            self._tries = TRIES
        return answer
