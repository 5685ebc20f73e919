"""Where ssh's questions arrive: a socket in a private folder, and a program that asks there.

Owns the folder of one connection, who answers and what was answered before. Passwords and
passphrases stay in memory only; codes that count once are not kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from console.model.ask import NobodyToAsk, Question
from console.model.failure import Failure, WireError
from console.transport import askpass
from console.transport.openssh_words import TELLS, TRUST, Said, question

_MOST_BYTES = 65_536
_KEPT = re.compile(r"'s password: *$|Enter passphrase for ")
_PREFIX = "spec-console-ssh-"
_SOCKET = "ask"


class Asker:
    """Answers what one ssh process and those it starts ask for.

    Args:
        alias: whom ssh connects to.
        kept: answers given before, by ssh's question.
        asking: puts a question to a person.

    Attributes:
        refused: done with what it means as soon as a question has no answer.
    """

    def __init__(
        self,
        subject: str,
        alias: str,
        said: Said,
        kept: dict[str, str],
        asking: Callable[[Question], Awaitable[str | None]],
    ) -> None:
        self._subject = subject
        self._alias = alias
        self._said = said
        self._kept = kept
        self._asking = asking
        self._given: dict[str, str] = {}
        self._server: asyncio.Server | None = None
        self._made: Path | None = None
        self.refused: asyncio.Future[WireError] = asyncio.get_running_loop().create_future()

    @property
    def folder(self) -> Path:
        """The private folder, from `open` to `close`. Never another: `close` removes it whole."""
        assert self._made is not None
        return self._made

    async def open(self) -> None:
        """Make the folder and wait for questions."""
        sweep()
        self._made = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._server = await asyncio.start_unix_server(self._serve, self.folder / _SOCKET)
        program = shlex.join([sys.executable, "-I", "-S", askpass.__file__])
        path = self.folder / "askpass"
        path.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        path.chmod(0o700)

    def environment(self) -> dict[str, str]:
        """What makes ssh ask here and nowhere else."""
        own = {
            "SSH_ASKPASS": str(self.folder / "askpass"),
            "SSH_ASKPASS_REQUIRE": "force",
            "SPEC_CONSOLE_ASK": str(self.folder / _SOCKET),
        }
        return {
            "DISPLAY": "none",
            **os.environ,
            **own,
        }  # before 8.4, ssh asks only where one is set

    def keep(self) -> None:
        """Remember what let it in."""
        self._kept.update(self._given)

    def close(self) -> None:
        """Take no more questions and remove the folder."""
        if self._server is not None:
            self._server.close()
        made, self._made = self._made, None
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            said = b""
            while more := await reader.read(_MOST_BYTES):
                said += more
            if not said:
                return  # another console looks whether this one lives
            hint, _, prompt = said.decode("utf-8", "replace").partition("\n")
            answering = asyncio.create_task(self._answer(hint, prompt))
            answering.add_done_callback(self._broken)
            answer = await answering
            with contextlib.suppress(ConnectionError):
                writer.write(b"-" if answer is None else b"+" + answer.encode())
                await writer.drain()
        finally:
            writer.close()

    async def _answer(self, hint: str, prompt: str) -> str | None:
        # One that was refused is asked for again, so it is given back only once.
        known = self._kept.pop(prompt, None)
        if known is not None:
            self._given[prompt] = known
            return known
        asked = question(self._subject, prompt, self._said, hint)
        try:
            answer = await self._asking(asked)
        except NobodyToAsk:
            if hint != TELLS:
                self._refuse(asked, f"{asked.text}: needed, and nobody to ask")
            return None
        if hint == TELLS:
            return ""
        if answer is None or (asked.choices and answer != TRUST):
            self._refuse(asked, f"{self._alias} accepted no key or password")
            return None
        if _KEPT.search(prompt):
            self._given[prompt] = answer
        return answer

    def _broken(self, answering: asyncio.Task[str | None]) -> None:
        """A defect ends the attempt to connect, it does not hang it."""
        if answering.cancelled() or self.refused.done():
            return
        if (defect := answering.exception()) is not None:
            self.refused.set_exception(defect)

    def _refuse(self, asked: Question, why: str) -> None:
        if self.refused.done():
            return
        if "host key" in asked.text:
            why = asked.text.partition(". ")[0]
            self.refused.set_result(WireError(Failure.KEY_UNKNOWN, why, asked.detail))
        else:
            self.refused.set_result(WireError(Failure.AUTH, why))


def sweep() -> None:
    """Remove the folders of consoles that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}[0-9]*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not _runs(int(pid)) and not _answers(folder / _SOCKET):
            shutil.rmtree(folder, ignore_errors=True)


def _answers(path: Path) -> bool:
    """Whether somebody listens there: a console of another process namespace."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another user's
    return True
