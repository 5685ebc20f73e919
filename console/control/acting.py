"""Acts: what the verbs adopt, launch, stop, swap and restart do, from request to audit.

Owns the order around an act: refusals first, then a look, the confirmation, the host's lock, the
act itself, and what the stream and the audit keep of it. One act at a time on a host.
"""

from __future__ import annotations

import getpass
import platform
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from console.control.acting_file import write_file
from console.control.acting_look import Look
from console.control.acting_request import BadRequest, Request, read_request
from console.control.acting_turn import Turn
from console.control.guard import Guard, Refused, never
from console.control.port import Argument, Outcome
from console.model.ask import Ask
from console.model.clock import Clock, Pace, utc_text
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.store import audit
from console.stream.run_events import ActRefused
from console.stream.session_events import Noticed
from console.stream.timeline import Timeline

if TYPE_CHECKING:
    from console.services.live import Watch


@dataclass(slots=True)
class Acts:
    """The acts of a live session.

    Attributes:
        session: where the session is recorded, for the audit; empty when it is not.
    """

    watch: Watch
    timeline: Timeline
    clock: Clock
    pace: Pace
    masks: Masks
    ask: Ask
    guard: Guard
    session: str = ""
    _busy: set[str] = field(default_factory=set)

    async def do(self, verb: str, server: str, given: Mapping[str, Argument]) -> Outcome:
        """Do an act; every refusal is in the stream and has exit code 6."""
        name = f"{self.clock.utc():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        entry = self.watch.fleet.server(server)
        host = self.watch.fleet.host_of(entry).name
        refusal = never(self.watch.fleet, entry) or self.guard.refusal()
        if refusal is None and host in self._busy:
            refusal = f"another act of this console is under way on {host}"
        if refusal is not None:
            return self._refused(name, verb, server, refusal)
        try:
            request = self._request(verb, server, given)
        except BadRequest as error:
            return Outcome(Exit.USAGE, self.clean(f"{verb}: {error}"))
        self._busy.add(host)
        try:
            if verb == "envfile":
                return await write_file(self, name, server, given)
            return await Turn(self, name, request).go()
        except Refused as error:
            refused = self._refused(name, verb, server, str(error))
            return replace(refused, lines=tuple(self.clean(line) for line in error.lines))
        except WireError as error:
            return Outcome(error.kind.exit, self.clean(f"{verb}: {error.told}"))
        finally:
            self._busy.discard(host)
            self.guard.touch()

    async def preview(self, verb: str, server: str) -> tuple[Request, Look]:
        """What an act would find now; nothing is confirmed, locked or changed.

        Raises:
            WireError: the host was not reached.
        """
        request = self._request(verb, server, {})
        return request, await Turn(self, "", request).look()

    def _request(self, verb: str, server: str, given: Mapping[str, Argument]) -> Request:
        source = self.watch.fleet.server(server).log
        log = source.path if source is not None else ""
        return read_request(verb, server, given, log, self.pace, self.masks)

    def refuse(self, verb: str, server: str, why: str) -> Outcome:
        """Refuse an act that was not even begun."""
        return self._refused(f"refused-{secrets.token_hex(3)}", verb, server, why)

    def unlock(self) -> Outcome:
        """Allow acts for a while."""
        self.guard.unlock()
        minutes = self.pace.unlock_idle_s * self.pace.scale / 60
        return Outcome(Exit.OK, Clean(f"unlocked; read-only again after {minutes:g} idle minutes"))

    def lock(self) -> Outcome:
        """Read-only again."""
        self.guard.lock()
        return Outcome(Exit.OK, Clean("read-only"))

    def _refused(self, act: str, verb: str, server: str, why: str) -> Outcome:
        text = self.clean(why)
        names = (self.clean(act), self.clean(verb), self.clean(server))
        self.timeline.emit(ActRefused(*names, text))
        if not self.guard.dry:
            host = self.watch.fleet.host_of(self.watch.fleet.server(server)).name
            self.write_down(act, {"host": host, "verb": verb, "server": server}, f"refused: {text}")
        return Outcome(Exit.GUARD, self.clean(f"{verb} refused: {why}"))

    @property
    def who(self) -> str:
        """The operator: the user of this console and its machine."""
        return f"{getpass.getuser()}@{platform.node()}"

    def write_down(
        self, act: str, fields: Mapping[str, audit.Value], result: str, confirmed: str = ""
    ) -> bool:
        """Add a line to the audit; where that cannot be, it is noticed."""
        record = {
            "utc": utc_text(self.clock.utc()),
            "operator": self.who,
            "act": act,
            **fields,
            "confirmed": confirmed,
            "result": result,
            "session": self.session,
        }
        try:
            audit.append(record)
        except OSError as error:
            why = self.clean(f"cannot be written: {(error.strerror or str(error)).lower()}")
            self.timeline.emit(Noticed(Clean("audit"), Clean("error"), why))
            return False
        return True

    def clean(self, text: str) -> Clean:
        """Text of this console or a host, safe and masked."""
        return clean(text, self.masks)
