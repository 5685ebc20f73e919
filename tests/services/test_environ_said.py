"""What a host prints of its processes is read whole or refused; nothing it prints is obeyed."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.nccl.importing.environ import PARTLY, ZEROED, entries, unreadable
from console.services.environ_said import CutShort, read_said
from console.services.ranks import named

_BEFORE = b"""@host 8e476541-aeb2-44cf-82a0-de39acf7d1c4 1795967040.5 1795960000 100 6.8.0-x
@file recipe open
 /srv/r.env
 2:NCCL_PROTO=LL
 9:NCCL_ALGO=Ring
@holders 4100
@process launcher 4100 12345 1000
@title /usr/bin/python3
@library /usr/lib/libnccl.so.2
@environ
 _=
 NCCL_PROTO=a\x01b=c
@options --tp-size --port
@process tracker 4188 12350 1000
@title /usr/bin/python3
@environ
 NCCL_PROTO=LL
@process child 4201 12360 1000
@title sglang::scheduler_TP3
@environ
@process child 4202 12360 1000
@title sglang::scheduler_DP1_TP0
@environ
"""
# An empty line of the block is a blank alone: no editor may take it away.
WHOLE = (
    _BEFORE
    + b" \n"
    + b""" NCCL_CUMEM_ENABLE=0
@process child 4203 12360 0
@title sglang::detokenizer
@shut Permission denied
@container CONTAINER 500
@file conf shut Permission denied
 /etc/nccl.conf
@end
""".replace(b"CONTAINER", b"c" * 64)
)


def test_every_record_is_read() -> None:
    said = read_said(WHOLE)
    assert said.booted == datetime.fromtimestamp(1795960000, UTC)
    moment = said.moment(12345)
    assert moment is not None
    assert (moment - said.booted).total_seconds() == 123.45
    assert (said.kernel, said.container, said.container_ticks) == ("6.8.0-x", "c" * 64, 500)
    launcher = said.launcher
    assert launcher is not None
    assert (launcher.pid, launcher.uid, launcher.library) == (4100, 1000, "/usr/lib/libnccl.so.2")
    assert launcher.block is not None
    assert entries(launcher.block)[1][1:] == ("NCCL_PROTO", "a\nb=c")
    assert said.options == ("--tp-size", "--port")
    recipe, conf = said.files
    assert recipe.text().split("\n") == ["", "NCCL_PROTO=LL", *[""] * 6, "NCCL_ALGO=Ring"]
    assert (conf.label, conf.state, conf.why) == ("/etc/nccl.conf", "shut", "Permission denied")


def test_processes_are_named_by_what_they_are() -> None:
    said = read_said(WHOLE)
    found = dict(named(said.processes))
    assert list(found) == ["launcher", "tracker", "rank 3", "rank DP1 TP0"]
    blocks = [process.block for process in found.values()]
    assert blocks[2] == b""
    assert blocks[3] is not None
    assert unreadable(blocks[3]) == PARTLY
    assert unreadable(b"\0") == ZEROED


@pytest.mark.parametrize("end", [0, 1, 20, 200, len(WHOLE) - 6])
def test_an_answer_that_is_cut_short_is_refused(end: int) -> None:
    with pytest.raises(CutShort):
        read_said(WHOLE[:end])


@pytest.mark.parametrize(
    "record",
    [
        b"@title before any process",
        b"@process launcher x y z",
        b"@process",
        b"@host",
        b"@host a 1e999 99999999999999999999 100 k",
        b"@container c x",
        b"@made up",
        b"@file conf",
    ],
)
def test_a_record_that_was_not_asked_for_is_refused(record: bytes) -> None:
    with pytest.raises(CutShort):
        read_said(record + b"\n@end\n")


def test_a_value_cannot_pretend_to_be_a_record() -> None:
    evil = b"@process launcher 1 1 0\n@environ\n NCCL_X=\x01@process launcher 666 1 0\n@end\n"
    (one,) = read_said(evil).processes
    assert one.pid == 1


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(CutShort):
        said = read_said(data + b"\n@end\n")
        assert said.hertz >= 1


@given(st.data())
def test_any_damage_is_read_or_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(WHOLE) - 1))
    raw = bytearray(WHOLE)
    raw[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    with contextlib.suppress(CutShort):
        said = read_said(bytes(raw))
        for process in said.processes:
            said.moment(process.start_ticks)
        assert len(list(named(said.processes))) <= len(said.processes)
        for file in said.files:
            file.text()
