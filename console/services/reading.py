"""Reading a server's own log as its lines come: loads, failures, tokens, what runs.

Owns what must be remembered from line to line, and what becomes of lines that were there before
the console came: they explain, but never count as happening now. Reads no file and asks nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from console.engines.eta import eta, waiting_for
from console.engines.facts import ArgsSeen as ArgsFact
from console.engines.facts import DecodeSeen, ExitSeen, FailureSeen, NoteSeen, VersionSeen
from console.engines.failures import marker_of, summary
from console.engines.grammar import parse_line
from console.engines.incident import Incident, grow
from console.engines.line import Line
from console.engines.load import Load, advance
from console.engines.records import Placed, Records
from console.model.clock import US_PER_S, Clock, Pace
from console.model.fleet import Engine
from console.model.fleet import Server as Entry
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.services.arguments import args_seen, arm_seen, model_of
from console.services.serving import Serving
from console.services.tail import LogSeen
from console.services.tokens import Tokens
from console.stream.events import Event
from console.stream.fact import NOTHING, FeedState, GapKind
from console.stream.loads import earlier_loads
from console.stream.server_events import (
    EngineSeen,
    LoadAdvanced,
    LoadEnded,
    LogAdvanced,
    LogFeedChanged,
    LogGap,
    TokenSeen,
)
from console.stream.session_events import Noticed
from console.stream.state import Server
from console.stream.timeline import Timeline

_AGAIN_US = 60 * US_PER_S
_MOST_SHOWN = 400


class Reading:
    """One server's log on its way into events; feed it what the tail says, in order.

    `doubt` is called when lines say that health is not what it was: ready, stopping, failed.
    """

    def __init__(
        self,
        server: Entry,
        timeline: Timeline,
        clock: Clock,
        pace: Pace,
        masks: Masks,
        doubt: Callable[[], None] = lambda: None,
    ) -> None:
        self._server = server
        self._doubt = doubt
        self._name = clean(server.name, masks)
        self._timeline = timeline
        self._clock = clock
        self._pace = pace
        self._masks = masks
        self._live = False
        self._tokens = Tokens(clock, pace)
        self._warned: dict[str, int] = {}
        self._begin()

    def take(self, event: LogSeen) -> list[Event]:
        """What follows from one event of the tail."""
        match event:
            case LogAdvanced():
                return self._lines(event)
            case LogGap(gap=GapKind.TRUNCATED):
                # A launch that empties its log: nothing of the process before goes on.
                self._live = True
                self._begin()
            case LogFeedChanged(feed=FeedState.MISSING):
                self._live = True
            case _:
                pass
        return []

    def _begin(self) -> None:
        """A process whose log is yet to be read."""
        self._serving = Serving(self._name, self._pace, self._masks)
        self._records = Records()
        self._load = Load()
        self._incident: Incident | None = None
        self._span = (0, 0)
        self._shown: tuple[str, int, int, str] | None = None
        self._told: Incident | None = None
        self._began_us = self._clock.now_us()

    def _lines(self, event: LogAdvanced) -> list[Event]:
        live, self._live = self._live, True
        now_us = self._clock.now_us()
        found: list[Event] = []
        for number, text in enumerate(event.lines, event.first):
            for line in parse_line(text):
                self._line(line, number, now_us, live, found)
        if not live:
            self._tokens.forget()
        found += self._progress()
        if live and any(isinstance(event, LoadEnded) for event in found):
            self._doubt()
        if live:
            found += self._serving.seen()
        made = self._tokens.seen()
        if live and made is not None and not self._counted():
            found.append(TokenSeen(self._name, Clean("log"), made.tok_s, made.accept_len))
        return found

    def _line(self, line: Line, number: int, now_us: int, live: bool, found: list[Event]) -> None:
        if isinstance(line.fact, DecodeSeen) and self._load.ready and self._incident is None:
            # The commonest line by far: it begins, ends and breaks nothing.
            self._serving.add(line, self._tokens.add(line))
            return
        placed = self._records.add(line)
        line, fact = placed.line, placed.line.fact
        before = self._load
        if isinstance(fact, ArgsFact | VersionSeen):
            before = self._restarted(fact)
        self._load = advance(before, placed, now_us)
        self._fail(placed, number)
        judged = self._tokens.add(line)
        if before.ready:
            self._serving.add(line, judged)
        if live:
            if _stopping(fact):
                self._doubt()
            if isinstance(fact, FailureSeen):
                found += self._warn(fact, placed, now_us)
            if isinstance(fact, ExitSeen) and fact.restarts:
                text = f"{fact.what} is started again by systemd, restart {fact.restarts}"
                found.append(self._notice("warning", text, ""))
            if isinstance(fact, ArgsFact):
                found.append(args_seen(self._name, fact.args, self._masks))
            if self._load is not before:
                found += self._runs(before, fact)

    def _restarted(self, fact: ArgsFact | VersionSeen) -> Load:
        """What a process says first of all, said again: the one before is gone."""
        load = self._load
        again = isinstance(fact, ArgsFact) and load.engine is Engine.SGLANG and fact.whole
        midway = again and bool(load.stages) and load.stages[-1].name != "arguments"
        if load.over or self._incident is not None or midway:
            records = self._records
            self._begin()
            self._records = records
        return self._load

    def _fail(self, placed: Placed, number: int) -> None:
        load = self._load
        grown = load.incident if not load.ready else grow(self._incident, placed)
        if grown is not self._incident:
            first = number if self._incident is None else self._span[0]
            self._incident, self._span = grown, (first, number)

    def _warn(self, fact: FailureSeen, placed: Placed, now_us: int) -> list[Event]:
        """A marker that ends nothing is noticed, the same one once a minute."""
        marker = marker_of(fact)
        told_us = self._warned.get(marker.id)
        recent = told_us is not None and now_us - told_us < _AGAIN_US
        if marker.fatal or marker.severity == "info" or recent:
            return []
        self._warned[marker.id] = now_us
        text = summary(fact, placed.owner.ranks)
        return [self._notice(marker.severity, text, marker.remedy)]

    def _runs(self, before: Load, fact: object) -> list[Event]:
        """Engine and arm, where the log told something new of them."""
        load, found = self._load, list[Event]()
        if load.running is not None and load.running != before.running:
            found.append(arm_seen(self._name, load.running, "its log", self._masks))
        if load.engine is not None and (load.engine, load.version) != (
            before.engine,
            before.version,
        ):
            known = self._cell().engine
            if known is None or (load.version and known.version != load.version):
                model = model_of(fact.args) if isinstance(fact, ArgsFact) else ""
                if not model and known is not None and known.engine is load.engine:
                    model = known.model
                version = clean(load.version, self._masks)
                shown = clean(model, self._masks)
                found.append(EngineSeen(self._name, load.engine, version, shown, Clean("its log")))
        return found

    def _progress(self) -> list[Event]:
        """How far the load is, or how it ended."""
        if self._incident is not None:
            return self._failed(self._incident)
        load = self._load
        if load.ready:
            if self._shown is None:
                return []
            self._shown = None
            return [LoadEnded(self._name, True, self._took_us())]
        if not load.phase:
            return []
        bar = load.bar
        done, total = (round(bar.done), round(bar.total)) if bar else (0, 0)
        shown = (load.phase, done, total, _waiting(load))
        if shown == self._shown:
            return []
        self._shown = shown
        left = eta(load, earlier_loads(self._cell().history, self._pace.scale))
        return [
            LoadAdvanced(
                self._name,
                clean(load.phase, self._masks),
                done if bar else None,
                total if bar else None,
                None if left is None else round(left.seconds * US_PER_S),
                clean(shown[3], self._masks),
            )
        ]

    def _failed(self, incident: Incident) -> list[Event]:
        told, self._told = self._told, incident
        if told is not None and told.reason == incident.reason:
            return []
        self._shown = None
        first, last = self._span
        reason = clean(incident.reason, self._masks)
        ended = LoadEnded(
            self._name,
            False,
            self._took_us(),
            clean(incident.cause.marker, self._masks),
            reason,
            first,
            min(last - first + 1, _MOST_SHOWN),
        )
        return [ended, self._notice("error", incident.reason, incident.remedy)]

    def _counted(self) -> bool:
        """Whether a counter of the server tells its tokens: then lines do not tell them twice."""
        metric = self._cell().metric
        if metric is None or not any(name == "decode_tokens_total" for name, _ in metric.figures):
            return False
        age_us = self._timeline.now_us - metric.t_us
        return age_us <= 5 * self._pace.metrics_s * US_PER_S

    def _took_us(self) -> int:
        """How long the load took by its own stamps, else since the console saw it."""
        stages, at_s = self._load.stages, self._load.at_s
        if stages and stages[0].began_s is not None and at_s is not None:
            return max(0, round((at_s - stages[0].began_s) * US_PER_S))
        return self._clock.now_us() - self._began_us

    def _notice(self, severity: str, text: str, remedy: str) -> Noticed:
        shown, helps = clean(text, self._masks), clean(remedy, self._masks)
        return Noticed(self._name, Clean(severity), shown, helps if remedy else NOTHING)

    def _cell(self) -> Server:
        return self._timeline.state.servers.get(self._server.name, Server())


def _waiting(load: Load) -> str:
    """Who a phase waits for, in the phases where ranks work apart."""
    missing = load.missing_nccl()
    if load.phase == "distributed (NCCL init)" and missing:
        word = "rank" if len(missing) == 1 else "ranks"
        named = ", ".join(map(str, missing[:8])) + (", …" if len(missing) > 8 else "")
        return f"{len(load.nccl_done)}/{load.nccl_of} ranks, missing {word} {named}"
    return waiting_for(load) if "weights" in load.phase and load.ranks != 1 else ""


def _stopping(fact: object) -> bool:
    """Whether a line says that the server is on its way out."""
    if isinstance(fact, FailureSeen):
        return fact.marker == "draining"
    return isinstance(fact, NoteSeen) and fact.kind == "stopping"
