"""A real llama.cpp from refused over loading to tokens and back, by the watch rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Arm, Engine, Fleet, Host, LogSource, Server, Slot
from console.model.mask import Masks
from console.services.live import watch_fleet
from console.stream.fact import Standing
from console.stream.server_events import LoadEnded, StandingChanged
from console.stream.state import Item, State
from console.stream.timeline import Timeline, pair_clock
from console.stream.watch import rules
from console.transport.http import Http
from console.transport.local import LocalWire
from tests.rig.llama import LlamaServer
from tests.rig.ports import free_port
from tests.rig.waiting import auntil

pytestmark = pytest.mark.rig

PACE = Pace(
    health_starting_s=0.02,
    health_up_s=0.2,
    metrics_s=0.05,
    watch_s=0.02,
    fresh_s=0.5,
    tail_look_s=0.05,
)


async def test_a_real_server_stands_as_it_is(
    llama_server: Callable[..., LlamaServer], llama_slow_folder: Path
) -> None:
    port = free_port()
    server = llama_server(folder=llama_slow_folder, port=port)
    server.kill()
    server.log.write_text("")
    fleet = Fleet(
        "real",
        (Host("here"),),
        (Slot("slot", "here", port=port),),
        (Server("base", "slot", Arm.BASELINE, server.url, log=LogSource(path=str(server.log))),),
    )
    clock = SystemClock()
    timeline = Timeline(clock, rules(PACE))
    standings: list[tuple[Standing, str]] = []
    ends: list[LoadEnded] = []

    def take(item: Item, _: State) -> None:
        if isinstance(item, StandingChanged):
            standings.append((item.standing, item.why))
        elif isinstance(item, LoadEnded):
            ends.append(item)

    timeline.subscribe(take)

    def last() -> Standing | None:
        return standings[-1][0] if standings else None

    async with watch_fleet(fleet, timeline, clock, PACE, Masks(), Nobody()):
        ticking = asyncio.create_task(pair_clock(timeline, clock, PACE))
        await auntil(lambda: last() is Standing.DOWN)
        server.start()
        await auntil(lambda: last() is Standing.IDLE, 30)
        seen = list(dict.fromkeys(standing for standing, _ in standings))
        assert seen[:2] == [Standing.DOWN, Standing.STARTING]
        assert seen[-2:] == [Standing.GENERATING, Standing.IDLE]
        token = timeline.state.servers["base"].token
        assert token is not None
        assert token.source == "probe of /v1/completions"
        engine = timeline.state.servers["base"].engine
        assert engine is not None
        assert engine.engine is Engine.LLAMACPP
        arm = timeline.state.servers["base"].arm
        assert arm is not None
        assert arm.arm is Arm.BASELINE
        await auntil(lambda: ends)
        assert [end.ready for end in ends] == [True]

        http = Http(LocalWire(Host("here")), clock)
        body = json.dumps({"prompt": "one two three", "n_predict": 60}).encode()
        answer = await http.post(server.url + "/completion", body, deadline_s=30)
        await http.close()
        assert answer.code == 200
        await auntil(lambda: last() is Standing.GENERATING)
        await auntil(lambda: last() is Standing.IDLE)
        server.kill()
        await auntil(lambda: last() is Standing.DOWN)
        assert standings[-1][1].startswith("connection refused")
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
