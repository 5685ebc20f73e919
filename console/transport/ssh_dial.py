"""Getting in: one SSH connection as the user's own configuration describes it.

Owns the way through jump hosts, the check of every host key on it and when a person is asked.
Nothing a person answers is kept anywhere but in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import asyncssh

from console.model.ask import Ask, NobodyToAsk, Question
from console.model.clock import Clock, Pace
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport.attempt import Attempt
from console.transport.known_hosts import remember
from console.transport.ssh_client import TRIES, Client
from console.transport.ssh_connection import SshConnection
from console.transport.ssh_errors import Meaning
from console.transport.ssh_options import Options, hop_options, known_hosts_of, place
from console.transport.ssh_unused import unused_by_asyncssh

Connection = asyncssh.SSHClientConnection

_MOST_HOPS = 8
_DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")


class SshDialler:
    """Connects to one host as often as needed."""

    def __init__(self, host: Host, clock: Clock, pace: Pace, ask: Ask) -> None:
        self._host = host
        self._clock = clock
        self._pace = pace
        self._ask = ask
        self._secrets: dict[str, str] = {}
        self._attempt = Attempt(ask, pace)

    @property
    def asked(self) -> bool:
        """Whether a person answered a question in the last attempt."""
        return self._attempt.asked

    async def dial(self) -> SshConnection:
        """Connect through every hop within the deadline; a person's time does not count.

        Raises:
            WireError: KEY_UNKNOWN, KEY_CHANGED, AUTH, CONFIG, NO_HOST, REFUSED, TIMEOUT, CLOSED.
        """
        jumps: list[Connection] = []
        self._attempt = Attempt(self._ask, self._pace)
        try:
            async with self._attempt.within():
                dialled = await self._hop(self._host.ssh, None, jumps)
                dialled = replace(dialled, jumps=tuple(jumps))
                jumps.clear()
                return dialled
        finally:
            for jump in reversed(jumps):
                jump.abort()

    def unused(self) -> tuple[str, ...]:
        """What the configuration asks for and this wire does not do, as lines."""
        return unused_by_asyncssh(self._host.ssh_config, place(self._host.ssh)[1])

    async def _hop(
        self, name: str, tunnel: Connection | None, jumps: list[Connection]
    ) -> SshConnection:
        user, alias, port = place(name)
        client = Client(self._host.name, alias, self._clock, self._attempt.ask, self._secrets)
        with Meaning(client, alias):
            options = await hop_options(self._host.ssh_config, alias, user, port)
        if tunnel is None and isinstance(options.tunnel, str):
            for jump in options.tunnel.split(","):
                if len(jumps) >= _MOST_HOPS:
                    raise WireError(Failure.CONFIG, f"more than {_MOST_HOPS} jumps to {alias}")
                tunnel = (await self._hop(jump, tunnel, jumps)).connection
                jumps.append(tunnel)
        client.known = known_hosts_of(options, alias)
        connection, rtt_us = await self._let_in(alias, options, tunnel, client)
        return SshConnection(self._host.name, connection, client, (), rtt_us)

    async def _let_in(
        self, alias: str, options: Options, tunnel: Connection | None, client: Client
    ) -> tuple[Connection, int]:
        locked = await asyncio.to_thread(_locked_keys, options)
        client.may_ask = not locked
        keys: Sequence[asyncssh.SSHKey] = ()
        while True:
            start_us = self._clock.now_us()
            try:
                with Meaning(client, alias, str(options.host)):
                    connection = await self._connect(alias, options, tunnel, client, keys)
                return connection, client.connected_us - start_us
            except WireError as error:
                if error.kind is Failure.KEY_UNKNOWN:
                    await self._trust(client, error)
                elif error.kind is Failure.AUTH and locked:
                    # As ssh does: a passphrase only after the agent and the open keys.
                    keys, locked = await self._unlocked(locked), []
                    client.may_ask = True
                else:
                    raise

    async def _connect(
        self,
        alias: str,
        options: Options,
        tunnel: Connection | None,
        client: Client,
        keys: Sequence[asyncssh.SSHKey],
    ) -> Connection:
        client.offered = None
        return await asyncssh.connect(
            alias,
            options.port,
            options=options,
            config=None,
            tunnel=tunnel or (),
            client_factory=lambda: client,
            **({"client_keys": keys} if keys else {}),
            known_hosts=list(client.known.files) or b"# none\n",
            agent_forwarding=False,
            login_timeout=0,
            keepalive_interval=self._pace.keepalive_s,
            # asyncssh gives up one interval after so many went unanswered.
            keepalive_count_max=max(1, self._pace.keepalive_count - 1),
        )

    async def _trust(self, client: Client, error: WireError) -> None:
        """Go on only after a person accepted the key, which is then written down."""
        text = f"{error.why}. Trust the one it offers from now on?"
        question = Question(self._host.name, text, error.detail, choices=("no", "yes"))
        try:
            answer = await self._attempt.ask(question)
        except NobodyToAsk:
            raise error from None
        if answer != "yes" or client.offered is None:
            raise error
        client.known = remember(client.offered)

    async def _unlocked(self, paths: Sequence[str]) -> list[asyncssh.SSHKey]:
        keys = []
        for path in paths:
            text = f"Passphrase for {path}"
            for _ in range(TRIES):
                secret = self._secrets.get(text) or await self._secret(text)
                try:
                    keys.append(await asyncio.to_thread(asyncssh.read_private_key, path, secret))
                except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
                    if "requires" in str(error):
                        raise WireError(Failure.AUTH, f"{path}: {error}") from error
                    self._secrets.pop(text, None)
                    continue
                self._secrets[text] = secret
                break
        if not keys:
            raise WireError(Failure.AUTH, "no key could be unlocked with what was given")
        return keys

    async def _secret(self, text: str) -> str:
        try:
            answer = await self._attempt.ask(Question(self._host.name, text, secret=True))
        except NobodyToAsk:
            raise WireError(Failure.AUTH, f"{text}: needed, and nobody to ask") from None
        if answer is None:
            raise WireError(Failure.AUTH, f"{text}: not given")
        return answer


def _locked_keys(options: Options) -> list[str]:
    """Identity files that need a passphrase."""
    named = options.config.get("IdentityFile", ())
    paths = named if isinstance(named, list) else [f"~/.ssh/{name}" for name in _DEFAULT_KEYS]
    found = []
    for path in paths:
        full = Path(str(path)).expanduser()
        try:
            asyncssh.read_private_key(full)
        except asyncssh.KeyImportError as error:
            if "passphrase" in str(error).lower():
                found.append(str(full))
        except OSError:
            continue
    return found
