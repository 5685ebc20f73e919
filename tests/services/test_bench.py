"""A benchmark of a real server, timed beside it: here, over SSH, and through a connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from console.bench.answer import Answer
from console.bench.job import Sampling
from console.bench.metrics import Figures, measure
from console.bench.plan import Plan
from console.bench.promptset import Prompt, PromptSet
from console.bench.protocol import PROTOCOLS, Level
from console.bench.provenance import Group, Unread
from console.bench.verdict import Word, verdict
from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure, WireError
from console.model.fleet import Arm, Host, Server
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.model.text import Clean
from console.services import timing
from console.services.bench import Benching
from console.services.bench_load import GpuLoad
from console.services.bench_order import measured
from console.services.bench_start import prepared
from console.stream.events import Event
from console.stream.fold import fold_all
from console.stream.measured import circumstances_of, measured_arm
from console.stream.run_events import BenchFinished, BenchStarted, CircumstancesTaken, RunMeasured
from console.stream.server_events import TokenSeen
from console.stream.state import Bench, State
from console.transport.http import Http
from console.transport.wire import Wire
from console.transport.wires import wire_to
from tests.bench import real
from tests.rig.llama import LlamaServer
from tests.rig.ports import free_port
from tests.rig.sshd import Sshd

pytestmark = [pytest.mark.rig, pytest.mark.alone]

TOKENS = 80
PROMPTS = PromptSet("ships", (Prompt("ships-1", "chat", "A lighthouse keeper counts the ships"),))
PLAN = Plan(Level.STORY.value, PROTOCOLS[Level.STORY], PROMPTS, "as is", 0, Sampling(TOKENS))
PACE = replace(Pace(), metrics_s=0.3)


async def no_variables(answers: bool) -> Group:
    """An environment that was read and holds nothing of interest."""
    assert answers
    return Group({})


def host_of(sshd: Sshd | None) -> Host:
    if sshd is None:
        return Host("here")
    return Host("box", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config))


@asynccontextmanager
async def a_bench(
    url: str, host: Host, arm: Arm = Arm.BASELINE, plan: Plan = PLAN
) -> AsyncIterator[Benching]:
    clock = SystemClock()
    wire: Wire = wire_to(host, clock, PACE, Nobody())
    http = Http(wire, clock)
    server = Server("tiny", "slot", arm, url)
    try:
        async with prepared(
            Clean("b1"), server, arm, plan, wire, http, clock, PACE, Masks(),
            lambda: 0, GpuLoad(host.name), no_variables,
        ) as bench:  # fmt: skip
            yield bench
    finally:
        await http.close()
        await wire.close()


async def events_of(bench: Benching) -> list[Event]:
    return [event async for event in measured([bench])]


def folded(events: list[Event]) -> Bench:
    stamped = [replace(event, seq=n, t_us=n * 1000) for n, event in enumerate(events, 1)]
    (bench,) = fold_all(State(), stamped).benches.values()
    return bench


@pytest.fixture(autouse=True)
def favoured_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker runs before other processes of a shared machine, as it would on one of its own."""
    start = timing.Worker.start

    async def favoured(wire: Wire, place: timing.Place) -> timing.Worker:
        worker = await start(wire, place)
        real.favoured(worker.ready.pid)
        return worker

    monkeypatch.setattr(timing.Worker, "start", favoured)


def started(server: LlamaServer) -> LlamaServer:
    server.wait_ready()
    real.favoured(server.pid)
    return server


async def test_draft_on_and_off_end_in_faster(
    sshd: Sshd, llama_server: Callable[..., LlamaServer]
) -> None:
    real.favoured(sshd.pid)
    host = host_of(sshd)
    found: list[Bench] = []
    texts: list[dict[int, str]] = []
    for spec in (False, True):
        server = started(llama_server(spec=spec))
        arm = Arm.SPECULATIVE if spec else Arm.BASELINE
        async with a_bench(server.url, host, arm) as bench:
            events = await events_of(bench)
        server.stop()
        begun, finished = events[0], events[-1]
        assert isinstance(begun, BenchStarted)
        assert isinstance(finished, BenchFinished)
        assert finished.valid, finished.why
        assert begun.worker == "host box, beside the server"
        runs = [event for event in events if isinstance(event, RunMeasured)]
        assert [run.warm_up for run in runs] == [True] + [False] * 5
        assert {run.tokens for run in runs} == {TOKENS}
        assert [run.turn for run in runs] == [0, 1, 2, 3, 4, 5]
        texts.append({run.turn: run.fingerprint for run in runs})
        for told in (dict(run.figures) for run in runs):
            assert told[Clean("cached_tokens")] < told[Clean("prompt_tokens")] / 4
        taken = {event.group for event in events if isinstance(event, CircumstancesTaken)}
        assert taken >= {"args", "env", "gpu", "launch", "host", "request", "client", "versions"}
        assert any(isinstance(e, TokenSeen) and (e.accept_len or 0) > 1.5 for e in events) is spec
        found.append(folded(events))
    assert texts[0] == texts[1]
    plain, drafted = (measured_arm(name, [(found[i], 0)]) for i, name in enumerate(("a", "b")))
    came = verdict(plain, drafted)
    assert came.word is Word.FASTER, came.lines()


