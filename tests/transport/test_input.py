"""A command that runs is given input bit by bit, on this machine and over SSH."""

from __future__ import annotations

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.transport.wire import Stream
from console.transport.wires import wire_to
from tests.rig.sshd import Sshd

pytestmark = pytest.mark.rig


@pytest.fixture(params=["local", "ssh"])
def host(request: pytest.FixtureRequest) -> Host:
    if request.param == "local":
        return Host("here")
    sshd: Sshd = request.getfixturevalue("sshd")
    return Host("box", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config))


async def test_each_input_is_answered_before_the_next(host: Host) -> None:
    wire = wire_to(host, SystemClock(), Pace(), Nobody())
    stream = await wire.open(["sh", "-c", "while read -r line; do echo got $line; done"])
    try:
        for word in (b"one", b"two"):
            await stream.write(word + b"\n")
            assert await stream.read() == b"got " + word + b"\n"
    finally:
        await stream.close()
        await wire.close()


async def filled(stream: Stream) -> None:
    """Write until it takes no more."""
    for _ in range(1000):
        await stream.write(b"x" * 65536)


async def test_a_command_that_ended_takes_no_input(host: Host) -> None:
    wire = wire_to(host, SystemClock(), Pace(), Nobody())
    stream = await wire.open(["true"])
    try:
        assert await stream.read() == b""
        with pytest.raises(WireError) as caught:
            await filled(stream)
        assert caught.value.kind is Failure.CLOSED
    finally:
        await stream.close()
        await wire.close()
