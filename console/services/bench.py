"""A benchmark of one server: circumstances, warm-ups, runs, and what they add up to, as events.

Owns the order of things and what makes a benchmark valid. Times come from the worker alone, tokens
from the server alone; whoever runs this pauses the console's own polling meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from console.bench.answer import Refused
from console.bench.metrics import Figures
from console.bench.plan import Plan
from console.bench.promptset import Prompt, fresh
from console.bench.protocol import warm
from console.bench.stats import log_interval
from console.model.fleet import Arm
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.services.bench_load import GpuLoad
from console.services.bench_run import Live, Requests, Timed
from console.services.bench_taken import Taking
from console.services.timing import Place, Worker
from console.stream.events import Event
from console.stream.fact import NOTHING
from console.stream.fact import Figures as Pairs
from console.stream.measured import fingerprint, run_measured
from console.stream.run_events import BenchFinished, BenchStarted, RunMeasured
from console.stream.server_events import TokenSeen
from console.transport.wire import Wire

MOST_RUNS = 100


@dataclass(slots=True)
class Benching:
    """One benchmark under way; `timed_on` leads to the worker's host."""

    bench: Clean
    arm: Arm
    plan: Plan
    requests: Requests
    timed_on: Wire
    place: Place
    masks: Masks
    load: GpuLoad
    taking: Taking
    _worker: Worker | None = None
    _run: int = 0
    _turns: int = 0
    _warm: list[float] = field(default_factory=list)
    _good: list[Figures] = field(default_factory=list)
    _flaws: list[str] = field(default_factory=list)

    async def begin(self) -> AsyncIterator[Event]:
        """Start the worker, take the circumstances, warm up.

        Raises:
            WireError: the worker does not start, or the link was lost.
        """
        self._worker = await Worker.start(self.timed_on, self.place)
        python = self._worker.ready.python
        for event in await self.taking.at_start(self.plan, self.place, python):
            yield event
        while not self._is_warm() and not self._flaws:
            async for event in self._one(self.plan.chosen[0], warm_up=True):
                yield event

    @property
    def server(self) -> Clean:
        """Its name."""
        return clean(self.requests.server.name, self.masks)

    def is_short(self) -> bool:
        """Whether turns of the plan are still due."""
        return self._is_warm() and self._turns < self.plan.protocol.runs

    def may_add(self) -> bool:
        """Whether one turn more than planned is possible."""
        return self._is_warm() and bool(self.plan.within) and self._turns < MOST_RUNS

    def rates(self) -> list[float]:
        """Decode tok/s of the runs that count so far."""
        return [figures.decode_tok_s for figures in self._good]

    def _is_warm(self) -> bool:
        return warm(self._warm, self.plan.protocol.warmups)

    async def turn(self) -> AsyncIterator[Event]:
        """One run of each prompt; raises as `begin`."""
        self._turns += 1
        for prompt in self.plan.chosen:
            async for event in self._one(prompt, warm_up=False):
                yield event

    async def close(self) -> None:
        """Let go of the worker."""
        if self._worker is not None:
            await self._worker.close()

    def finished(self, why: str) -> BenchFinished:
        """The end; `why` it came early, or "". Valid only when every planned run counts."""
        told = [why] if why else []
        told += dict.fromkeys(self._flaws)
        if len(self._good) < self.plan.wanted:
            told.append(f"{len(self._good)} of {self.plan.wanted} runs count")
        text = clean("; ".join(told), self.masks) if told else NOTHING
        return BenchFinished(self.bench, not told, text, self._sum())

    async def _one(self, prompt: Prompt, *, warm_up: bool) -> AsyncIterator[Event]:
        assert self._worker is not None
        self._run += 1
        name = self.server
        self.load.begin()
        asked = fresh(prompt, f"warm-up {self._run}" if warm_up else f"note {self._turns}")
        async for told in self.requests.run(self._worker, f"{self.bench}-{self._run}", asked):
            match told:
                case Live(tok_s):
                    yield TokenSeen(name, Clean("bench"), tok_s)
                case Timed(figures):
                    void = self.load.end()
                    changed = () if warm_up else await self.taking.changed()
                    for event in self.taking.events((*changed, *self.taking.loaded(self.load))):
                        yield event
                    yield self._take(told, prompt, (*void, *map(_moved, changed)), warm_up)
                    if isinstance(figures, Figures):
                        accepted = figures.acceptance
                        length = accepted.length if accepted is not None else None
                        yield TokenSeen(name, Clean("bench"), figures.decode_tok_s, length)

    def _take(
        self, timed: Timed, prompt: Prompt, besides: tuple[str, ...], warm_up: bool
    ) -> RunMeasured:
        """The run as an event, and what it means for the whole."""
        void = (*timed.void, *besides)
        found = timed.figures
        if isinstance(found, Figures):
            found = replace(found, notes=(*found.notes, *timed.notes))
        event = run_measured(self.bench, self._run, found, self.masks, void=void)
        if event.void and (not warm_up or isinstance(found, Refused)):
            self._flaws.append(event.void)
        elif isinstance(found, Figures) and warm_up:
            self._warm.append(found.decode_tok_s)
        elif isinstance(found, Figures):
            self._good.append(found)
        return replace(
            event,
            warm_up=warm_up,
            turn=0 if warm_up else self._turns,
            prompt=clean(prompt.name, self.masks),
            fingerprint=Clean(fingerprint(timed.text)),
        )

    def started(self) -> BenchStarted:
        """The beginning."""
        plan = self.plan
        told = {
            "tokens": str(plan.sampling.max_tokens),
            "runs": str(plan.wanted),
            "launches": str(plan.protocol.launches),
            "prompts": plan.prompts.name,
            "depth": plan.depth,
            "depth_tokens": str(plan.depth_tokens),
            "streams": "1",
            "temperature": f"{plan.sampling.temperature:g}",
            "within": f"{plan.within:g}",
        }
        return BenchStarted(
            self.bench,
            self.server,
            self.arm,
            plan.launch,
            clean(plan.name, self.masks),
            tuple((Clean(key), clean(value, self.masks)) for key, value in told.items()),
            clean(self.place.text, self.masks),
        )

    def _sum(self) -> Pairs:
        """What the valid runs add up to."""
        good, rates = self._good, self.rates()
        if not good:
            return ()
        found: list[tuple[str, float]] = [("runs", float(len(good)))]
        if len(rates) > 1:
            mean = log_interval(rates)
            found += [("decode_tok_s", mean.mid), ("low", mean.low), ("high", mean.high)]
        else:
            found.append(("decode_tok_s", rates[0]))
        found.append(("ttft_us", sum(f.ttft_ms for f in good) / len(good) * 1e3))
        lengths = [f.acceptance.length for f in good if f.acceptance is not None]
        if lengths:
            found.append(("accept_len", sum(lengths) / len(lengths)))
        return tuple((Clean(name), value) for name, value in found)


def _moved(group: str) -> str:
    return f"{group} changed during the benchmark"
