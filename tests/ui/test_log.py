from __future__ import annotations

import pytest

from console.model.failure import Failure
from console.stream.fact import FeedState, GapKind, Link
from console.stream.host_events import LinkChanged
from console.stream.server_events import LogFeedChanged, LogGap, LogListed
from tests.ui.stage import Stage, c, look, press, staged, story, text


def shown(screen: str) -> list[str]:
    """The lines inside the log's frame."""
    lines = screen.splitlines()
    start = next(n for n, line in enumerate(lines) if "Log  " in line)
    end = next(n for n, line in enumerate(lines) if n > start and line.startswith("╰"))
    return [line[2:-1].rstrip() for line in lines[start + 1 : end]]


def filled(count: int = 200, most_lines: int = 200_000) -> Stage:
    stage = Stage(most_lines=most_lines)
    stage.host("gpu8")
    stage.server("base")
    stage.feed("base", FeedState.FOLLOWING)
    for n in range(count):
        stage.lines("base", f"line {n}")
    return stage


async def test_follows_until_scrolled_up_and_again_at_the_end() -> None:
    stage = filled()
    async with staged(stage, (80, 24)) as (app, pilot):
        assert shown(text(app))[-1] == "line 199"
        assert "following · 200 lines" in text(app)
        await press(app, pilot, "pageup")
        held = shown(text(app))
        assert held[-1] == "line 187"
        stage.lines("base", *(f"line {n}" for n in range(200, 300)))
        await look(app, pilot)
        assert shown(text(app)) == held
        stage.manual.advance(1)
        await look(app, pilot)
        assert "scrolled · 112 below · 300 lines" in text(app)
        await press(app, pilot, "pageup")
        assert shown(text(app))[-1] == held[0]
        await press(app, pilot, "pagedown")
        assert shown(text(app)) == held
        await press(app, pilot, "f")
        assert shown(text(app))[-1] == "line 299"
        assert "following" in text(app)


async def test_pause_holds_still_while_lines_arrive() -> None:
    stage = filled()
    async with staged(stage, (80, 24)) as (app, pilot):
        await press(app, pilot, "p")
        held = shown(text(app))
        stage.lines("base", "new", "newer")
        stage.manual.advance(1)
        await look(app, pilot)
        assert shown(text(app)) == held
        assert "paused · 2 new" in text(app)
        await press(app, pilot, "p")
        assert shown(text(app))[-1] == "newer"


async def test_what_is_read_stays_when_the_ring_wraps() -> None:
    stage = filled(most_lines=50)
    async with staged(stage, (80, 24)) as (app, pilot):
        await press(app, pilot, "pageup")
        held = shown(text(app))
        for n in range(200, 400):
            stage.lines("base", f"line {n}")
        await look(app, pilot)
        assert shown(text(app)) == held
        await press(app, pilot, "pagedown")
        assert any("no longer held" in line for line in shown(text(app)))
        assert shown(text(app))[-1] == "line 360"


async def test_long_lines_scroll_sideways_with_marks() -> None:
    stage = filled(1)
    stage.lines("base", "".join(f"{n:04}." for n in range(40)))
    async with staged(stage, (80, 24)) as (app, pilot):
        assert shown(text(app))[1].endswith("0013.0014.…")
        await press(app, pilot, "L")
        assert shown(text(app))[1].startswith("…03.0004.0005.")
        assert shown(text(app))[1].endswith("…")
        for _ in range(30):
            app.action_verb("logs.right")
        await look(app, pilot)
        assert shown(text(app))[1].endswith("0039.")
        assert shown(text(app))[0] == "…"
        await press(app, pilot, "H")
        assert shown(text(app))[1].endswith("…")
        for _ in range(30):
            app.action_verb("logs.left")
        await look(app, pilot)
        assert shown(text(app))[0] == "line 0"


