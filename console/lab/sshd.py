"""A real SSH server on loopback for each host of the lab, commands run as the current user.

Sessions are `/bin/sh -c` with the host's own HOME and PATH; forwarding goes to loopback only. No
terminals, no SFTP, at most ten sessions a connection as OpenSSH has it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass, field
from typing import Any

import asyncssh
from asyncssh.channel import SSHChannel

MAX_SESSIONS = 10
_LOOPBACK = ("127.0.0.1", "localhost")
_TERM_S = 0.5
_BLOCK = 65_536


@dataclass(slots=True)
class LabHost:
    """One host as sessions see it: its environment, its home, the processes it waits for."""

    name: str
    home: str
    env: dict[str, str]
    waited: set[int] = field(default_factory=set)


class _Session(asyncssh.SSHServerProcess[bytes]):
    """A session that gives its place back once its channel is closing."""

    def __init__(self, connection: LabConnection) -> None:
        async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
            await _run(connection.host, process)

        super().__init__(run, None, 3, False)
        self._connection = connection
        self._opened: SSHChannel[Any] | None = None

    def connection_made(self, chan: SSHChannel[Any]) -> None:
        super().connection_made(chan)
        self._opened = chan

    @property
    def counts(self) -> bool:
        """Whether it takes one of the connection's places; a closing one does no more."""
        return self._opened is None or not self._opened.is_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.sessions.discard(self)
        super().connection_lost(exc)


class LabConnection(asyncssh.SSHServer):
    """One client's connection to one host."""

    def __init__(self, host: LabHost) -> None:
        self.host = host
        self.sessions: set[_Session] = set()

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002 - any name, with the key
        return True

    def session_requested(self) -> asyncssh.SSHServerProcess[bytes]:
        if sum(session.counts for session in self.sessions) >= MAX_SESSIONS:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, "open failed")
        session = _Session(self)
        self.sessions.add(session)
        return session

    def connection_requested(
        self,
        dest_host: str,
        dest_port: int,  # noqa: ARG002 - asyncssh calls by position
        orig_host: str,  # noqa: ARG002
        orig_port: int,  # noqa: ARG002
    ) -> bool:
        if dest_host not in _LOOPBACK:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "the lab forwards to itself only"
            )
        return True


async def listen(host: LabHost, key: asyncssh.SSHKey, client_key: bytes) -> asyncssh.SSHAcceptor:
    """Serve one host on a free port of loopback."""
    return await asyncssh.listen(
        "127.0.0.1",
        0,
        server_factory=lambda: LabConnection(host),
        server_host_keys=[key],
        authorized_client_keys=asyncssh.import_authorized_keys(client_key.decode()),
        server_version="simulated-lab",
        encoding=None,
        allow_pty=False,
        agent_forwarding=False,
        reuse_address=True,
    )


async def _run(host: LabHost, process: asyncssh.SSHServerProcess[bytes]) -> None:
    argv = ["/bin/sh", "-c", process.command] if process.command else ["/bin/sh"]
    child = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=host.home,
        env=host.env,
        start_new_session=True,
    )
    host.waited.add(child.pid)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    loop = asyncio.get_running_loop()
    closed = loop.create_task(process.wait_closed())
    feeding = loop.create_task(_feed(process, child.stdin, child.pid))
    done = loop.create_task(
        _drained(child, _pump(child.stdout, process.stdout), _pump(child.stderr, process.stderr))
    )
    try:
        await asyncio.wait((closed, done), return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            await _end(child, done)
    finally:
        host.waited.discard(child.pid)
        for task in (feeding, closed, done):
            task.cancel()
    if child.returncode is not None and not process.is_closing():
        _tell(process, child.returncode)


async def _drained(
    child: asyncio.subprocess.Process, *pumps: asyncio.Future[None] | object
) -> None:
    await asyncio.gather(*pumps)  # type: ignore[arg-type]
    await child.wait()


async def _pump(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
    with contextlib.suppress(ConnectionError, asyncssh.Error):
        while data := await source.read(_BLOCK):
            target.write(data)
            await target.drain()


async def _feed(
    process: asyncssh.SSHServerProcess[bytes], target: asyncio.StreamWriter, pid: int
) -> None:
    """Client to command, signals included, until the client's end of file."""
    with contextlib.suppress(ConnectionError, asyncssh.Error):
        while True:
            try:
                data = await process.stdin.read(_BLOCK)
            except asyncssh.SignalReceived as received:
                _signal(pid, getattr(signal, f"SIG{received.signal}", signal.SIGTERM))
                continue
            except (asyncssh.BreakReceived, asyncssh.TerminalSizeChanged):
                continue
            if not data:
                break
            target.write(data)
            await target.drain()
    target.close()


async def _end(child: asyncio.subprocess.Process, done: asyncio.Task[None]) -> None:
    """The client has gone: end its command, politely first."""
    _signal(child.pid, signal.SIGTERM)
    await asyncio.wait((done,), timeout=_TERM_S)
    _signal(child.pid, signal.SIGKILL)
    await child.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _tell(process: asyncssh.SSHServerProcess[bytes], code: int) -> None:
    with contextlib.suppress(asyncssh.Error, OSError):
        if code < 0:
            process.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))
        else:
            process.exit(code)
