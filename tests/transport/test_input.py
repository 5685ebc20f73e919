"""A command that runs is given input bit by bit, on this machine and over both ways of SSH."""

from __future__ import annotations

import asyncssh
import pytest

from console.model.failure import Failure, WireError
from console.transport.ssh_streams import RemoteCommand
from console.transport.wire import Stream, Wire
from tests.rig.sshd import Sshd

pytestmark = pytest.mark.rig


async def test_each_input_is_answered_before_the_next(any_wire: Wire) -> None:
    stream = await any_wire.open(["sh", "-c", "while read -r line; do echo got $line; done"])
    try:
        for word in (b"one", b"two"):
            await stream.write(word + b"\n")
            assert await stream.read() == b"got " + word + b"\n"
    finally:
        await stream.close()


async def test_a_command_that_reads_no_input_gives_its_outcome(any_wire: Wire) -> None:
    done = await any_wire.run(["sh", "-c", "exit 3"], stdin=b"x" * 300_000, deadline_s=30)
    assert done.code == 3


async def test_input_for_one_that_is_over_already_is_let_go(sshd: Sshd) -> None:
    async with asyncssh.connect("rig", config=str(sshd.ssh_config)) as connection:
        process = await connection.create_process("printf 'mark\nout'; exit 3", encoding=None)
        await process.wait_closed()
        command = RemoteCommand(process, b"mark", None)
        await command.feed(b"in")
        assert (await command._out.all(100), process.returncode) == (b"out", 3)


async def filled(stream: Stream) -> None:
    """Write until it takes no more."""
    for _ in range(1000):
        await stream.write(b"x" * 65536)


async def test_a_command_that_ended_takes_no_input(any_wire: Wire) -> None:
    stream = await any_wire.open(["true"])
    try:
        assert await stream.read() == b""
        with pytest.raises(WireError) as caught:
            await filled(stream)
        assert caught.value.kind is Failure.CLOSED
    finally:
        await stream.close()
