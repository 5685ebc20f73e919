"""What the screen is tested with: a timeline filled by hand and a control that only remembers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from textual.pilot import Pilot

from console.control.port import Argument, Outcome
from console.model.clock import Clock, ManualClock
from console.model.exits import Exit
from console.model.failure import Failure
from console.model.fleet import Arm, Engine, Wire
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.verb import Need
from console.model.verbs import VERBS
from console.render import charts
from console.store.preferences import Settings
from console.store.theme import load_theme
from console.stream.events import Event
from console.stream.fact import FeedState, Link, Recording, Standing
from console.stream.host_events import HostListed, LinkChanged
from console.stream.logs import Ring
from console.stream.server_events import (
    HealthSeen,
    LoadAdvanced,
    LogAdvanced,
    LogFeedChanged,
    LogListed,
    MetricSeen,
    ServerListed,
    StandingChanged,
    TokenSeen,
)
from console.stream.session_events import RecordingChanged, SessionOpened
from console.stream.timeline import Timeline
from console.ui.app import ConsoleApp
from tests.rig.waiting import auntil

charts.load()  # else the first screen is drawn without one, in whatever test that is


_MASKS = Masks()


def c(text: str | bytes) -> Clean:
    """Cleaned text, as ingest makes it."""
    return clean(text, _MASKS)


@dataclass
class Player:
    """A playback that stands where it is put."""

    length_us: int = 2_490_000_000
    speed: float = 1.0
    playing: bool = False
    points: Sequence[tuple[int, str]] = ()
    skipped: str = ""

    def notches(self) -> Sequence[tuple[int, str]]:
        return self.points


@dataclass
class Control:
    """Allows what the needs of the verbs say, and remembers what was asked."""

    timeline: Timeline
    playback: Player | None = None
    done: list[tuple[str, str, dict[str, Argument]]] = field(default_factory=list)
    outcome: Outcome = field(default_factory=lambda: Outcome(Exit.OK, Clean("done")))

    def can(self, verb: str, server: str = "") -> str | None:
        del server
        match VERBS[verb].need:
            case Need.REPLAY if self.playback is None:
                return "only in a replay"
            case Need.LIVE if self.playback is not None:
                return "not in a replay"
            case Need.UNLOCK:
                return "read-only"
            case _:
                return None

    async def pass_time(self, seconds: float) -> bool:
        del seconds
        return True

    async def do(
        self,
        verb: str,
        server: str = "",
        arguments: Mapping[str, Argument] | None = None,
        timeout_s: float = 30.0,
    ) -> Outcome:
        del timeout_s
        self.done.append((verb, server, dict(arguments or {})))
        return self.outcome


class Broken(Timeline):
    """A timeline that has a defect."""

    def __init__(self, whole: Timeline) -> None:
        vars(self).update(vars(whole))

    @property
    def now_us(self) -> int:
        raise ValueError("\x1b[2J is no time")


class Stage:
    """A timeline, its clock and a control, filled by hand."""

    def __init__(
        self,
        player: Player | None = None,
        most_lines: int = 200_000,
        clock: Clock | None = None,
    ) -> None:
        self.manual = ManualClock()
        self.clock: Clock = clock or self.manual
        self.timeline = Timeline(self.clock, logs=Ring(most_lines))
        self.control = Control(self.timeline, player)
        self.settings = Settings()

    def emit(self, *events: Event) -> None:
        for event in events:
            self.timeline.emit(event)

    def app(self, theme: str = "dark") -> ConsoleApp:
        return ConsoleApp(self._open, self.clock, self.settings, load_theme(theme))

    async def _open(self) -> Control:
        return self.control

    def opened(self) -> None:
        self.emit(
            SessionOpened(
                c("spec-console 0.1.0"), c("kimi.toml"), c("live"), c("2026-02-24T17:00:00.000000Z")
            ),
            RecordingChanged(Recording.ON, c("sessions/night.toml")),
        )

    def host(self, name: str, alias: str = "", rtt_us: int | None = None) -> None:
        wire = Wire.ASYNCSSH if alias else Wire.LOCAL
        self.emit(HostListed(c(name), wire, c(alias)), LinkChanged(c(name), Link.UP, rtt_us=rtt_us))

    def server(
        self,
        name: str,
        host: str = "gpu8",
        arm: Arm = Arm.BASELINE,
        standing: Standing | None = None,
        why: str = "",
    ) -> None:
        self.emit(
            ServerListed(
                c(name), c(host), c(f"{host}a"), 8000, arm, Engine.SGLANG, c("http://[::1]:8000")
            ),
            LogListed(c(name), c(name), c(f"/var/log/{name}.log")),
        )
        if standing is not None:
            self.emit(StandingChanged(c(name), standing, c(why)))

    def health(self, name: str, code: int | None, failure: Failure | None = None) -> None:
        self.emit(HealthSeen(c(name), c("/health"), 12_300, code, failure))

    def token(self, name: str, tok_s: float, accept: float | None = None) -> None:
        self.emit(TokenSeen(c(name), c("log"), tok_s, accept))

    def load(self, name: str, done: int, total: int, eta_us: int) -> None:
        self.emit(LoadAdvanced(c(name), c("loading"), done, total, eta_us))

    def metric(self, name: str, running: float, queued: float) -> None:
        figures = ((c("running"), running), (c("queued"), queued))
        self.emit(MetricSeen(c(name), c("/metrics"), figures))

    def lines(self, name: str, *texts: str | bytes) -> None:
        cell = self.timeline.state.logs.get(name)
        first = cell.mark.end if cell else 0
        cleaned = tuple(c(text) for text in texts)
        self.emit(LogAdvanced(c(name), first, len(cleaned), (2049, 77), (0, 1), cleaned))

    def feed(self, name: str, state: FeedState, why: str = "") -> None:
        self.emit(LogFeedChanged(c(name), state, why=c(why)))


Staged = tuple[ConsoleApp, Pilot[Any]]


@asynccontextmanager
async def staged(
    stage: Stage, size: tuple[int, int] = (120, 40), theme: str = "dark"
) -> AsyncIterator[Staged]:
    """The screen on this stage, opened and painted."""
    app = stage.app(theme)
    async with app.run_test(size=size) as pilot:
        while not app.is_open and app.defect is None:
            await pilot.pause()
        await look(app, pilot)
        yield app, pilot


async def look(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """One beat of the screen: look at the timeline and paint until nothing moves any more."""
    app.follow.look()
    before, now = "", text(app)
    while now != before:
        await pilot.pause()
        before, now = now, text(app)


async def asked(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Wait for a question to stand on the screen."""
    await auntil(lambda: app.screen.is_modal and app.focused is not None)
    await pilot.pause()


