"""Ranks that were started with different NCCL variables, by NCCL's own words in the log.

Owns what each GPU's process said of itself in this launch. A variable that only some speak of is
none: others may not have come to it yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from console.engines.facts import NcclSetSeen
from console.engines.grammar import parse_line
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.session_events import Noticed

_SAID = " set by environment to "
_MOST_RANKS = 1024
_MOST_TOLD = 3  # a name is told again as more ranks speak, and then no more
_REMEDY = "Start every rank with the same environment; else NCCL may hang, or crawl along."

Rank = tuple[str, int]
"""Host and GPU."""


class Disagreeing:
    """Feed the lines of one log in order."""

    def __init__(self, server: Clean, masks: Masks) -> None:
        self._server = server
        self._masks = masks
        self.forget()

    def forget(self) -> None:
        """Another launch."""
        self._pids: dict[Rank, int | None] = {}
        self._values: dict[str, dict[Rank, str]] = {}
        self._told: dict[str, list[str]] = {}

    def take(self, rows: Iterable[str]) -> Iterator[Noticed]:
        """A warning for each variable in which ranks differ."""
        touched: dict[str, None] = {}
        for row in rows:
            if _SAID not in row:
                continue
            for line in parse_line(row):
                if isinstance(line.fact, NcclSetSeen) and line.fact.device is not None:
                    self._said((line.fact.host, line.fact.device), line.head.pid, line.fact)
                    touched[line.fact.name] = None
        for name in touched:
            yield from self._judge(name)

    def _said(self, rank: Rank, pid: int | None, fact: NcclSetSeen) -> None:
        if self._pids.get(rank, pid) != pid or len(self._pids) >= _MOST_RANKS:
            self.forget()
        self._pids[rank] = pid
        self._values.setdefault(fact.name, {})[rank] = fact.value

    def _judge(self, name: str) -> Iterator[Noticed]:
        by_value: dict[str, list[Rank]] = {}
        for rank, value in self._values.get(name, {}).items():
            by_value.setdefault(value, []).append(rank)
        if len(by_value) < 2:
            return
        most_first = sorted(by_value.items(), key=lambda pair: -len(pair[1]))
        several = len({host for host, _ in self._pids}) > 1
        parts = [f"{value} on {_named(ranks, several)}" for value, ranks in most_first]
        text = f"ranks disagree on {name}: {'; '.join(parts)}"
        told = self._told.setdefault(name, [])
        if text not in told and len(told) < _MOST_TOLD:
            told.append(text)
            shown = clean(text, self._masks)
            yield Noticed(self._server, Clean("warning"), shown, Clean(_REMEDY))


def _named(ranks: list[Rank], several: bool) -> str:
    """`GPU 0-5, 7`, each host by its name where there are `several`."""
    return ", ".join(
        f"{host} GPU {_spans([gpu for _, gpu in of_host])}"
        if several
        else f"GPU {_spans([gpu for _, gpu in of_host])}"
        for host, of_host in groupby(sorted(ranks), key=lambda rank: rank[0])
    )


def _spans(numbers: list[int]) -> str:
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(str(s[0]) if len(s) == 1 else f"{s[0]}-{s[-1]}" for s in spans)
