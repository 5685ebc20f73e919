"""A whole fleet watched: every event in the timeline, each server and log by its handle."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure
from console.model.fleet import Arm, Fleet, Host, LogId, LogSource, Server, Slot
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.model.text import Clean
from console.services.live import Watch, watch_fleet
from console.stream.fact import Link
from console.stream.host_events import GpusJoined
from console.stream.logs import lines
from console.stream.timeline import Timeline
from tests.rig import http as rig
from tests.rig.http import Answer, ScriptedHttp
from tests.rig.llama import LlamaServer
from tests.rig.ports import free_port
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil

pytestmark = pytest.mark.rig

PACE = Pace().scaled(20)


def fleet_of(host: Host, url: str, log: Path | None, **server: str) -> Fleet:
    return Fleet(
        "test",
        (host,),
        (Slot("slot", host.name, port=8000),),
        (
            Server(
                "base",
                "slot",
                Arm.BASELINE,
                url,
                log=None if log is None else LogSource(path=str(log)),
                **server,  # type: ignore[arg-type]
            ),
        ),
    )


@asynccontextmanager
async def watching(
    fleet: Fleet, *, on_demand: bool = False, masks: Masks | None = None
) -> AsyncIterator[tuple[Watch, Timeline]]:
    clock = SystemClock()
    timeline = Timeline(clock)
    async with watch_fleet(
        fleet, timeline, clock, PACE, masks or Masks(), Nobody(), on_demand=on_demand
    ) as watch:
        yield watch, timeline


async def test_a_real_server_over_ssh_ends_in_state(
    sshd: Sshd, llama_server: Callable[..., LlamaServer]
) -> None:
    server = llama_server()
    host = Host("box", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config))
    async with watching(fleet_of(host, server.url, server.log)) as (_, timeline):

        def base_code() -> int | None:
            seen = timeline.state.servers["base"].health
            return seen.code if seen else None

        await auntil(lambda: base_code() == 200, 30)
        assert timeline.state.servers["base"].listed is not None
        link = timeline.state.hosts["box"].link
        assert link is not None
        assert (link.link, link.failure) == (Link.UP, None)

        def held() -> list[Clean]:
            mark = timeline.state.logs["base"].mark
            return lines(timeline.logs, LogId("base"), mark.first, mark.end)

        await auntil(lambda: any("http" in line.lower() for line in held()))
        assert "".join(held()) in server.log.read_text().replace("\n", "")
        server.kill()
        await auntil(lambda: base_code() is None)


async def test_an_unknown_host_key_is_in_the_link_with_fingerprints(sshd: Sshd) -> None:
    sshd.forget_host()
    host = Host("box", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config))
    async with watching(fleet_of(host, "http://127.0.0.1:1", None)) as (_, timeline):

        def failure() -> Failure | None:
            link = timeline.state.hosts["box"].link
            return link.failure if link else None

        await auntil(failure)
        link = timeline.state.hosts["box"].link
        assert link is not None
        assert (link.link, link.failure) == (Link.REFUSED, Failure.KEY_UNKNOWN)
        assert sshd.fingerprint in link.detail[0]
        await auntil(lambda: timeline.state.servers["base"].health)
        health = timeline.state.servers["base"].health
        assert health is not None
        assert health.failure is Failure.KEY_UNKNOWN


async def test_on_demand_nothing_runs_until_asked(
    scripted_http: ScriptedHttp, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\nthree\n")
    fleet = fleet_of(Host("here"), scripted_http.url, log)
    async with watching(fleet, on_demand=True) as (watch, timeline):
        seen = await watch.ask_health("base")
        assert (seen.code, len(scripted_http.requests)) == (200, 1)
        assert timeline.state.servers["base"].health is not None
        assert "base" not in timeline.state.logs
        assert watch.follow_log("base", last_lines=2) == "base"
        assert watch.follow_log("base") == "base"
        await auntil(lambda: "base" in timeline.state.logs)
        await auntil(lambda: timeline.state.logs["base"].mark.end == 3)
        await watch.stop_log("base")
        watch.follow_log("base", last_lines=1)
        await auntil(lambda: timeline.state.logs["base"].mark.end == 6)
        assert lines(timeline.logs, LogId("base"), 0, 9) == [
            "begins here: 4 bytes before were not read",
            "two",
            "three",
            "followed anew: its last lines may stand here twice",
            "begins here: 8 bytes before were not read",
            "three",
        ]


async def test_asking_now_uses_the_poll_that_runs(scripted_http: ScriptedHttp) -> None:
    fleet = fleet_of(Host("here"), scripted_http.url, None)
    async with watching(fleet) as (watch, timeline):
        await auntil(lambda: timeline.state.servers["base"].health)
        scripted_http.default = rig.BROKEN
        assert (await watch.ask_health("base")).code == 500
        assert scripted_http.max_in_flight == 1
        await watch.stop_health("base")
        scripted_http.default = rig.OK
        assert (await watch.ask_health("base", "/health_generate")).path == "/health_generate"


async def test_a_token_on_demand_is_asked_alone_and_never_during_a_timed_run(
    scripted_http: ScriptedHttp,
) -> None:
    scripted_http.default = Answer(404, b"{}")
    scripted_http.paths = {
        "/health": rig.OK,
        "/v1/models": Answer(200, b'{"data":[{"id":"m","owned_by":"vllm"}]}'),
        "/version": Answer(200, b'{"version":"0.30.1"}'),
        "/metrics": Answer(200, b"vllm:num_requests_running 0\n", "text/plain"),
        "/v1/completions": Answer(200, b'{"choices":[{"text":"x"}]}'),
    }
    fleet = fleet_of(Host("here"), scripted_http.url, None)
    async with watching(fleet) as (watch, timeline):
        await auntil(lambda: timeline.state.servers["base"].metric)
        probed = await watch.asking.ask_token("base")
        assert (probed.path, probed.why) == ("/v1/completions", "")
        token = timeline.state.servers["base"].token
        assert token is not None
        assert token.source == "probe of /v1/completions"
        assert scripted_http.max_in_flight == 1
        scripted_http.paths["/v1/completions"] = rig.UNAUTHORIZED
        assert (await watch.asking.ask_token("base")).why == (
            "/v1/completions needs the API key (401): name it as api_key_env or api_key_file in"
            " the fleet"
        )
        await watch.pause("base")
        asked = len(scripted_http.requests)
        assert (await watch.asking.ask_token("base")).why.startswith("a timed run is on its way")
        assert len(scripted_http.requests) == asked
        watch.resume("base")
        scripted_http.paths.clear()
        assert "no known engine" in (await watch.asking.ask_token("base")).why


async def test_the_topology_on_demand(
    scripted_http: ScriptedHttp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    matrix = "\\tGPU0\\tGPU1\\nGPU0\\tX\\t{word}\\nGPU1\\t{word}\\tX\\n"
    links, peers = matrix.format(word="PIX"), matrix.format(word="OK")
    tool.write_text(
        f"#!/bin/sh\ncase \"$2\" in -m) printf '{links}' ;; *) printf '{peers}' ;; esac\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    fleet = fleet_of(Host("here"), scripted_http.url, None)
    async with watching(fleet, on_demand=True) as (watch, timeline):
        found = await watch.asking.read_topology("base")
        assert isinstance(found, GpusJoined)
        assert (found.links, found.peers) == ((("0-1", "PIX"),), (("0-1", "OK"),))
        assert timeline.state.hosts["here"].joined is not None
        tool.write_text("#!/bin/sh\nexit 127\n")
        assert await watch.asking.read_topology("base") == "this host has no nvidia-smi"
        tool.write_text("#!/bin/sh\necho No devices were found\n")
        assert await watch.asking.read_topology("base") == "nvidia-smi finds no GPU"
        tool.write_text("#!/bin/sh\nprintf '\\tGPU0\\nGPU0\\tX\\n'\n")
        assert await watch.asking.read_topology("base") == "there is one GPU: it is joined to none"


async def test_a_server_without_a_log_has_none_to_follow(scripted_http: ScriptedHttp) -> None:
    fleet = fleet_of(Host("here"), scripted_http.url, None)
    async with watching(fleet) as (watch, _):
        assert watch.follow_log("base") is None


async def test_the_key_is_sent_and_masked(
    scripted_http: ScriptedHttp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "correct-horse-battery")
    log = tmp_path / "log"
    log.write_text("bare correct-horse-battery here\n")
    fleet = fleet_of(Host("here"), scripted_http.url, log, api_key_env="THE_KEY")
    async with watching(fleet) as (_, timeline):
        await auntil(lambda: scripted_http.requests)
        assert scripted_http.requests[0].headers["authorization"] == "Bearer correct-horse-battery"
        await auntil(lambda: timeline.state.logs["base"].mark.end)
        assert lines(timeline.logs, LogId("base"), 0, 1) == ["bare <masked> here"]


async def test_a_key_that_cannot_be_had_is_noticed(
    scripted_http: ScriptedHttp, tmp_path: Path
) -> None:
    fleet = fleet_of(
        Host("here"), scripted_http.url, None, api_key_file=str(tmp_path / "no-such-key")
    )
    async with watching(fleet) as (_, timeline):
        await auntil(lambda: timeline.state.servers["base"].health)
        notice = timeline.state.session.notices[0]
        assert (notice.subject, notice.severity) == ("base", "warning")
        assert "no-such-key" in notice.text


async def test_a_defect_in_one_service_stops_no_other(
    scripted_http: ScriptedHttp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    log.write_text("one\n")

    def ask(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    from console.services import health

    whole = health.ask_once
    monkeypatch.setattr(health, "ask_once", ask)
    fleet = fleet_of(Host("here"), scripted_http.url, log)
    async with watching(fleet) as (_, timeline):
        await auntil(lambda: timeline.state.session.notices)
        notice = timeline.state.session.notices[0]
        assert notice.text == "health base: stopped by a defect: ZeroDivisionError('a defect')"
        await auntil(lambda: timeline.state.logs["base"].mark.end == 1)
        monkeypatch.setattr(health, "ask_once", whole)
        await auntil(lambda: timeline.state.servers["base"].health)


async def test_fifty_hosts_one_of_them_dead(sshd: Sshd, scripted_http: ScriptedHttp) -> None:
    dead = Host("dead", Way.ASYNCSSH, "dead", str(sshd.ssh_config))
    with sshd.ssh_config.open("a") as config:
        config.write(sshd.client_block("dead").replace(str(sshd.port), str(free_port())))
    hosts = (dead, *(Host(f"h{n}") for n in range(49)))
    fleet = Fleet(
        "many",
        hosts,
        tuple(Slot(f"s-{host.name}", host.name) for host in hosts),
        tuple(
            Server(f"on-{host.name}", f"s-{host.name}", Arm.BASELINE, scripted_http.url)
            for host in hosts
        ),
    )
    async with watching(fleet) as (_, timeline):

        def codes() -> list[int | None]:
            found = [server.health for server in timeline.state.servers.values()]
            return [seen.code for seen in found if seen is not None]

        await auntil(lambda: codes().count(200) == 49 and codes().count(None) == 1, 10)
        dead_link = timeline.state.hosts["dead"].link
        assert dead_link is not None
        assert dead_link.link is not Link.UP
