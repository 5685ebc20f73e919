"""Beside the editor: what a variable is, how a line may go on, what NCCL makes of the text."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from console.model.span import Spans, plain_text
from console.nccl.version import Version
from console.render.editing import (
    check_lines,
    completions,
    diff_lines,
    hint_lines,
    text_of,
    values_of,
)
from console.render.spans import cells


def said(lines: Sequence[Spans]) -> str:
    return " ".join(" ".join(plain_text(line).split()) for line in lines)


def test_a_text_holds_variables_both_ways() -> None:
    env = {"NCCL_PROTO": "LL", "NCCL_SOCKET_IFNAME": "^lo,docker 0", "NCCL_X": ""}
    assert values_of(text_of(env)) == env


def test_names_and_values_are_completed() -> None:
    assert completions("proto")[0] == "NCCL_PROTO="
    assert "NCCL_MAX_NCHANNELS=" in completions("NCHANNELS")
    assert completions("NCCL_PROTO=l") == ["NCCL_PROTO=LL", "NCCL_PROTO=LL128"]
    assert completions("") == []
    assert "NCCL_GRAPH_STREAM_ORDERING=" not in completions("NCCL_GRAPH", Version(2, 10))


def test_a_known_variable_is_explained_and_a_part_of_one_leads_on() -> None:
    told = said(hint_lines("NCCL_BUFFSIZE=1", 60))
    assert "default 4194304" in told
    assert "NCCL_BUFFSIZE=" in said(hint_lines("BUFFS", 60))


def test_findings_are_those_of_the_text_as_it_stands() -> None:
    assert said(check_lines("NCCL_PROTO=Simple\n", "", 80)[1]) == "✓ nothing to say"
    told = said(check_lines("NCCL_BUFFSIZE=16M\n", "", 80)[1])
    assert told.startswith("error NCCL_BUFFSIZE=16M")
    assert "NCCL_PROTOX" in said(check_lines("NCCL_PROTOX=1\n", "", 80)[1])
    own, rest = check_lines("NCCL_PROTOX=1\nNCCL_BUFFSIZE=16M\n", "export NCCL_BUFFSIZE=16M", 80)
    assert "M is dropped" in said(own)
    assert "NCCL_PROTOX" in said(rest)


def test_the_difference_to_what_is_in_effect_is_told() -> None:
    told = said(diff_lines("NCCL_PROTO=LL\n", {"NCCL_ALGO": "Ring"}, 80))
    assert told == "NCCL_ALGO Ring → unset NCCL_PROTO unset → LL"
    assert said(diff_lines("NCCL_ALGO=Ring\n", {"NCCL_ALGO": "Ring"}, 80)) == "no difference"


@given(st.text(max_size=80), st.integers(8, 120))
def test_any_text_fits_and_ends_in_no_error(text: str, room: int) -> None:
    line = text.partition("\n")[0]
    judged = check_lines(text, line, room)
    for lines in (hint_lines(line, room), *judged, diff_lines(text, {}, room)):
        assert all(cells(one) <= room for one in lines)
    completions(line)
