from __future__ import annotations

from console.model.fleet import Arm
from console.stream.fact import Standing
from tests.ui.stage import Stage, look, press, staged, story, text


def rows(screen: str) -> list[str]:
    """The lines inside the first frame, its heading left out."""
    lines = screen.splitlines()
    end = next(n for n, line in enumerate(lines) if line.startswith("╰"))
    return [line.strip("│ ") for line in lines[3:end]]


async def test_each_server_has_shape_word_and_figures() -> None:
    async with staged(story()) as (app, _):
        base, eagle, tuned = rows(text(app))
    assert base.split() == [
        *["▶", "kimi-base", "gpu8:8000", "baseline", "◆", "generating", "62.0"],
        *["▆▆▆▆▆▆▆▆▆▆▆", "–", "1+0", "now"],
    ]
    assert "○ down  connection refused" in eagle
    assert "speculative" in eagle
    assert "◔ loading 74/163 ~6 min" in tuned


async def test_narrow_keeps_what_matters() -> None:
    async with staged(story(), (80, 24)) as (app, _):
        base, eagle, tuned = rows(text(app))
    assert base.split() == ["▶", "kimi-base", "base", "◆", "generating", "62.0", "now", "?"]
    assert eagle.startswith("kimi-eagle3  spec  ○ down  connection refused")
    assert tuned.startswith("kimi-tuned   base  ◔ loading 74/163 ~6 min")


async def test_selection_moves_by_keys_and_the_log_goes_with_it() -> None:
    stage = story()
    stage.lines("kimi-tuned", "loading shard 74")
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "down", "j")
        assert app.dashboard.servers.selected == "kimi-tuned"
        assert "▶ kimi-tuned" in text(app)
        assert "Log  kimi-tuned  /var/log/kimi-tuned.log" in text(app)
        assert "loading shard 74" in text(app)
        await press(app, pilot, "down")
        assert app.dashboard.servers.selected == "kimi-tuned"
        await press(app, pilot, "up", "k", "up")
        assert app.dashboard.servers.selected == "kimi-base"


async def test_no_server_says_so() -> None:
    stage = Stage()
    stage.opened()
    async with staged(stage, (80, 24)) as (app, pilot):
        assert "No servers. A fleet file names them." in text(app)
        assert "No server selected." in text(app)
        await press(app, pilot, "down", "pageup", "f", "p", "shift+left")
        assert app.dashboard.servers.selected == ""


async def test_a_hundred_servers_scroll_and_say_where_they_are() -> None:
    stage = Stage()
    for n in range(100):
        arm = Arm.SPECULATIVE if n % 2 else Arm.BASELINE
        stage.server(f"server-{n:03}", arm=arm, standing=Standing.IDLE)
    async with staged(stage, (80, 24)) as (app, pilot):
        assert "1–5 of 100" in text(app)
        await press(app, pilot, *["down"] * 6)
        assert "3–7 of 100" in text(app)
        assert "▶ server-006" in text(app)
        for _ in range(110):
            app.action_verb("servers.down")
        await pilot.pause()
        assert "96–100 of 100" in text(app)
        assert "▶ server-099" in text(app)


async def test_long_names_are_cut_with_a_mark() -> None:
    stage = Stage()
    stage.server("a-server-with-a-name-that-nobody-should-have-to-type", standing=Standing.ALIVE)
    async with staged(stage, (80, 24)) as (app, _):
        assert "▶ a-server-with-a-name-th…  base  ● alive" in text(app)


async def test_a_server_that_appears_later_is_shown_and_the_selection_stays() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "down")
        stage.server("late", standing=Standing.STALLED, why="no token for 30 s")
        await look(app, pilot)
        assert app.dashboard.servers.selected == "kimi-eagle3"
        assert rows(text(app))[3].startswith("late")
        assert "■ stalled  no token for 30 s" in text(app)


async def test_ages_grow_with_the_sessions_time() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        stage.manual.advance(42)
        await look(app, pilot)
        line = rows(text(app))[0]
        assert line.endswith("42 s ago")
        assert "62.0" not in line
