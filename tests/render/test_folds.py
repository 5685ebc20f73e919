from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.model.mask import Masks
from console.model.text import Clean, clean
from console.render.folds import Folds, raised, stands_alone

MASKS = Masks()
STAMPED = "[2026-02-24 17:05:01 TP0] " + "a long line " * 20
AT = "[2026-02-24 17:05:{:02} TP0]"


def placed(*texts: str) -> list[tuple[int, bool]]:
    folds = Folds()
    return [folds.place(n, clean(text, MASKS)) for n, text in enumerate(texts)]


def test_a_traceback_stands_under_its_first_line() -> None:
    found = placed(
        AT.format(1) + " Decode batch. #running-req: 1",
        AT.format(2) + " Scheduler hit an exception: Traceback (most recent call last):",
        '  File "scheduler.py", line 12, in run',
        "    self.event_loop()",
        "torch.OutOfMemoryError: CUDA out of memory.",
        AT.format(3) + " Decode batch. #running-req: 1",
    )
    assert [head for head, _ in found] == [0, 1, 1, 1, 1, 5]
    assert not any(again for _, again in found)


def test_a_traceback_whose_every_line_has_a_head_is_one() -> None:
    head = "(EngineCore pid=71) ERROR 02-24 17:05:01 [core.py:700] "
    found = placed(
        head + "EngineCore failed to start.",
        head + "Traceback (most recent call last):",
        head + '  File "core.py", line 1, in run',
        head + "ValueError: no memory",
        "(EngineCore pid=71) INFO 02-24 17:05:02 [core.py:1] leaving",
    )
    assert [head for head, _ in found] == [0, 0, 0, 0, 4]


def test_lines_that_differ_in_stamp_and_port_only_are_repeats() -> None:
    found = placed(
        'INFO:     10.8.0.5:51234 - "GET /v1/models HTTP/1.1" 401 Unauthorized',
        'INFO:     10.8.0.5:51236 - "GET /v1/models HTTP/1.1" 401 Unauthorized',
        'INFO:     10.8.0.5:9236 - "GET /v1/models HTTP/1.1" 401 Unauthorized',
        'INFO:     10.8.0.6:9236 - "GET /v1/models HTTP/1.1" 401 Unauthorized',
    )
    assert found == [(0, False), (0, True), (0, True), (3, False)]
    assert placed(AT.format(1) + " same", AT.format(2) + " same") == [(0, False), (0, True)]


def test_figures_that_move_are_no_repeats() -> None:
    found = placed(
        AT.format(1) + " Decode batch. #running-req: 1, #token: 900",
        AT.format(2) + " Decode batch. #running-req: 1, #token: 901",
    )
    assert found == [(0, False), (1, False)]


def test_where_folding_may_begin() -> None:
    line = Clean(AT.format(1) + " hello")
    assert stands_alone(line, Clean(""))
    assert not stands_alone(line, Clean(AT.format(0) + " hello"))
    assert not stands_alone(Clean("    self.event_loop()"), Clean(""))


def test_the_last_line_of_a_traceback() -> None:
    assert raised(Clean("torch.OutOfMemoryError: CUDA out of memory."))
    assert not raised(Clean("    raise ValueError(1)"))


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                AT.format(1) + " Decode batch.",
                AT.format(2) + " Traceback (most recent call last):",
                "  File x",
                "ValueError: 1",
                "",
                "x",
                "kimi  | [2026-02-24 17:05:01] hello",
                "NCCL WARN x",
                "[rank0]:[E224 17:05:01.000000000 P.cpp:1] Watchdog caught collective operation",
            ]
        ),
        st.text(max_size=30),
    ),
    max_size=60,
)


@given(LINES)
def test_many_lines_at_once_are_folded_as_one_by_one(texts: list[str]) -> None:
    lines = [clean(text.replace("\n", " "), MASKS) for text in texts]
    lines += [Clean(f"{STAMPED}{n // 4 * 'x'}") for n in range(12)]
    one_by_one = Folds()
    placed = [(n, *one_by_one.place(n, text)) for n, text in enumerate(lines)]
    assert Folds().under(0, lines) == [one for one in placed if one[0] != one[1]]


@given(LINES)
def test_every_head_is_a_line_before_that_stands_alone(texts: list[str]) -> None:
    found = placed(*(text.replace("\n", " ") for text in texts))
    for number, (head, _) in enumerate(found):
        assert head <= number
        assert found[head][0] == head
