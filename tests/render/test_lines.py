from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.model.ansi import Style
from console.model.mask import Masks
from console.model.palette import Role
from console.model.span import width
from console.model.text import clean, plain
from console.render.lines import MOST_CHARACTERS, Piece, notice, pieces

MASKS = Masks()


def cut(text: str | bytes) -> list[tuple[str, Role]]:
    return [(piece.text, piece.role) for piece in pieces(clean(text, MASKS))]


def test_head_and_rank_are_marked() -> None:
    assert cut("[2026-02-24 17:05:01 TP0] Decode batch.") == [
        ("[2026-02-24 17:05:01 ", Role.LOG_TIME),
        ("TP0", Role.LOG_RANK),
        ("] ", Role.LOG_TIME),
        ("Decode batch.", Role.TEXT),
    ]


def test_level_words_are_marked() -> None:
    assert cut("NCCL WARN Call failed") == [
        ("NCCL ", Role.TEXT),
        ("WARN", Role.LOG_WARNING),
        (" Call failed", Role.TEXT),
    ]
    assert ("torch.OutOfMemoryError", Role.LOG_ERROR) in cut("torch.OutOfMemoryError: CUDA")
    assert ("Traceback", Role.LOG_ERROR) in cut("Traceback (most recent call last):")
    assert cut("no ERRORS here") == [("no ERRORS here", Role.TEXT)]


def test_the_servers_colours_stay() -> None:
    found = pieces(clean(b"\x1b[32mgreen\x1b[0m plain", MASKS))
    assert found == (
        Piece("green", Role.TEXT, Style(fg=2)),
        Piece(" plain", Role.TEXT),
    )


def test_tabs_go_to_the_next_stop() -> None:
    assert "".join(piece.text for piece in pieces(clean("a\tbc\t界\td", MASKS))) == (
        "a       bc      界      d"
    )


def test_a_very_long_line_says_how_much_is_left_out() -> None:
    found = pieces(clean("x" * 12_345, MASKS))
    assert found[-1] == Piece(" … 8,345 more characters", Role.LOG_NOTICE)
    assert sum(len(piece.text) for piece in found[:-1]) == MOST_CHARACTERS


def test_a_notice_is_ruled_to_the_room() -> None:
    (piece,) = notice("link lost 42 s", 40)
    assert piece.text == "── link lost 42 s ──────────────────────"
    assert width(piece.text) == 40
    (piece,) = notice("longer than the room", 10)
    assert piece.text == "── longer than the room ──"


@given(st.one_of(st.text(max_size=200), st.binary(max_size=200)))
def test_nothing_is_lost_or_changed(raw: str | bytes) -> None:
    line = clean(raw if isinstance(raw, bytes) else raw.replace("\t", " "), MASKS)
    shown = "".join(piece.text for piece in pieces(line))
    if "\t" in line:
        assert shown.replace(" ", "") == plain(line).replace("\t", "").replace(" ", "")
    else:
        assert shown == plain(line)
