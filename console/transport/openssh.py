"""The wire to a host through the system's ssh client, for ControlMaster sockets, 2FA, Kerberos.

Owns how the connection that all share is made: the user's own master where one runs, else one of
its own that ends with the console. It changes nothing the user's configuration says of the way.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

from console.model.ask import Ask
from console.model.clock import Clock, Pace
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport.attempt import Attempt
from console.transport.openssh_ask import Asker
from console.transport.openssh_listening import Listening
from console.transport.openssh_master import Master
from console.transport.openssh_words import Said
from console.transport.output import Output
from console.transport.process import spawn
from console.transport.remote import RemoteWire
from console.transport.ssh_unused import unused_by_openssh
from console.transport.words import remote_line

_MARK = "spec-console-keeper"

# What a console's commands must not do whatever the configuration says.
_ALWAYS = ("RemoteCommand=none", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no")
# One that finds no master must not connect by itself.
_NEVER_DIAL = ("ControlMaster=no", "ProxyCommand=false")


class OpensshWire(RemoteWire):
    """One host over the system's ssh; connects when first used and reconnects until closed."""

    def __init__(self, host: Host, clock: Clock, pace: Pace, ask: Ask) -> None:
        super().__init__(host, OpensshDialler(host, clock, pace, ask), clock, pace)


class OpensshDialler:
    """Connects to one host as often as needed."""

    def __init__(self, host: Host, clock: Clock, pace: Pace, ask: Ask) -> None:
        self._host = host
        self._clock = clock
        self._pace = pace
        self._ask = ask
        self._secrets: dict[str, str] = {}
        self._attempt = Attempt(ask, pace)
        self._shares = False

    @property
    def asked(self) -> bool:
        """Whether a person answered a question in the last attempt."""
        return self._attempt.asked

    async def dial(self) -> Master:
        """Connect within the deadline; a person's time does not count.

        Raises:
            WireError: KEY_UNKNOWN, KEY_CHANGED, AUTH, CONFIG, NO_HOST, REFUSED, TIMEOUT, CLOSED,
                or REMOTE when the login shell runs nothing.
        """
        self._attempt = attempt = Attempt(self._ask, self._pace)
        said = Said()
        asker = Asker(self._host.name, self._host.ssh, said, self._secrets, attempt.ask)
        # Whatever ends it, a cancel too: the asking socket must go.
        with ExitStack() as undo:
            undo.callback(asker.close)
            try:
                async with attempt.within():
                    self._shares = await self._has_master()
                    await asker.open()
                    master = await self._begin(said, asker)
            except FileNotFoundError:
                raise WireError(Failure.CONFIG, "no ssh on this machine") from None
            undo.pop_all()
        return master

    def unused(self) -> tuple[str, ...]:
        """What the configuration asks for in vain, or what sharing a master means."""
        if not self._shares:
            return unused_by_openssh(self._host.ssh_config, self._host.ssh)
        return ("over your own ssh master: host key, keepalive and forwarding are as it has them",)

    async def _has_master(self) -> bool:
        check = await spawn([*self._ssh(), "-O", "check", self._host.ssh])
        check.stdin.close()
        try:
            await check.exited.wait()
        finally:
            await check.end()
        return check.code == 0

    def _ssh(self, *options: str) -> list[str]:
        config = ["-F", self._host.ssh_config] if self._host.ssh_config else []
        return ["ssh", *config, *(word for option in options for word in ("-o", option))]

    async def _begin(self, said: Said, asker: Asker) -> Master:
        if self._shares:
            base = self._ssh(*_ALWAYS, *_NEVER_DIAL)
            ssh = base
        else:
            base, ssh = self._own(asker.folder / "master")
        line = remote_line(["cat"], _MARK)
        process = await spawn([*ssh, "-v", "-T", self._host.ssh, "--", line], asker.environment())
        heard = Listening(process, said, self._clock)
        # Whatever ends it, a cancel too: no ssh may be left behind.
        async with AsyncExitStack() as undo:
            undo.push_async_callback(heard.close)
            undo.push_async_callback(process.end)
            await self._opened(heard, said, asker)
            undo.pop_all()
        asker.keep()
        return Master(self._host, base, process, heard, said, asker, self._pace)

    def _own(self, socket: Path) -> tuple[list[str], list[str]]:
        """ssh as it uses a master of the console's own, and as it is that master."""
        path = f"ControlPath={socket}"
        alive_s = max(1, math.ceil(self._pace.keepalive_s))
        master = self._ssh(
            *_ALWAYS,
            path,
            "ControlMaster=yes",
            "ControlPersist=no",
            "ClearAllForwardings=yes",
            "StrictHostKeyChecking=ask",
            f"ServerAliveInterval={alive_s}",
            f"ServerAliveCountMax={self._pace.keepalive_count}",
        )
        return self._ssh(*_ALWAYS, *_NEVER_DIAL, path), master

    async def _opened(self, heard: Listening, said: Said, asker: Asker) -> None:
        """Return once the login shell answers."""
        begun = asyncio.ensure_future(Output(heard.process.out.read, _MARK.encode()).begun())
        try:
            waits: set[asyncio.Future[Any]] = {begun, asker.refused}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if asker.refused.done():
                raise asker.refused.result()
            try:
                begun.result()
            except WireError:
                await heard.over()
                if asker.refused.done():
                    raise asker.refused.result() from None
                if said.entered or self._shares:
                    raise
                raise said.meaning(self._host.ssh) from None
        finally:
            begun.cancel()
            await asyncio.gather(begun, return_exceptions=True)
