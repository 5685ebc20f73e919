"""What a log tells of communication: versions, what NCCL read, the way of the all-reduce."""

from __future__ import annotations

from console.model.fleet import Arm, LogId, Server
from console.model.mask import Masks
from console.model.text import Clean
from console.services.collective import Collective
from console.stream.events import Event
from console.stream.fact import GapKind
from console.stream.server_events import CollectiveSeen, EnvRead, LogAdvanced, LogGap

LOG = Clean(LogId("s"))
REFUSED = "[2026-02-24 17:00:01 TP3] Custom allreduce is disabled because it's not supported"


def said(rank: int, text: str) -> str:
    return f"gpubox:{4100 + rank}:41{rank}8 [{rank}] NCCL INFO {text}"


class Told:
    """A log read in pieces."""

    def __init__(self) -> None:
        self.collective = Collective(Server("s", "slot", Arm.BASELINE, "http://x"), Masks())
        self.end = 0

    def lines(self, *lines: str) -> list[Event]:
        first, self.end = self.end, self.end + len(lines)
        cleaned = tuple(map(Clean, lines))
        return self.collective.take(LogAdvanced(LOG, first, len(lines), lines=cleaned))


def test_what_nccl_says_it_read_is_kept_by_process() -> None:
    told = Told()
    (read,) = told.lines(
        "a line of somebody else",
        said(0, "NCCL_PROTO set by environment to LL"),
        said(1, "NCCL_PROTO set by environment to LL"),
        said(1, "NCCL_BUFFSIZE set by environment to 16777216."),
    )
    assert isinstance(read, EnvRead)
    assert dict(read.values) == {"NCCL_PROTO": "LL", "NCCL_BUFFSIZE": "16777216"}
    assert (read.source, read.pid) == ("nccl log", 4101)
    assert told.lines(said(1, "NCCL_PROTO set by environment to LL")) == []
    (next_launch,) = told.lines(said(9, "NCCL_ALGO set by environment to Tree"))
    assert isinstance(next_launch, EnvRead)
    assert (dict(next_launch.values), next_launch.pid) == ({"NCCL_ALGO": "Tree"}, 4109)


def test_version_and_way_are_told_once_with_the_line_that_proves_it() -> None:
    told = Told()
    assert told.lines("loading", "weights") == []
    (version,) = told.lines(said(0, "NCCL version 2.27.7+cuda12.9"))
    assert isinstance(version, CollectiveSeen)
    assert (version.version, version.path) == ("2.27.7", "")
    (way,) = told.lines("x", REFUSED)
    assert isinstance(way, CollectiveSeen)
    assert (way.version, way.path, way.line) == ("2.27.7", "NCCL", 4)
    assert way.proof == REFUSED
    assert told.lines(REFUSED, said(1, "NCCL version 2.27.7+cuda12.9")) == []


def test_an_emptied_log_begins_anew() -> None:
    told = Told()
    told.lines(REFUSED, said(0, "NCCL_PROTO set by environment to LL"))
    gap = LogGap(LOG, told.end, 1, GapKind.TRUNCATED, Clean("emptied"))
    assert told.collective.take(gap) == []
    assert len(told.lines(REFUSED, said(0, "NCCL_PROTO set by environment to LL"))) == 2


def test_hostile_values_are_cleaned() -> None:
    (read,) = Told().lines(said(0, "NCCL_PROTO set by environment to \x1b[2Jx"))
    assert isinstance(read, EnvRead)
    assert "\x1b" not in str(dict(read.values))
