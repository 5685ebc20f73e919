"""Many hosts over a real sshd: a slow one, a dead one and one that dies hold up none of the others.

How long it takes beside them is in `make bench`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.services.live import watch_fleet
from console.stream.fact import Link
from console.stream.server_events import HealthSeen
from console.stream.state import Item, State
from console.stream.timeline import Timeline
from tests.rig.http import ScriptedHttp
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil
from tests.services.many_hosts import config_of, fleet_of

pytestmark = pytest.mark.rig

SLOW_MS = 150
# A dead host's handshake is given up long after the last of the others has answered.
PACE = replace(Pace().scaled(10), connect_deadline_s=120.0, keepalive_s=1.0, health_up_s=1.0)


@pytest.mark.parametrize(("way", "count"), [(Way.ASYNCSSH, 50), (Way.OPENSSH, 8)])
async def test_a_slow_a_dead_and_a_dying_host_hold_up_none_of_the_others(
    sshd: Sshd, scripted_http: ScriptedHttp, way: Way, count: int
) -> None:
    good = [f"host{number}" for number in range(count - 3)]
    with (
        TcpProxy(sshd.port, delay_ms=SLOW_MS) as slow,
        TcpProxy(sshd.port) as dead,
        TcpProxy(sshd.port) as dying,
    ):
        dead.silence()
        spoilt = {"slow": slow.port, "dead": dead.port, "dying": dying.port}
        ports = spoilt | dict.fromkeys(good, sshd.port)
        fleet = fleet_of([*ports], config_of(sshd, ports), scripted_http.url, way)
        clock = SystemClock()
        timeline = Timeline(clock)
        answers: dict[str, int] = {}

        def take(item: Item, _state: State) -> None:
            if isinstance(item, HealthSeen) and item.code == 200:
                answers[item.server] = answers.get(item.server, 0) + 1

        timeline.subscribe(take)

        def all_have(names: Sequence[str], more: int) -> bool:
            return all(answers.get(name, 0) >= more for name in names)

        def link(name: str) -> Link | None:
            seen = timeline.state.hosts[name].link
            return seen.link if seen else None

        async with watch_fleet(fleet, timeline, clock, PACE, Masks(), Nobody(), on_demand=True) as (
            watch
        ):
            for server in fleet.servers:
                watch.follow_health(server.name)
            await auntil(lambda: all_have([*good, "slow", "dying"], 1), 100, "every first answer")
            assert link("dead") is Link.CONNECTING
            assert "dead" not in answers

            dying.silence()
            before = dict(answers)
            await auntil(lambda: link("dying") is Link.LOST, 100, "the dying one is lost")
            await auntil(
                lambda: all(answers[name] > before[name] for name in [*good, "slow"]),
                100,
                "more answers of all others",
            )
            assert {link(name) for name in [*good, "slow"]} == {Link.UP}
