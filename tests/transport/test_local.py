"""Commands on this machine: their end, their bounds and what they leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.transport.local import LocalWire
from console.transport.wire import CHANNELS, LinkState, Use
from tests.rig.ports import free_port
from tests.rig.process import runs
from tests.rig.waiting import auntil


@pytest.fixture
async def wire() -> AsyncIterator[LocalWire]:
    wire = LocalWire(Host("here"))
    yield wire
    await wire.close()


async def test_run_gives_both_outputs_and_the_code(wire: LocalWire) -> None:
    done = await wire.run(["sh", "-c", "cat; echo e >&2; exit 7"], stdin=b"in", deadline_s=5)
    assert (done.code, done.out, done.err) == (7, b"in", b"e\n")


async def test_no_shell_reads_the_arguments(wire: LocalWire) -> None:
    assert (await wire.run(["echo", "$HOME; id"], deadline_s=5)).out == b"$HOME; id\n"


async def test_a_program_that_is_not_there_is_127(wire: LocalWire) -> None:
    done = await wire.run(["no-such-program"], deadline_s=5)
    assert (done.code, done.err) == (127, b"no-such-program: not found\n")


async def test_enter_stands_before_the_command() -> None:
    wire = LocalWire(Host("box", enter=("env", "INSIDE=yes")))
    assert (await wire.run(["sh", "-c", "echo $INSIDE"], deadline_s=5)).out == b"yes\n"


async def test_past_its_deadline_a_command_is_ended_with_its_children(wire: LocalWire) -> None:
    with pytest.raises(WireError) as caught:
        await wire.run(["sh", "-c", "sleep 300 & echo $! > /dev/stderr; wait"], deadline_s=0.2)
    assert (caught.value.kind, caught.value.why) == (Failure.TIMEOUT, "no end within 0.2 s: sh")


async def test_too_much_output_is_refused_at_once(wire: LocalWire) -> None:
    with pytest.raises(WireError) as caught:
        await wire.run(["yes"], deadline_s=5, most_bytes=1000)
    assert caught.value.kind is Failure.TOO_LARGE


async def test_closing_a_stream_ends_its_whole_group(wire: LocalWire) -> None:
    stream = await wire.open(["sh", "-c", "sleep 300 & echo $!; echo err >&2; wait"])
    child = int(await stream.read())
    assert await stream.read_err() == b"err\n"
    assert runs(child)
    await stream.close()
    await auntil(lambda: not runs(child))


async def test_one_that_ignores_the_polite_signal_is_killed(wire: LocalWire) -> None:
    stream = await wire.open(["sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.1; done"])
    pid = int(await stream.read())
    await stream.close()
    assert not runs(pid)


async def test_a_stream_is_closed_while_it_is_read(wire: LocalWire) -> None:
    stream = await wire.open(["cat"])
    reading = asyncio.create_task(stream.read())
    await asyncio.sleep(0)
    await stream.close()
    assert await asyncio.wait_for(reading, 30) == b""


async def test_a_start_cut_short_at_any_step_ends_and_frees_its_channel(
    wire: LocalWire,
) -> None:
    for steps in range(12):
        opening = asyncio.create_task(wire.open(["sh", "-c", "sleep 300 & wait"]))
        for _ in range(steps):
            await asyncio.sleep(0)
        opening.cancel()
        async with asyncio.timeout(5):
            await asyncio.gather(opening, return_exceptions=True)
        if not opening.cancelled():
            await opening.result().close()
    streams = [await wire.open(["cat"]) for _ in range(CHANNELS[Use.TAIL])]
    assert len(streams) == CHANNELS[Use.TAIL]


async def test_a_channel_that_must_wait_waits(wire: LocalWire) -> None:
    streams = [await wire.open(["cat"]) for _ in range(CHANNELS[Use.TAIL])]
    waiting = asyncio.create_task(wire.open(["echo", "mine"]))
    other = await wire.open(["echo", "other"], use=Use.ACT)
    assert await other.read() == b"other\n"
    assert not waiting.done()
    await streams[0].close()
    assert await (await asyncio.wait_for(waiting, 30)).read() == b"mine\n"


async def test_close_ends_everything_and_refuses_more(wire: LocalWire) -> None:
    states: list[LinkState] = []

    async def follow() -> None:
        async for seen in wire.links():
            states.append(seen.state)

    following = asyncio.create_task(follow())
    await auntil(lambda: states)
    stream = await wire.open(["sh", "-c", "echo $$; exec sleep 300"])
    pid = int(await stream.read())
    await wire.close()
    assert not runs(pid)
    await asyncio.wait_for(following, 30)
    assert states == [LinkState.UP, LinkState.CLOSED]
    with pytest.raises(WireError):
        await wire.run(["true"], deadline_s=5)


async def test_a_refused_connection_says_so(wire: LocalWire) -> None:
    with pytest.raises(WireError) as caught:
        await wire.connect("127.0.0.1", free_port())
    assert caught.value.kind is Failure.REFUSED
