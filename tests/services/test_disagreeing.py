"""Ranks with different NCCL variables, said once they are sure to differ."""

from __future__ import annotations

from console.model.fleet import Arm, Server
from console.model.mask import Masks
from console.model.text import Clean
from console.services.collective import Collective
from console.services.disagreeing import Disagreeing
from console.stream.server_events import LogAdvanced
from console.stream.session_events import Noticed
from tests.engines.observing import case

LINE = "{host}:{pid}:{pid} [{gpu}] NCCL INFO {name} set by environment to {value}"


def said(gpu: int, value: str, *, host: str = "a", pid: int = 0, name: str = "NCCL_PROTO") -> str:
    return LINE.format(host=host, pid=pid or 100 + gpu, gpu=gpu, name=name, value=value)


def told(*batches: list[str]) -> list[str]:
    found = Disagreeing(Clean("base"), Masks())
    return [notice.text for batch in batches for notice in found.take(batch)]


def test_the_settled_case_names_the_odd_rank() -> None:
    server = Server("base", "slot", Arm.BASELINE, "http://127.0.0.1:8000")
    lines = tuple(Clean(line) for line in case("05"))
    events = Collective(server, Masks()).take(
        LogAdvanced(Clean("base"), 0, len(lines), lines=lines)
    )
    notices = [e for e in events if isinstance(e, Noticed)]
    assert [(n.severity, n.text) for n in notices] == [
        ("warning", "ranks disagree on NCCL_P2P_LEVEL: NVL on GPU 0-5, 7; SYS on GPU 6")
    ]
    assert "same environment" in notices[0].remedy


def test_nothing_is_said_while_none_differs_or_only_some_have_spoken() -> None:
    assert told([said(n, "LL") for n in range(8)]) == []
    assert told([said(6, "LL"), said(1, "1", name="NCCL_NVLS_ENABLE")]) == []


def test_hosts_are_named_where_there_are_several() -> None:
    rows = [said(n, "LL", host=host) for host in ("a", "b") for n in range(2)]
    assert told([*rows, said(1, "Simple", host="b", pid=101)]) == [
        "ranks disagree on NCCL_PROTO: LL on a GPU 0-1, b GPU 0; Simple on b GPU 1"
    ]


def test_another_launch_is_not_compared_with_the_one_before() -> None:
    first = [said(n, "LL") for n in range(4)]
    second = [said(n, "Simple", pid=900 + n) for n in range(4)]
    assert told(first, second) == []


def test_it_is_told_again_as_more_ranks_speak_and_then_no_more() -> None:
    batches = [[said(n, "LL" if n % 2 else "Simple")] for n in range(32)]
    assert len(told(*batches)) == 3
