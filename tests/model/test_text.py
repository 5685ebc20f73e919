"""Remote text: what a terminal would obey or hide is named, colours stay canonical, text stays."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from console.model.ansi import Style
from console.model.mask import Masks
from console.model.text import Clean, clean, clean_lines, plain, styled

SEQUENCES = [
    ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "<OSC>link<OSC>"),
    ("\x1b]52;c;cm0gLXJm\x07x", "<OSC>x"),
    ("\x1b]0;title\x07x", "<OSC>x"),
    ("\x1b]0;title\x9cx", "<OSC>x"),
    ("\x1b]0;title\x18x", "<OSC>x"),
    ("\x1b]0;never ends", "<OSC>"),
    ("\x1b]0;ti\x1b[31mtle\x07x", "<OSC>x"),
    ("\x9d0;title\x07x", "<OSC>x"),
    ("\x1b]", "<OSC>"),
    ("\x1bcx", "<ESC>x"),
    ("\x1b7x\x1b8", "<ESC>x<ESC>"),
    ("\x1b[?1049hx\x1b[?25l", "<CSI>x<CSI>"),
    ("\x1b_Gf=100,a=T;AAAA\x1b\\x", "<APC>x"),
    ("\x9fGf=100;AAAA\x9cx", "<APC>x"),
    ("\x1bPq#0;2;0;0;0~~\x1b\\x", "<DCS>x"),
    ("\x90q~~\x9cx", "<DCS>x"),
    ("\x1bPtmux;\x1b\x1b]52;c;x\x07\x1b\\y", "<DCS>y"),
    ("\x1bXsos\x1b\\x", "<SOS>x"),
    ("\x1b^pm\x1b\\x", "<PM>x"),
    ("\x1bktitle\x1b\\x", "<ESC>x"),
    ("x\x1b", "x<ESC>"),
    ("\x1b\x1b[A", "<ESC><CSI>"),
    ("\x1b\x1b]0;a\x07x", "<ESC><OSC>x"),
    ("\x1b[\x1b[Ax", "<CSI><CSI>x"),
    ("\x9b2Kx", "<CSI>x"),
    ("\x9b", "<CSI>"),
    ("\x1b[2K\x1b[1G50%", "<CSI><CSI>50%"),
    ("\x1b[ qx", "<CSI>x"),
    ("\x1b[!px", "<CSI>x"),
    ("\x1b[?31mx", "<CSI>x"),
    ("\x1b[>4;1mx", "<CSI>x"),
    ("\x1b[1 mx", "<CSI>x"),
    ("\x1b[2\x07Kx", "<CSI>x"),
    ("\x1b[3\x071mx", "<CSI>x"),
    ("\x1b\x00[2Kx", "<CSI>x"),
    ("\x1b[2\x18Kx", "<CSI><CAN>Kx"),
    ("\x1b[", "<CSI>"),
    ("\x1b[31", "<CSI>"),
    ("\x1b[31é", "<CSI>é"),
    ("\x1b[[A", "<CSI>"),
    ("\x1b[200~x", "<CSI>x"),
    ("\x1bOAx", "<ESC>x"),
    ("\x1b(Bx", "<ESC>x"),
    ("\x1b#8x", "<ESC>x"),
    ("\x1b(", "<ESC>"),
    ("\x1bé", "<ESC>é"),
    ("\x9cx", "<U+009C>x"),
    ("[2K ^[[32m <CSI>", "[2K ^[[32m <CSI>"),
]  # fmt: skip

COLOURS = [
    ("\x1b[31mx\x1b[0m", "\x1b[31mx\x1b[0m"),
    ("\x1b[31mx", "\x1b[31mx\x1b[0m"),
    ("\x1b[31mx\x1b[39m", "\x1b[31mx\x1b[39m"),
    ("\x1b[1mx\x1b[22my", "\x1b[1mx\x1b[22my"),
    ("\x9b31mx", "\x1b[31mx\x1b[0m"),
    ("\x1b[mx", "\x1b[0mx"),
    ("\x1b[1;;31mx", "\x1b[1;0;31mx\x1b[0m"),
    ("\x1b[001;0031mx", "\x1b[1;31mx\x1b[0m"),
    ("\x1b[0;31;5mx", "\x1b[0;31mx\x1b[0m"),
    ("\x1b[5mx\x1b[6my\x1b[8mz", "xyz"),
    ("\x1b[31;99mx", "\x1b[31mx\x1b[0m"),
    ("\x1b[99999999999999999999mx", "x"),
    ("\x1b[97;107mx", "\x1b[97;107mx\x1b[0m"),
    ("\x1b[38;5;200mx", "\x1b[38;5;200mx\x1b[0m"),
    ("\x1b[38;5;300;1mx", "\x1b[1mx\x1b[0m"),
    ("\x1b[48;2;1;2;3mx", "\x1b[48;2;1;2;3mx\x1b[0m"),
    ("\x1b[38;2;1;2mx", "x"),
    ("\x1b[38mx\x1b[38;5my", "xy"),
    ("\x1b[38:5:200mx", "\x1b[38;5;200mx\x1b[0m"),
    ("\x1b[38:2:1:2:3mx", "\x1b[38;2;1;2;3mx\x1b[0m"),
    ("\x1b[38:2::1:2:3mx", "\x1b[38;2;1;2;3mx\x1b[0m"),
    ("\x1b[4:3mx", "\x1b[4mx\x1b[0m"),
    ("\x1b[4mx\x1b[4:0my", "\x1b[4mx\x1b[24my"),
    ("\x1b[58;5;1;31mx", "\x1b[31mx\x1b[0m"),
    ("\x1b[58:5:1mx", "x"),
    ("\x1b[" + "1;" * 200 + "mx", "<CSI>x"),
]

CHARACTERS = [
    ("a\tb", "a\tb"),
    ("a\nb\r", "a<LF>b<CR>"),
    ("a\x08b", "a<BS>b"),
    ("\x00\x00\x00", "<NUL><NUL><NUL>"),
    ("\x00\x00\x00\x00a", "<NUL>×4a"),
    ("\x07\x7f\x7f\x7f\x7f\x7f", "<BEL><DEL>×5"),
    ("\x1b\x1b", "<ESC><ESC>"),
    ("\x85", "<U+0085>"),
    ("\u202eabc\u202c", "<U+202E>abc<U+202C>"),
    ("a\u200bb\ufeff", "a<U+200B>b<U+FEFF>"),
    ("👩\u200d💻", "👩<U+200D>💻"),
    ("\u2028\u2066\u061c\ufff9", "<U+2028><U+2066><U+061C><U+FFF9>"),
    ("\U000e0041", "<U+E0041>"),
    ("\ud800 \udcff", "<U+D800> <U+DCFF>"),
    ("Größe 模型 ✓ é \u0301 שלום", "Größe 模型 ✓ é \u0301 שלום"),
]


@pytest.mark.parametrize(("raw", "expected"), SEQUENCES + COLOURS + CHARACTERS)
def test_each_input_has_one_safe_form(raw: str, expected: str) -> None:
    assert clean(raw, Masks()) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a\xffb\xc3", "a\ufffdb\ufffd"),
        (b"\x9b2K", "\ufffd2K"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xc2\x9b2K", "<CSI>"),
        (b"\xc0\x9b", "\ufffd\ufffd"),
        ("größe".encode(), "größe"),
    ],
)
def test_bytes_are_read_as_utf8_and_never_refused(raw: bytes, expected: str) -> None:
    assert clean(raw, Masks()) == expected
    assert clean_lines([raw], Masks()) == [expected]


def test_no_lines_give_no_lines() -> None:
    assert clean_lines([], Masks()) == []
    assert clean_lines([b""], Masks()) == [""]


def test_a_line_feed_inside_a_line_is_named_also_among_others() -> None:
    assert clean_lines([b"a", b"b\nc", b"d"], Masks()) == ["a", "b<LF>c", "d"]


def test_styles_and_plain_text_part_ways() -> None:
    text = clean("a\x1b[1;31mb\x1b[38;5;200mc\x1b[48;2;1;2;3md\x1b[0me\x1b[2;3;4;7;9;97mf", Masks())
    assert styled(text) == [
        ("a", Style()),
        ("b", Style(fg=1, bold=True)),
        ("c", Style(fg=200, bold=True)),
        ("d", Style(fg=200, bg=(1, 2, 3), bold=True)),
        ("e", Style()),
        ("f", Style(fg=15, dim=True, italic=True, underline=True, reverse=True, strike=True)),
    ]
    assert plain(text) == "abcdef"


def test_styles_that_end_where_they_began_are_one_piece() -> None:
    assert styled(clean("a\x1b[31m\x1b[39mb", Masks())) == [("ab", Style())]
    assert styled(Clean("")) == []


PIECES = st.one_of(
    st.sampled_from([raw for raw, _ in SEQUENCES + COLOURS + CHARACTERS]),
    st.sampled_from(["\x1b", "[", "]", "m", "31", ";", ":", "\\", "\x07", "\x9b", "<", "<masked>"]),
    st.sampled_from(
        ["api_key", "=", "'", '"', ": ", "--token", " ", "hf_abcDEF1234", "Bearer ", "\\"]
    ),
    st.sampled_from(
        ["x://a:b@", "sk-", "abcdefgh1", "&", ",", "[", "<NUL>", "%3D", "token", "password"]
    ),
    st.text(max_size=5),
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=14).map("".join))
RAWS = st.one_of(
    st.binary(max_size=80), TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass"))
)
SHOWN_SGR = re.compile("\x1b\\[([0-9]+;)*[0-9]+m")


@settings(max_examples=400)
@given(TEXTS)
def test_nothing_that_acts_or_hides_gets_through(raw: str) -> None:
    shown = SHOWN_SGR.sub("", clean(raw, Masks()))
    # Format characters that do show (signs of numbers in Arabic and the like) may stay.
    acting = [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c != "\t"]
    assert acting == []
    assert (
        re.search("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u061c\ufff9-\ufffb\xad]", shown)
        is None
    )
    assert re.search("[\U000e0000-\U000e007f]", shown) is None


@settings(max_examples=600)
@given(RAWS)
@example(b"api_key=\x1b[31m")
def test_cleaning_what_is_clean_changes_nothing(raw: bytes) -> None:
    masks = Masks()
    once = clean(raw, masks)
    assert clean(once, masks) == once
    assert clean(once.encode(), masks) == once


@settings(max_examples=400)
@given(st.lists(RAWS, max_size=8))
def test_many_lines_are_cleaned_like_each_in_turn(raws: list[bytes]) -> None:
    one, many = Masks(), Masks()
    assert clean_lines(raws, many) == [clean(raw, one) for raw in raws]
    assert many.forms == one.forms


@given(TEXTS)
def test_the_text_ends_in_the_terminals_own_look(raw: str) -> None:
    assert styled(Clean(clean(raw, Masks()) + "x"))[-1][1] == Style()


@given(TEXTS)
def test_styled_pieces_make_up_the_plain_text(raw: str) -> None:
    shown = clean(raw, Masks())
    assert "".join(part for part, _ in styled(shown)) == plain(shown)


HARMLESS = st.text(
    st.characters(
        whitelist_categories=("Lu", "Ll", "Lo", "Nd", "So"), whitelist_characters=" .,#()"
    ),
    max_size=60,
).filter(lambda text: re.search("(?i)bearer|AKIA|AIza|[\u115f\u1160\u3164\uffa0]", text) is None)


@given(HARMLESS)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert clean(text, Masks()) == text
    assert clean_lines([text.encode()], Masks()) == [text]


def test_a_flood_of_sequences_is_shown_in_full_and_harmless() -> None:
    assert clean("\x1b[A" * 60_000, Masks()) == "<ESC>[A" * 60_000
    assert clean("\x9bA" * 60_000, Masks()) == "<U+009B>A" * 60_000


@pytest.mark.parametrize(
    "unit",
    ["\x1b", "\x1b[", "\x1b]", "\x1bP\x1b", "\x1b\0", "\x1b[31m", "\0\1", "api_key=", "api_key='",
     "api_key=[", "api_key=(", "://a:b@", "://", "-eyJ", "key", "token=,a", "-----BEGIN ",
     "\\", "Bearer "],
)  # fmt: skip
def test_a_long_hostile_line_is_cleaned(unit: str) -> None:
    raw = unit * (400_000 // len(unit))
    masks = Masks()
    shown = clean(raw, masks)
    assert "\x1b" not in SHOWN_SGR.sub("", shown)
    assert clean(shown, masks) == shown
