"""What one server's polls add up to: figures, signs of tokens, resets, oddities said once.

Owns the memory from one poll to the next. Asks nobody; a figure that is not exported is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from console.engines.answers import Loads
from console.engines.growth import acceptance, cache_hit, latency, live_tok_s, was_reset
from console.engines.metrics import Metrics, Worker
from console.model.clock import US_PER_S
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.events import Event
from console.stream.fact import Figures
from console.stream.server_events import MetricSeen, TokenSeen
from console.stream.session_events import Noticed

_COUNTERS = ("decode_tokens_total", "prefill_tokens_total", "prompt_tokens_total")
_QUANTILES = (
    ("ttft_p50_s", "ttft", 0.5),
    ("ttft_p95_s", "ttft", 0.95),
    ("itl_p50_s", "itl", 0.5),
    ("itl_p95_s", "itl", 0.95),
)
_LOADS = ("running", "queued", "token_usage", "gen_tok_s", "cache_hit", "accept_len")


@dataclass(frozen=True, slots=True)
class Reading:
    """One poll, read: counters of /metrics, work in hand, and when it was."""

    at_us: int
    source: str
    worker: Worker | None
    loads: Loads | None

    def get(self, name: str) -> float | None:
        """A figure by canonical name, from whichever answer has it."""
        value = self.worker.get(name) if self.worker is not None else None
        if value is None and self.loads is not None and name in (*_LOADS, "accept_rate"):
            found: float | None = getattr(self.loads, name)
            return found
        return value

    @property
    def made(self) -> tuple[float, ...]:
        """Every count of tokens, to see whether one moved; empty where none is exported."""
        found = [self.worker.get(name) for name in _COUNTERS] if self.worker is not None else []
        if self.loads is not None and self.loads.decoded is not None:
            found.append(float(self.loads.decoded))
        return tuple(value for value in found if value is not None)


class Polls:
    """Feed the polls of one process in order.

    Args:
        names: the servers that are listed where it answers.
        said: oddities told before, kept over restarts.
    """

    def __init__(self, names: Sequence[str], said: set[str], masks: Masks) -> None:
        self._names = [clean(name, masks) for name in names]
        self._said = said
        self._masks = masks
        self._before: Reading | None = None
        self._shaped: Worker | None = None
        self._slow: dict[str, float] = {}
        self._busy_us: int | None = None
        self._quiet_us: int | None = None

    def notice(self, kind: str, text: str) -> Iterator[Event]:
        """Say something once."""
        if kind not in self._said:
            self._said.add(kind)
            yield Noticed(self._names[0], Clean("warning"), clean(text, self._masks))

    def odd(self, metrics: Metrics) -> Iterator[Event]:
        """What was wrong with an exposition, each kind once."""
        for oddity in metrics.notices:
            yield from self.notice(oddity.kind, oddity.text)
        if len(metrics.workers) > 1:
            text = f"{len(metrics.workers)} servers answer behind a router; figures are their sums"
            yield from self.notice("router", text)

    def restarted(self, now: Reading) -> bool:
        """Whether a counter went down: another process answers than at the last poll."""
        before = self._before
        if before is None or before.worker is None or now.worker is None:
            return False
        return was_reset(before.worker, now.worker)

    def take(self, now: Reading) -> Iterator[Event]:
        """What one poll shows."""
        before, self._before = self._before, now
        self._work(before, now)
        self._latencies(now)
        source, figures = clean(now.source, self._masks), self._figures(before, now)
        for name in self._names:
            yield MetricSeen(name, source, figures)
            if before is not None and _moved(before, now):
                yield TokenSeen(name, source, _rate(before, now), _accept_len(before, now))

    def _work(self, before: Reading | None, now: Reading) -> None:
        """Since when requests run, and since when no token was counted while they did."""
        running = now.get("running")
        if not running:
            self._busy_us = self._quiet_us = None
            return
        if self._busy_us is None:
            self._busy_us = now.at_us
        if self._quiet_us is None or before is None or before.made != now.made:
            self._quiet_us = now.at_us

    def _latencies(self, now: Reading) -> None:
        """Quantiles over what ended since histograms were last read; kept until more ends."""
        if now.worker is None or not now.worker.histograms:
            return
        for figure, kind, q in _QUANTILES:
            shape = latency(self._shaped, now.worker, kind)
            value = shape.quantile_s(q) if shape is not None else None
            if value is not None:
                self._slow[figure] = value
        self._shaped = now.worker

    def _figures(self, before: Reading | None, now: Reading) -> Figures:
        found: dict[str, float] = {}
        if now.worker is not None:
            found |= {k: v for k, v in now.worker.figures.items() if "startup" not in k}
        for name in _LOADS:
            value = now.get(name)
            if value is not None:
                found[name] = value
        if before is not None and before.worker is not None and now.worker is not None:
            hit = cache_hit(before.worker, now.worker)
            if hit is not None:
                found["cache_hit"] = hit
        found |= self._slow
        if self._busy_us is not None:
            found["busy_s"] = (now.at_us - self._busy_us) / US_PER_S
        if self._quiet_us is not None and now.made:
            found["quiet_s"] = (now.at_us - self._quiet_us) / US_PER_S
        return tuple((Clean(name), _short(value)) for name, value in found.items())


def _short(value: float) -> float:
    """Whole numbers as they are, others to eight digits: what comes after is no measurement."""
    return value if not isfinite(value) or value == int(value) else float(f"{value:.8g}")


def _moved(before: Reading, now: Reading) -> bool:
    """Whether tokens were decoded in between."""
    return bool(_grew(_decoded(before), _decoded(now)) or _grew(_held(before), _held(now)))


def _decoded(reading: Reading) -> float | None:
    return reading.worker.get("decode_tokens_total") if reading.worker is not None else None


def _held(reading: Reading) -> int | None:
    return reading.loads.decoded if reading.loads is not None else None


def _grew(before: float | None, now: float | None) -> float | None:
    return now - before if before is not None and now is not None and now > before else None


def _rate(before: Reading, now: Reading) -> float | None:
    """Tokens a second; None where part of the time between was idle, as it would read too low."""
    seconds = (now.at_us - before.at_us) / US_PER_S
    held = _grew(_held(before), _held(now))
    if held and seconds > 0:
        return held / seconds
    if before.worker is None or now.worker is None:
        return None
    rate = live_tok_s(before.worker, now.worker, seconds)
    own_clock = now.worker.get("decode_seconds_total") is not None
    if rate is None or not (own_clock or (before.get("running") and now.get("running"))):
        return None
    return rate.tok_s if rate.tok_s > 0 else None


def _accept_len(before: Reading, now: Reading) -> float | None:
    if before.worker is not None and now.worker is not None:
        found = acceptance(before.worker, now.worker)
        if found is not None:
            return found.accept_len
    return now.get("accept_len") or None


def merged(metrics: Metrics) -> Worker | None:
    """One server's figures; behind a router sums of what can be summed."""
    if len(metrics.workers) <= 1:
        return metrics.only
    names = ("running", "queued", *_COUNTERS)
    sums: Mapping[str, float] = {
        name: sum(found)
        for name in names
        if (found := [v for w in metrics.workers if (v := w.get(name)) is not None])
    }
    return Worker("", sums)
