from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.failure import Failure
from console.model.fleet import Arm, Engine
from console.model.palette import Role
from console.model.span import Span, plain_text, width
from console.model.text import Clean
from console.render.rows import (
    GAP,
    columns,
    head_spans,
    layout,
    recent_rates,
    row_spans,
    server_row,
    sparkline,
)
from console.render.spans import cells, fitted, joined, spread
from console.render.standings import SHAPES, standing_spans
from console.stream.fact import Standing
from console.stream.series import Samples
from console.stream.server_events import (
    ArmSeen,
    EngineSeen,
    HealthSeen,
    LoadAdvanced,
    LoadEnded,
    MetricSeen,
    ServerListed,
    StandingChanged,
    TokenSeen,
)
from console.stream.state import Server

BASE = Clean("base")
NONE = (None,) * 12


def listed(arm: Arm = Arm.BASELINE) -> ServerListed:
    return ServerListed(BASE, Clean("gpu8"), Clean("a"), 8000, arm, Engine.SGLANG, Clean("u"))


def cell(server: Server, column: str, now_us: int = 0) -> str:
    return plain_text(server_row("base", server, now_us, NONE).cells[column])


def stands(standing: Standing, why: str = "") -> StandingChanged:
    return StandingChanged(BASE, standing, Clean(why))


def test_every_standing_has_a_shape_of_its_own() -> None:
    assert set(SHAPES) == set(Standing)
    assert len({shape for shape, _ in SHAPES.values()}) == len(Standing)


def test_standing_in_words() -> None:
    def told(**cells: object) -> str:
        return plain_text(standing_spans(Server(**cells)))  # type: ignore[arg-type]

    assert told() == "? not asked yet"
    assert told(standing=stands(Standing.GENERATING, "why")) == "◆ generating"
    assert (
        told(standing=stands(Standing.DOWN, "connection refused")) == "○ down  connection refused"
    )
    assert told(arm=ArmSeen(BASE, Clean("args"), None), standing=stands(Standing.ALIVE)) == (
        "○ not loaded"
    )
    load = LoadAdvanced(BASE, Clean("weights"), 74, 163, 360_000_000, seq=5)
    other = ArmSeen(BASE, Clean("args"), None, seq=4)
    assert told(arm=other, load=load, standing=stands(Standing.STARTING)).startswith("◔ weights")
    starting = stands(Standing.STARTING)
    assert told(standing=starting, load=load) == "◔ weights 74/163 ~6 min"
    ended = LoadEnded(BASE, True, 1, seq=6)
    assert told(standing=starting, load=load, load_end=ended) == "◔ starting"


def test_the_arm_is_the_one_that_runs_not_the_one_listed() -> None:
    server = Server(listed=listed(), arm=ArmSeen(BASE, Clean("args"), Arm.SPECULATIVE))
    assert cell(server, "arm") == "speculative"
    assert cell(Server(listed=listed()), "arm") == "baseline"
    none = Server(listed=listed(), arm=ArmSeen(BASE, Clean("args"), None))
    assert cell(none, "arm") == "baseline"
    seen = HealthSeen(BASE, Clean("/health"), 5, 200)
    assert cell(replace(none, health=seen), "health") == "–"


def test_a_rate_is_shown_while_it_is_fresh() -> None:
    server = Server(token=TokenSeen(BASE, Clean("log"), 62.94, 2.334, t_us=1_000_000))
    assert cell(server, "tok_s", 11_000_000) == "62.9"
    assert cell(server, "accept", 11_000_000) == "2.33"
    assert cell(server, "token", 11_000_000) == "10 s ago"
    assert cell(server, "tok_s", 11_000_001) == "–"
    assert cell(server, "accept", 11_000_001) == "–"


def test_unknown_is_not_empty() -> None:
    generating = stands(Standing.GENERATING)
    assert cell(Server(), "queue") == "–"
    assert cell(Server(standing=generating), "queue") == "?"
    assert cell(Server(standing=generating, listed=listed(Arm.SPECULATIVE)), "accept") == "?"
    assert cell(Server(standing=generating, listed=listed()), "accept") == "–"
    assert cell(Server(), "slot") == "?"
    assert cell(Server(), "engine") == "?"
    figures = ((Clean("running"), 3.0),)
    assert cell(Server(metric=MetricSeen(BASE, Clean("m"), figures)), "queue") == "3+?"


