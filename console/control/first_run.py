"""The first run: try the demo, or add a server by four questions, each checked where it can be.

Asks through a port and tells as it goes; it draws nothing and writes one file, at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from console.model.ask import Ask, Question
from console.model.clock import Clock, Pace
from console.model.failure import WireError
from console.model.fleet import Arm, Host, Wire
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.store.draft import Draft, valid_name, write_draft
from console.store.fleet import FILE
from console.store.folders import config_folder

if TYPE_CHECKING:
    from console.services.checking import Process, Visit
    from console.services.engine import Found

LEAVE, ADD, DEMO = "Leave", "Add a server", "Try the demo"
AGAIN, GO_ON = "Another", "Go on all the same"
LOCAL = "local"
_ADD = "Add a server"

Tell = Callable[[Clean, bool | None], None]
"""Takes what was found, and whether that is good; None of what is looked for."""


class Chosen(StrEnum):
    """What a person wants who has no fleet yet."""

    LEAVE = LEAVE
    DEMO = DEMO
    ADDED = ADD


@dataclass(slots=True)
class FirstRun:
    """The questions.

    Attributes:
        path: the fleet file, once it is written.
    """

    ask: Ask
    tell: Tell
    clock: Clock
    pace: Pace
    masks: Masks
    path: Path | None = None

    async def run(self) -> Chosen:
        """Ask; a declined question, or a file that cannot be written, leads back to the first."""
        while True:
            choice = await self.ask.ask(
                Question(
                    "Welcome to spec-console",
                    "There is no fleet file yet. What shall it be?",
                    (
                        "The demo simulates two servers and the night of the 90 tok/s.",
                        "A server is added by four questions; nothing is changed on its host.",
                    ),
                    choices=(LEAVE, ADD, DEMO),
                )
            )
            if choice == DEMO:
                return Chosen.DEMO
            if choice != ADD:
                return Chosen.LEAVE
            draft = await self._draft()
            if draft is not None:
                self.path = config_folder() / FILE
                try:
                    write_draft(draft, self.path)
                except OSError as error:
                    why = (error.strerror or str(error)).lower()
                    self._say(f"{self.path} cannot be written: {why}", good=False)
                    continue
                self._say(f"written: {self.path}", good=True)
                return Chosen.ADDED

    async def _draft(self) -> Draft | None:
        host = await self._host()
        if host is None:
            return None
        alias, visit = host
        try:
            return await self._server(alias, visit)
        finally:
            await visit.close()

    async def _host(self) -> tuple[str, Visit] | None:
        """1: the host, reached."""
        from console.services.checking import Visit

        why: tuple[str, ...] = ()
        offered = ""
        while True:
            text = f"1 of 4: alias of the host as ssh knows it, or {LOCAL} for this machine"
            alias = await self._typed(text, why, offered)
            if alias is None:
                return None
            offered = alias
            if alias.startswith("-") or not alias or any(c.isspace() for c in alias):
                why = (f'"{alias}" is no alias: one word was expected, such as gpu8',)
                continue
            local = alias == LOCAL
            name = valid_name(alias)
            host = Host(name) if local else Host(name, Wire.ASYNCSSH, alias)
            self._say(f"{alias}: connecting …", good=None)
            visit = Visit(host, self.clock, self.pace, self.ask)
            check = await visit.reached()
            self._say(f"{alias}: {check.told}", good=check.good is True)
            if check.good:
                return ("" if local else alias), visit
            await visit.close()
            why = (check.told, *((check.mend,) if check.mend else ()))

    async def _server(self, alias: str, visit: Visit) -> Draft | None:
        port = await self._port(visit)
        if port is None:
            return None
        number, found = port
        process = await self._process(visit, number)
        model = found.model.rpartition("/")[2] if found is not None else ""
        suggested = valid_name(model or f"{alias or LOCAL}-{number}").lower()
        name = await self._name(suggested)
        if name is None:
            return None
        arm = await self.ask.ask(
            Question(
                _ADD,
                "4 of 4: which side of the comparison is it?",
                ("baseline: without speculative decoding; speculative: with a draft.",),
                choices=(Arm.BASELINE.value, Arm.SPECULATIVE.value),
            )
        )
        if arm is None:
            return None
        engine = found.engine.value if found is not None and found.engine is not None else "auto"
        draft = Draft(alias, number, name, Arm(arm), engine)
        return self._adopted(draft, process)

    async def _port(self, visit: Visit) -> tuple[int, Found | None] | None:
        """2: the port, and what answers there."""
        why: tuple[str, ...] = ()
        offered = ""
        while True:
            typed = await self._typed("2 of 4: port of the server, such as 8000", why, offered)
            if typed is None:
                return None
            offered = typed
            if not typed.isdecimal() or not 1 <= int(typed) <= 65535:
                why = (f'"{typed}" is no port: 1 to 65535 was expected',)
                continue
            port = int(typed)
            check, found = await visit.answers(port)
            self._say(f"port {port}: {check.told}", good=check.good is not False)
            if check.good is not False:
                return port, found
            choice = await self.ask.ask(
                Question(_ADD, f"No server answers on port {port}.", (check.told, check.mend),
                         choices=(AGAIN, GO_ON))
            )  # fmt: skip
            if choice is None:
                return None
            if choice == GO_ON:
                return port, None
            why = ()

    async def _name(self, suggested: str) -> str | None:
        """3: the server's name, as a fleet file takes it."""
        why: tuple[str, ...] = ()
        offered = suggested
        while True:
            name = await self._typed("3 of 4: name of the server", why, offered)
            if name is None or (name and name == valid_name(name)):
                return name
            offered = valid_name(name) if name else suggested
            why = (f'"{name}" is no name: letters, digits, dot, dash, underline were expected',)

    async def _process(self, visit: Visit, port: int) -> Process | None:
        try:
            process = await visit.listening(port)
        except WireError as error:
            self._say(f"its process cannot be seen: {error}", good=False)
            return None
        if process is None:
            self._say("its process cannot be seen: no log and no recipe found", good=False)
        else:
            self._say(f"process {process.pid}, log {process.log or 'not found'}", good=True)
        return process

    def _adopted(self, draft: Draft, process: Process | None) -> Draft:
        """The draft with the process's log and command; a command with a secret is left out."""
        if process is None:
            return draft
        whole = " ".join(process.argv)
        kept = process.argv if self.masks.mask(whole) == whole else ()
        if kept != process.argv:
            self._say("its command holds a secret: no recipe was taken over", good=False)
        cwd = process.cwd if kept else ""
        return Draft(
            draft.ssh, draft.port, draft.name, draft.arm, draft.engine, process.log, kept, cwd
        )

    async def _typed(self, text: str, why: tuple[str, ...] = (), offered: str = "") -> str | None:
        detail = tuple(clean(line, self.masks) for line in why)
        typed = await self.ask.ask(Question(_ADD, text, detail, offered=offered))
        return typed.strip() if typed is not None else None

    def _say(self, text: str, *, good: bool | None) -> None:
        self.tell(clean(text, self.masks), good)