async def test_the_decode_rate_is_the_servers_own(
    llama_server: Callable[..., LlamaServer],
) -> None:
    server = started(llama_server())
    apart = []
    async with a_bench(server.url, Host("here")) as bench:
        worker = await timing.Worker.start(bench.timed_on, bench.place)
        try:
            for number in range(5):
                job = bench.requests.job(f"r{number}", PROMPTS.prompts[0])
                (answer,) = [r async for r in worker.work(job) if isinstance(r, Answer)]
                found = measure(answer, TOKENS)
                assert isinstance(found, Figures)
                own = float(str(answer.timings["predicted_per_second"]))
                apart.append(abs(found.decode_tok_s / own - 1))
        finally:
            await worker.close()
    assert sorted(apart)[2] <= 0.01


async def test_a_host_without_python_is_timed_through_the_connection(
    sshd: Sshd, llama_server: Callable[..., LlamaServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "version_argv", lambda: ["no-such-python"])
    # This process carries the bytes: a server that runs before it would send all tokens at once.
    server = llama_server()
    server.wait_ready()
    async with a_bench(server.url, host_of(sshd)) as bench:
        events = await events_of(bench)
    begun, finished = events[0], events[-1]
    assert isinstance(begun, BenchStarted)
    assert isinstance(finished, BenchFinished)
    assert "through the connection to box (it has no python3" in begun.worker
    assert finished.valid, finished.why
    client = circumstances_of(folded(events)).groups["client"]
    assert client.values["place"] == "through this console's connection"


async def test_a_cancel_keeps_what_was_measured(llama_server: Callable[..., LlamaServer]) -> None:
    server = started(llama_server())
    async with a_bench(server.url, Host("here")) as bench:
        runs = 0
        going = measured([bench])
        async for event in going:
            runs += isinstance(event, RunMeasured) and not event.warm_up
            if runs == 1:
                break
        await going.aclose()
        ended = bench.finished("cancelled")
    assert ended.why == "cancelled; 1 of 5 runs count"
    assert dict(ended.figures)[Clean("runs")] == 1.0
    assert not ended.valid


async def test_a_server_that_dies_ends_the_benchmark_with_its_reason(
    llama_server: Callable[..., LlamaServer],
) -> None:
    server = started(llama_server())
    async with a_bench(server.url, Host("here")) as bench:
        events: list[Event] = []
        async for event in measured([bench]):
            events.append(event)
            if isinstance(event, RunMeasured) and event.warm_up:
                server.kill()
    finished = events[-1]
    assert isinstance(finished, BenchFinished)
    assert not finished.valid
    assert "0 of 5 runs count" in finished.why
    assert "unreachable" in finished.why


async def test_nothing_listens(llama_server: Callable[..., LlamaServer]) -> None:
    del llama_server
    with pytest.raises(WireError) as caught:
        async with a_bench(f"http://127.0.0.1:{free_port()}", Host("here")):
            pass
    assert caught.value.kind is Failure.REFUSED


async def test_a_process_that_is_not_there_is_unread_not_empty() -> None:
    from console.services.circumstances import look_at_host

    clock = SystemClock()
    wire = wire_to(Host("here"), clock, PACE, Nobody())
    server = Server("gone", "slot", Arm.BASELINE, f"http://127.0.0.1:{free_port()}")
    groups = await look_at_host(server, wire, 20.0, "now")
    await wire.close()
    assert groups["launch"].unread == "no process found that listens on the server's port"
    assert groups["gpu"].values or groups["gpu"].unread
    assert not isinstance(groups["host"].values["boot_id"], Unread)
