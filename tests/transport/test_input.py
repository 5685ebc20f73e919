"""A command that runs is given input bit by bit, on this machine and over both ways of SSH."""

from __future__ import annotations

import pytest

from console.model.failure import Failure, WireError
from console.transport.wire import Stream, Wire

pytestmark = pytest.mark.rig


async def test_each_input_is_answered_before_the_next(any_wire: Wire) -> None:
    stream = await any_wire.open(["sh", "-c", "while read -r line; do echo got $line; done"])
    try:
        for word in (b"one", b"two"):
            await stream.write(word + b"\n")
            assert await stream.read() == b"got " + word + b"\n"
    finally:
        await stream.close()


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
