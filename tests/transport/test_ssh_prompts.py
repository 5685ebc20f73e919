"""What a host asks for at the door reaches a person, and nobody hangs where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import asyncssh

from console.model.ask import Ask, Nobody
from console.model.clock import Pace, SystemClock
from console.model.exits import Exit
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.transport.wire import LinkState, Wire
from console.transport.wires import wire_to
from tests.rig.waiting import auntil
from tests.transport.person import Person

# OpenSSH puts its questions in its own words.
PASSWORD = {Way.ASYNCSSH: "Password for door", Way.OPENSSH: "tuner@127.0.0.1's password"}
PROMPT = {Way.ASYNCSSH: "Password", Way.OPENSSH: "(tuner@127.0.0.1) Password"}
PACE = replace(Pace().scaled(20), connect_deadline_s=60.0)
SECRET = "pass word"
CODE = "123456"


class Door(asyncssh.SSHServer):
    """Asks for a password, or in prompts for a password and a code."""

    inside: ClassVar[set[asyncssh.SSHServerConnection]] = set()

    def __init__(self, prompts: bool) -> None:
        self._prompts = prompts

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.inside.add(conn)

    def begin_auth(self, username: str) -> bool:
        del username
        return True

    def password_auth_supported(self) -> bool:
        return not self._prompts

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == ("tuner", SECRET)

    def kbdint_auth_supported(self) -> bool:
        return self._prompts

    def get_kbdint_challenge(
        self, username: str, lang: str, submethods: str
    ) -> tuple[str, str, str, Sequence[tuple[str, bool]]]:
        del username, lang, submethods
        return "Two factors", "From your device", "", [("Password: ", False), ("Code: ", True)]

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        del username
        return list(responses) == [SECRET, CODE]


@asynccontextmanager
async def door(folder: Path, way: Way, ask: Ask, *, prompts: bool = False) -> AsyncIterator[Wire]:
    """A wire to a host that echoes for `cat` and answers `in` to every other command."""
    key = asyncssh.generate_private_key("ssh-ed25519")

    async def answer(process: asyncssh.SSHServerProcess[str]) -> None:
        command = process.command or ""
        mark = command.split("'spec-console-")[1].split("'")[0]
        process.stdout.write(f"spec-console-{mark}\n")
        process.stderr.write(f"spec-console-{mark}\n")
        if command.endswith("'cat'"):
            while data := await process.stdin.read(100):
                process.stdout.write(data)
        else:
            process.stdout.write("in\n")
        process.exit(0)

    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_factory=lambda: Door(prompts),
        server_host_keys=[key],
        process_factory=answer,
    )
    port = server.get_port()
    known = folder / "known"
    known.write_text(f"[127.0.0.1]:{port} {key.export_public_key().decode()}")
    config = folder / "config"
    config.write_text(
        f"Host door\n HostName 127.0.0.1\n Port {port}\n User tuner\n"
        f" IdentityFile {folder}/none\n IdentityAgent none\n UserKnownHostsFile {known}\n"
    )
    host = Host("box", way, "door", str(config))
    wire = wire_to(host, SystemClock(), PACE, ask)
    try:
        yield wire
    finally:
        await wire.close()
        server.close()


async def outcome(wire: Wire) -> bytes | WireError:
    try:
        return (await wire.run(["true"], deadline_s=100)).out
    except WireError as error:
        return error


async def test_a_password_is_asked_for_hidden_and_kept_for_the_next_connection(
    tmp_path: Path, way: Way
) -> None:
    person = Person(SECRET)
    async with door(tmp_path, way, person) as wire:
        assert await outcome(wire) == b"in\n"
        question = person.asked[0]
        assert (question.subject, question.text) == ("box", PASSWORD[way])
        assert question.secret
        states: list[LinkState] = []

        async def follow() -> None:
            async for seen in wire.links():
                states.append(seen.state)

        following = asyncio.create_task(follow())
        await auntil(lambda: states == [LinkState.UP])
        for connection in tuple(Door.inside):
            connection.abort()
        await auntil(lambda: states[1:] == [LinkState.LOST, LinkState.CONNECTING, LinkState.UP])
        following.cancel()
        assert await outcome(wire) == b"in\n"
    assert len(person.asked) == 1


async def test_a_wrong_password_is_asked_for_again(tmp_path: Path, way: Way) -> None:
    person = Person("wrong", SECRET)
    async with door(tmp_path, way, person) as wire:
        assert await outcome(wire) == b"in\n"
    assert len(person.asked) == 2


async def test_declined_is_not_let_in_nor_asked_again_unbidden(tmp_path: Path, way: Way) -> None:
    person = Person(None, SECRET)
    async with door(tmp_path, way, person) as wire:
        error = await outcome(wire)
        assert isinstance(error, WireError)
        assert (error.kind, error.why) == (Failure.AUTH, "door accepted no key or password")
        refused = 0
        async with asyncio.timeout(60):
            async for seen in wire.links():
                refused += seen.state is LinkState.REFUSED
                if refused == 1:
                    wire.retry()  # only now is a person asked again
                if seen.state is LinkState.UP:
                    break
    assert (len(person.asked), refused) == (2, 1)


async def test_nobody_to_ask_fails_at_once_with_its_exit_code(tmp_path: Path, way: Way) -> None:
    for prompts, text in ((False, PASSWORD[way]), (True, PROMPT[way])):
        async with door(tmp_path, way, Nobody(), prompts=prompts) as wire:
            start_s = asyncio.get_running_loop().time()
            error = await outcome(wire)
            assert asyncio.get_running_loop().time() - start_s < 30  # the deadline is 60 s
            assert isinstance(error, WireError)
            assert error.why == f"{text}: needed, and nobody to ask"
            assert (error.kind, error.kind.exit) == (Failure.AUTH, Exit.UNREACHABLE)


async def test_prompts_reach_the_person_one_by_one(tmp_path: Path, way: Way) -> None:
    person = Person(SECRET, CODE)
    async with door(tmp_path, way, person, prompts=True) as wire:
        assert await outcome(wire) == b"in\n"
    asked = [(question.text, question.secret, question.detail) for question in person.asked]
    if way is Way.ASYNCSSH:
        assert asked == [
            ("Password:", True, ("From your device",)),
            ("Code:", False, ("From your device",)),
        ]
    else:  # it says neither whether an answer may be seen nor what the host explains
        assert asked == [
            ("(tuner@127.0.0.1) Password", True, ()),
            ("(tuner@127.0.0.1) Code", True, ()),
        ]


async def test_a_code_that_counts_once_is_asked_for_anew(tmp_path: Path, way: Way) -> None:
    person = Person(SECRET, CODE, SECRET, CODE)
    async with door(tmp_path, way, person, prompts=True) as wire:
        assert await outcome(wire) == b"in\n"
        for connection in tuple(Door.inside):
            connection.abort()
        await auntil(lambda: len(person.asked) == 4)
        await asyncio.wait_for(wire.up(), 60)