def test_health_and_engine() -> None:
    ok = HealthSeen(BASE, Clean("/health"), 12_300, 200)
    assert cell(Server(health=ok), "health") == "200 in 12 ms"
    refused = HealthSeen(BASE, Clean("/health"), 10, None, Failure.REFUSED)
    assert cell(Server(health=refused), "health") == "refused"
    seen = EngineSeen(BASE, Engine.SGLANG, Clean("0.5.9"), Clean("kimi"), Clean("log"))
    assert cell(Server(engine=seen), "engine") == "sglang 0.5.9"
    assert cell(Server(listed=listed()), "slot") == "gpu8:8000"
    long = replace(listed(), host=Clean("gpu-node-03.example.org"))
    assert cell(Server(listed=long), "slot") == "gpu-node-0…:8000"


@pytest.mark.parametrize(("room", "count"), [(34, 2), (56, 5), (76, 6), (114, 9), (196, 12)])
def test_columns_by_width(room: int, count: int) -> None:
    assert len(columns(room)) == count


@given(
    st.integers(30, 300),
    st.lists(st.text("ab界\u0301-", min_size=1, max_size=60), min_size=0, max_size=4),
)
def test_lines_fill_the_room_exactly(room: int, names: list[str]) -> None:
    server = Server(listed=listed(), standing=stands(Standing.DOWN, "because of something long"))
    rows = [server_row(name, server, 0, NONE) for name in names]
    places = layout(room, rows)
    assert sum(p.room for p in places) + GAP * (len(places) - 1) == room
    assert cells(head_spans(places)) == room
    for row in rows:
        assert cells(row_spans(row, places)) == room


def test_on_a_very_wide_screen_figures_stand_near_their_names() -> None:
    def room_of_standing(why: str) -> int:
        server = Server(listed=listed(), standing=stands(Standing.DOWN, why))
        places = layout(296, [server_row("base", server, 0, NONE)])
        return next(place.room for place in places if place.column.id == "standing")

    assert room_of_standing("connection refused") == 64
    assert room_of_standing("x" * 80) == len("○ down  ") + 80


def test_recent_rates_are_means_of_whole_ten_seconds() -> None:
    samples = Samples()
    for t_us, value in ((1_000_000, 10.0), (5_000_000, 20.0), (25_000_000, 60.0)):
        samples.take("base", t_us, ((Clean("decode_tok_s"), value),))
    found = recent_rates(samples, "base", 26_000_000)
    assert found == (*[None] * 9, 15.0, None, 60.0)
    assert recent_rates(samples, "other", 26_000_000) == NONE
    assert recent_rates(samples, "base", 139_000_000) == (60.0, *[None] * 11)


def test_sparkline() -> None:
    assert sparkline(NONE) == " " * 12
    assert sparkline([None, 0.0, 30.0, 60.0]) == " ▁▃▆"
    assert sparkline([0.0, 0.0]) == "▁▁"


@given(st.lists(st.text(max_size=12), max_size=5), st.integers(0, 30), st.booleans())
def test_fitted_is_exact_and_marks_a_cut(texts: list[str], room: int, right: bool) -> None:
    spans = tuple(Span(text) for text in texts)
    found = fitted(spans, room, right)
    assert cells(found) == room
    if cells(spans) > room > 0:
        assert "…" in plain_text(found)
    elif cells(spans) <= room:
        assert "".join(texts) in plain_text(found)


def test_spread_and_joined() -> None:
    left, right = (Span("left"),), (Span("right"),)
    assert plain_text(spread(left, right, 12)) == "left   right"
    assert plain_text(spread(left, right, 9)) == "le… right"
    assert plain_text(spread(left, right, 4)) == "rig…"
    assert plain_text(joined([left, (), right], " · ", Role.DIM)) == "left · right"
    assert width(plain_text(spread((), right, 30))) == 30