async def test_a_gap_is_a_ruled_line() -> None:
    stage = filled(3)
    told = c("link lost 42 s · 3,117 bytes read again · 0 lines lost")
    stage.emit(LogGap(c("base"), 3, 1, GapKind.LINK, told, 0, 0, 3117))
    async with staged(stage, (80, 24)) as (app, _):
        line = shown(text(app))[3]
        assert line.startswith("── link lost 42 s · 3,117 bytes read again · 0 lines lost ──")
        assert len(line) == 76


async def test_an_empty_log_says_why() -> None:
    stage = Stage()
    stage.host("gpu8", "gpu8")
    stage.server("base")
    async with staged(stage, (80, 24)) as (app, pilot):
        assert "the log is not read yet" in text(app)
        stage.feed("base", FeedState.MISSING, "/var/log/base.log: no such file")
        await look(app, pilot)
        assert "the log does not exist: /var/log/base.log: no such file" in text(app)
        stage.emit(
            LinkChanged(
                c("gpu8"),
                Link.REFUSED,
                Failure.KEY_CHANGED,
                c("the key of gpu8 is another one"),
                (c("known  SHA256:aaaa"), c("now    SHA256:bbbb")),
            )
        )
        await look(app, pilot)
        screen = text(app)
        assert "gpu8: host key changed: the key of gpu8 is another one" in screen
        assert "known  SHA256:aaaa" in screen
        assert "now    SHA256:bbbb" in screen


async def test_lines_of_before_stay_when_the_link_is_lost() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        stage.emit(LinkChanged(c("gpu8"), Link.LOST, Failure.LINK_LOST, c("no keepalive for 20 s")))
        await look(app, pilot)
        screen = text(app)
        assert "gpu8 ✗ link lost" in screen
        assert " ! gpu8: link lost: no keepalive for 20 s" in screen
        assert "CUDA out of memory" in screen


async def test_what_became_of_the_tail_stands_in_the_title() -> None:
    stage = filled()
    async with staged(stage, (120, 30)) as (app, pilot):
        assert "/var/log/base.log ─" in text(app)
        lost = LogFeedChanged(c("base"), FeedState.CUT, Failure.LINK_LOST, c("no keepalive"))
        stage.emit(lost)
        await look(app, pilot)
        assert " link lost · 200 lines " in text(app)
        await press(app, pilot, "pageup")
        assert " below · link lost · 200 lines " in text(app)
        stage.feed("base", FeedState.UNREADABLE)
        await press(app, pilot, "f")
        assert " unreadable · 200 lines " in text(app)
        stage.feed("base", FeedState.FOLLOWING)
        await look(app, pilot)
        assert " following · 200 lines " in text(app)


@pytest.mark.parametrize(
    ("size", "place"),
    [
        ((80, 24), "/sglang_baseline_nccl.log ─"),
        ((120, 30), "…/kimi-k2.5-eagle3-rtx-pro-6000/logs/2026-11-29/sglang_baseline_nccl.log ─"),
        ((200, 30), "/srv/inference/deployments/kimi-k2.5-eagle3-rtx-pro-6000/logs/2026-11-29/sgl"),
    ],
    ids=str,
)
async def test_a_long_path_leaves_the_name_of_the_file_and_the_state(
    size: tuple[int, int], place: str
) -> None:
    stage = filled()
    folder = "/srv/inference/deployments/kimi-k2.5-eagle3-rtx-pro-6000/logs/2026-11-29"
    stage.emit(LogListed(c("base"), c("base"), c(f"{folder}/sglang_baseline_nccl.log")))
    async with staged(stage, size) as (app, pilot):
        for key in ("1", "2"):
            await press(app, pilot, key)
            head = next(line for line in text(app).splitlines() if "Log  base" in line)
            assert place in head
            assert head.endswith(" following · 200 lines ─╮")


async def test_only_lines_in_view_are_styled() -> None:
    stage = filled(0)
    stage.lines("base", *(f"line {n}" for n in range(20_000)))
    async with staged(stage, (80, 24)) as (app, _):
        assert len(app.dashboard.log_pane.rows._styled) <= 13