async def press(app: ConsoleApp, pilot: Pilot[Any], *keys: str) -> None:
    """Press keys, let what they began end unless it waits for a person, then one beat."""
    await pilot.press(*keys)
    await pilot.pause()
    running = [worker for worker in app.workers if worker.group == "verbs"]
    if running and not app.screen.is_modal:
        await app.workers.wait_for_complete(running)
    await look(app, pilot)


def text(app: ConsoleApp) -> str:
    """What stands on the screen, line by line, no spaces at the ends."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join(strip.text.rstrip() for strip in strips)


def story(stage: Stage | None = None) -> Stage:
    """The night's dashboard: one server generating, one not loaded, one loading."""
    stage = stage or Stage()
    stage.opened()
    stage.host("gpu8", "gpu8", 3_000)
    stage.host("gpu9", "gpu9", 4_200)
    stage.server("kimi-base", "gpu8", standing=Standing.GENERATING)
    stage.server("kimi-eagle3", "gpu8", Arm.SPECULATIVE, Standing.DOWN, "connection refused")
    stage.server("kimi-tuned", "gpu9", standing=Standing.STARTING, why="/health answers 503")
    stage.health("kimi-base", 200)
    stage.health("kimi-tuned", 503)
    stage.health("kimi-eagle3", None, Failure.REFUSED)
    stage.load("kimi-tuned", 74, 163, 360_000_000)
    stage.metric("kimi-base", 1, 0)
    stage.feed("kimi-base", FeedState.FOLLOWING)
    for second in range(100):
        stage.manual.advance(1)
        stage.token("kimi-base", 62.0 + second % 3)
        stage.lines(
            "kimi-base",
            f"[2026-02-24 17:{second // 60:02}:{second % 60:02} TP0] Decode batch. "
            f"#running-req: 1, #token: {812 + second}, token usage: 0.00, cuda graph: True, "
            f"gen throughput (token/s): {62 + second % 3}.90, #queue-req: 0",
        )
    stage.lines(
        "kimi-base",
        "[2026-02-24 17:01:41 TP3] NCCL WARN Call to ibv_create_qp failed",
        b'\x1b[32mINFO\x1b[0m:     10.8.0.5:51234 - "GET /v1/models HTTP/1.1" 401 Unauthorized',
        "[2026-02-24 17:01:42 TP5] torch.OutOfMemoryError: CUDA out of memory.",
    )
    return stage
