"""The editor's form: what it lists for a search, and every change made in the text itself."""

from __future__ import annotations

import pytest

from console.model.span import plain_text, width
from console.nccl.catalogue import lookup
from console.nccl.version import Version
from console.render.editing import values_of
from console.render.env_form import form_lines, form_rows, human, with_value, without

TEXT = "# tuned\nNCCL_PROTO=LL\nHF_HOME=/x\nexport NCCL_BUFFSIZE=16777216\n"


def test_what_is_set_stands_first_and_a_search_finds_names_and_meanings() -> None:
    rows = form_rows(TEXT, "")
    assert [(row.name, row.value) for row in rows[:2]] == [
        ("NCCL_PROTO", "LL"),
        ("NCCL_BUFFSIZE", "16777216"),
    ]
    assert rows[2].value is None
    assert "NCCL_P2P_LEVEL" in [row.name for row in form_rows(TEXT, "peer distance")]
    assert form_rows(TEXT, "buffsize")[0].name == "NCCL_BUFFSIZE"
    assert form_rows("", "nccl_nvls_enable")[0].name == "NCCL_NVLS_ENABLE"


def test_only_what_the_version_reads_is_offered_and_an_unknown_name_can_be_set() -> None:
    old = [row.name for row in form_rows("", "cta_policy", Version(2, 26))]
    assert old == ["NCCL_CTA_POLICY"]  # as a name that this version does not know
    (row,) = form_rows("", "foo_bar")
    assert (row.name, row.about) == ("NCCL_FOO_BAR", None)


def test_a_change_keeps_everything_else() -> None:
    assert with_value(TEXT, "NCCL_PROTO", "Simple") == TEXT.replace("=LL", "=Simple")
    assert with_value(TEXT, "NCCL_ALGO", "Ring") == TEXT + "NCCL_ALGO=Ring\n"
    assert without(TEXT, "NCCL_PROTO") == TEXT.replace("NCCL_PROTO=LL\n", "")
    twice = "NCCL_PROTO=LL\nNCCL_PROTO=LL128\n"
    assert values_of(with_value(twice, "NCCL_PROTO", "Simple")) == {"NCCL_PROTO": "Simple"}
    assert values_of(without(twice, "NCCL_PROTO")) == {}


@pytest.mark.parametrize("value", ["", " ", "a b", "'", '"', "$X", "a\\b", "a#b", "a #b", "`x`"])
def test_every_value_is_read_back(value: str) -> None:
    for text in ("", TEXT, 'NCCL_HOSTID="open\nNCCL_PROTO=LL\n', 'NCCL_PROTO="a\nb"\n'):
        assert values_of(with_value(text, "NCCL_PROTO", value)).get("NCCL_PROTO") == value


def test_a_number_is_told_with_its_unit() -> None:
    assert human("16777216", lookup("NCCL_BUFFSIZE")) == "= 16 MiB"
    assert human("1000", lookup("NCCL_BUFFSIZE")) == "bytes"
    assert human("16M", lookup("NCCL_BUFFSIZE")) == ""
    assert human("8", lookup("NCCL_MIN_NCHANNELS")) == "channels"
    assert human("1", None) == ""


@pytest.mark.parametrize("room", [20, 38, 58, 100])
def test_the_chosen_row_is_in_view_and_nothing_is_too_wide(room: int) -> None:
    rows = form_rows(TEXT, "")
    for cursor in (0, 7, len(rows) - 1):
        lines = form_lines(rows, cursor, room, 10)
        assert len(lines) == 10
        assert max(width(plain_text(line)) for line in lines) <= room
        assert sum("▸" in plain_text(line) for line in lines) == 1
