"""Health of a real server as it starts, serves and dies, here and through a real sshd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import ManualClock, Pace, SystemClock
from console.model.failure import Failure
from console.model.fleet import Arm, Host, Server
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.services.health import ask_once, health
from console.stream.server_events import HealthSeen
from console.transport.http import Http
from console.transport.local import LocalWire
from console.transport.ssh import SshWire
from console.transport.wire import Wire
from tests.rig import http as rig
from tests.rig.http import ScriptedHttp
from tests.rig.llama import LlamaServer
from tests.rig.ports import free_port
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil

pytestmark = pytest.mark.rig

FAST = Pace(health_starting_s=0.01, health_up_s=0.02, health_deadline_s=5.0)


@pytest.fixture(params=["local", "ssh"])
async def wire(request: pytest.FixtureRequest, sshd: Sshd) -> AsyncIterator[Wire]:
    wire: Wire
    if request.param == "local":
        wire = LocalWire(Host("here"))
    else:
        host = Host("box", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config))
        wire = SshWire(host, SystemClock(), Pace().scaled(20), Nobody())
    yield wire
    await wire.close()


@asynccontextmanager
async def asking(
    wire: Wire, url: str, pace: Pace = FAST, asked: asyncio.Event | None = None
) -> AsyncIterator[list[HealthSeen]]:
    """The answers so far, while asking goes on."""
    http = Http(wire, SystemClock())
    seen: list[HealthSeen] = []

    async def collect() -> None:
        events = health(
            server_at(url), http, SystemClock(), pace, Masks(), asked or asyncio.Event()
        )
        async with aclosing(events):
            async for event in events:
                seen.append(event)

    task = asyncio.create_task(collect())
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await http.close()


def server_at(url: str) -> Server:
    return Server("base", "slot", Arm.BASELINE, url)


def story(seen: list[HealthSeen]) -> list[int | Failure | None]:
    """Codes and failures in order, each once where it repeats."""
    found = [event.failure if event.code is None else event.code for event in seen]
    return [one for place, one in enumerate(found) if place == 0 or found[place - 1] != one]


async def test_a_real_server_from_refused_over_503_to_200_and_killed(
    wire: Wire, llama_server: Callable[..., LlamaServer], llama_slow_folder: Path
) -> None:
    port = free_port()
    async with asking(wire, f"http://127.0.0.1:{port}") as seen:
        await auntil(lambda: len(seen) >= 2)
        server = llama_server(folder=llama_slow_folder, port=port)
        await auntil(lambda: seen[-1].code == 200, 30)
        assert story(seen) == [Failure.REFUSED, 503, 200]
        assert seen[0].why == "connection refused"
        server.kill()
        await auntil(lambda: seen[-1].code is None)
        assert seen[-1].failure in (Failure.REFUSED, Failure.CLOSED)
        server.start()
        await auntil(lambda: seen[-1].code == 200, 30)


@pytest.mark.parametrize(
    ("behaviour", "code", "failure", "why"),
    [
        (rig.OK, 200, None, ""),
        (rig.LOADING, 503, None, "answers HTTP, but 503"),
        (rig.BROKEN, 500, None, "answers HTTP, but 500"),
        (
            rig.UNAUTHORIZED,
            401,
            None,
            "/health needs the API key (401): name it as api_key_env or api_key_file in the fleet",
        ),
        (rig.redirect("/x"), 302, None, "redirects with 302 to /x; not followed"),
        (rig.TEN_MEGABYTES, 200, None, "200, body longer than 65,536 bytes"),
        (rig.NoHeaders(), None, Failure.TIMEOUT, "connected, but no answer within 0.5 s"),
        (
            rig.Endless(b"x", 0.01),
            200,
            Failure.TIMEOUT,
            "200, but its body did not end within 0.5 s",
        ),
        (
            rig.SSH_BANNER,
            None,
            Failure.NOT_HTTP,
            'not HTTP: "SSH-2.0-OpenSSH_9.2p1 Debian-2"',
        ),
        (rig.CutBody(), 200, Failure.CLOSED, "200, but closed in the middle of its body"),
        (rig.NOTHING, None, Failure.CLOSED, "closed before it answered"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
async def test_every_bad_day_has_a_word_and_ends_with_its_cause(
    wire: Wire,
    scripted_http: ScriptedHttp,
    behaviour: rig.Behaviour,
    code: int | None,
    failure: Failure | None,
    why: str,
) -> None:
    pace = Pace(health_starting_s=0.01, health_up_s=0.01, health_deadline_s=0.5)
    await wire.up()
    scripted_http.default = behaviour
    async with asking(wire, scripted_http.url, pace) as seen:
        await auntil(lambda: seen)
        assert (seen[0].code, seen[0].failure, seen[0].why) == (code, failure, why)
        scripted_http.default = rig.OK
        await auntil(lambda: (seen[-1].code, seen[-1].failure) == (200, None))


async def test_a_lost_link_is_no_word_about_the_server(sshd: Sshd) -> None:
    host = Host("box", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config))
    wire = SshWire(host, SystemClock(), Pace().scaled(20), Nobody())
    with ScriptedHttp() as server:
        async with asking(wire, server.url) as seen:
            await auntil(lambda: seen and seen[-1].code == 200)
            sshd.kill_sessions()
            await auntil(lambda: any(event.failure for event in seen))
            assert next(e.failure for e in seen if e.failure) is Failure.LINK_LOST
            await auntil(lambda: seen[-1].code == 200, 8)
    await wire.close()


async def test_intervals_follow_the_answers_and_asking_now_cuts_them_short() -> None:
    clock = ManualClock()
    asked = asyncio.Event()
    pace = Pace()
    wire = LocalWire(Host("here"))
    with ScriptedHttp(rig.LOADING) as server:
        http = Http(wire, clock)
        events = health(server_at(server.url), http, clock, pace, Masks(), asked)
        assert (await anext(events)).code == 503
        waiting = asyncio.ensure_future(anext(events))
        await auntil(lambda: clock.next_due_us() == 2_000_000)
        server.default = rig.OK
        clock.advance(2)
        assert (await waiting).code == 200
        waiting = asyncio.ensure_future(anext(events))
        await auntil(lambda: clock.next_due_us() == 32_000_000)
        asked.set()
        assert (await waiting).code == 200
        assert len(server.requests) == 3
        await events.aclose()
        await http.close()
    await wire.close()


async def test_two_requests_are_never_in_flight(scripted_http: ScriptedHttp) -> None:
    scripted_http.default = rig.Chunked(((0.02, b"a"), (0.02, b"b")))
    asked = asyncio.Event()
    wire = LocalWire(Host("here"))
    async with asking(wire, scripted_http.url, FAST, asked) as seen:
        while len(seen) < 5:
            asked.set()
            await asyncio.sleep(0)
    assert scripted_http.max_in_flight == 1
    await wire.close()


async def test_ask_once_takes_another_path(scripted_http: ScriptedHttp) -> None:
    http = Http(LocalWire(Host("here")), SystemClock())
    server = server_at(f"{scripted_http.url}/")
    seen = await ask_once(server, http, FAST, Masks(), "/health_generate")
    assert (seen.path, seen.code, seen.server) == ("/health_generate", 200, "base")
    assert scripted_http.requests[0].path == "/health_generate"
    await http.close()
