"""Whole screens as text, compared exactly; UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from console.model.failure import Failure
from console.model.fleet import Arm
from console.render import charts
from console.stream.fact import FeedState, GapKind, Link, Recording, Standing
from console.stream.host_events import LinkChanged
from console.stream.run_events import (
    ActAdvanced,
    ActFinished,
    ActRefused,
    ActRequested,
    AssumptionStated,
    BenchFinished,
    BenchStarted,
    RunMeasured,
    VerdictReached,
)
from console.stream.server_events import LogGap
from console.stream.session_events import Noticed, RecordingChanged
from tests.bench import arms
from tests.ui.stage import Player, Stage, c, press, staged, story, text

GOLDEN = Path(__file__).parent / "golden"


def replayed() -> Stage:
    points = ((300_000_000, "act"), (900_000_000, "error"), (1_500_000_000, "marker"))
    stage = Stage(Player(playing=True, speed=4.0, points=points))
    return story(stage)


def empty() -> Stage:
    return Stage()


def measured() -> Stage:
    charts.load()
    stage = story()
    stage.emit(AssumptionStated(c("believed"), 90.0, c("an earlier session")))
    for bench, server, arm, rates in (
        ("b1", "kimi-base", Arm.BASELINE, arms.BASELINE),
        ("b2", "kimi-eagle3", Arm.SPECULATIVE, arms.SPECULATIVE),
    ):
        stage.emit(BenchStarted(c(bench), c(server), arm, 1, c("quick"), (), c("worker/1")))
        for run, rate in enumerate(rates):
            stage.emit(RunMeasured(c(bench), run, 500, 310_000, rate))
        stage.emit(BenchFinished(c(bench), True, c(""), ()))
    told = c("FASTER by 19.2 % [17.8, 20.7]")
    reasons = (
        c("! baseline 62.9 tok/s, 90.1 usual (last 12 days ago); NCCL_PROTO LL -> unset"),
        c("5+5 runs, one prompt, these launches, depth 0.5k, one stream, samples are runs"),
        c("TTFT 310 ms baseline, 318 ms speculative"),
        c("break-even 1.95 tokens a cycle, got 2.33"),
    )
    stage.emit(VerdictReached(c("b1"), c("b2"), c("FASTER"), told, 1.192, 1.178, 1.207, reasons))
    return stage


def troubled() -> Stage:
    stage = story()
    stage.emit(
        LogGap(c("kimi-base"), 103, 1, GapKind.LINK, c("link lost 42 s · 0 lines lost"), 0),
        RecordingChanged(Recording.STOPPED, c("sessions/night.toml"), c("disk full")),
        LinkChanged(
            c("gpu9"),
            Link.REFUSED,
            Failure.KEY_UNKNOWN,
            c("gpu9 shows a key nobody has accepted yet"),
            (c("SHA256:abcd"), c("compare it, then: ssh gpu9")),
        ),
    )
    stage.feed("kimi-base", FeedState.CUT, "sshd went away")
    return stage


def noticed() -> Stage:
    stage = story()
    text = c("6 NCCL variables lost since the run of 90.1 tok/s")
    stage.emit(Noticed(c("kimi-base"), c("warning"), text, c("e")))
    return stage


def acted(ended: bool = False) -> Stage:
    """kimi-tuned is being launched again with the plan's variables."""
    stage = story()
    act, asked = c("a1"), ((c("env"), c("NCCL_PROTO=LL NCCL_ALGO=Ring")), (c("see"), c("ranks")))
    undo = "kimi-tuned is kept; if this fails you are asked to bring it back"
    stage.emit(
        ActRefused(c("a0"), c("restart"), c("kimi-tuned"), c("not confirmed")),
        ActRequested(
            act, c("restart"), c("kimi-tuned"), c("ann@laptop"), c("name typed"), asked,
            c("gpu9"), c("gpu9:8000"), 540_000_000, c(undo),
        ),
        ActAdvanced(act, c("term"), c("TERM sent to process 4101; it may drain")),
    )  # fmt: skip
    stage.manual.advance(31)
    stage.emit(ActAdvanced(act, c("load"), c("weights 74/163")))
    stage.load("kimi-tuned", 74, 163, 300_000_000)
    stage.manual.advance(160)
    if ended:
        text = "CUDA out of memory on GPU 3; rolled back: kimi-tuned runs as before, ready after"
        stage.emit(ActFinished(act, c("rolled back"), c(f"{text} 331.4 s")))
    return stage


def crowd() -> Stage:
    stage = Stage()
    stage.opened()
    stage.host("a-host-with-a-rather-long-name", "alias")
    standings = list(Standing)
    for n in range(30):
        stage.server(
            f"server-{n:02}-{'x' * n}",
            "a-host-with-a-rather-long-name",
            standing=standings[n % len(standings)],
            why="because",
        )
    return stage


SCENES: list[tuple[str, Callable[[], Stage], tuple[int, int], tuple[str, ...]]] = [
    ("story-120x40", story, (120, 40), ()),
    ("story-80x24", story, (80, 24), ()),
    ("story-200x50", story, (200, 50), ()),
    ("story-60x20", story, (60, 20), ()),
    ("small-40x10", story, (40, 10), ()),
    ("empty-80x24", empty, (80, 24), ()),
    ("replay-120x40", replayed, (120, 40), ()),
    ("replay-80x24", replayed, (80, 24), ()),
    ("measured-120x40", measured, (120, 40), ()),
    ("measured-80x24", measured, (80, 24), ()),
    ("bench-120x40", measured, (120, 40), ("4",)),
    ("bench-80x24", measured, (80, 24), ("4",)),
    ("troubled-80x24", troubled, (80, 24), ("down", "down")),
    ("noticed-80x24", noticed, (80, 24), ()),
    ("acting-120x40", acted, (120, 40), ()),
    ("acting-80x24", acted, (80, 24), ()),
    ("acted-80x24", lambda: acted(True), (80, 24), ()),
    ("acted-session-120x40", lambda: acted(True), (120, 40), ("5",)),
    ("crowd-120x40", crowd, (120, 40), ("down",)),
    ("maximised-80x24", story, (80, 24), ("shift+tab", "z")),
    ("help-80x24", story, (80, 24), ("?",)),
]


@pytest.mark.parametrize(("name", "scene", "size", "keys"), SCENES, ids=[s[0] for s in SCENES])
async def test_screen(
    name: str, scene: Callable[[], Stage], size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    async with staged(scene(), size) as (app, pilot):
        await press(app, pilot, *keys)
        shown = text(app) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown)
    assert shown == path.read_text()
    lines = shown.splitlines()
    assert len(lines) == size[1]
    assert max(map(len, lines)) <= size[0]
