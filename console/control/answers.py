"""Answers of the verbs that only look, from State and stores: the same live and in a replay.

Pure; asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from console.control.port import Argument, Outcome
from console.model.exits import Exit
from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.fact import FeedState
from console.stream.host_events import GpusJoined
from console.stream.joined import apart, by_nvlink, legend_lines, matrix_lines, worst
from console.stream.logs import Logs, last_lines
from console.stream.server_events import HealthSeen
from console.stream.state import State

if TYPE_CHECKING:
    from console.services.probe import Probed

_OK = 200
_LINES = 10
_BAD_FEEDS = (FeedState.MISSING, FeedState.UNREADABLE, FeedState.CUT)


def expected_code(arguments: Mapping[str, Argument]) -> int:
    """The status code a health step expects."""
    value = arguments.get("expect", _OK)
    return value if isinstance(value, int) else _OK


def line_count(arguments: Mapping[str, Argument]) -> int:
    """How many lines a tail step shows."""
    value = arguments.get("lines", _LINES)
    return value if isinstance(value, int) else _LINES


def health_outcome(state: State, seen: HealthSeen, expect: int) -> Outcome:
    """What a health answer means for a step that expected a code."""
    results: dict[str, str | int | float] = {
        "wait_us": seen.wait_us,
        "standing": state.standing(seen.server).value,
        "failure": seen.failure.value if seen.failure else "",
    }
    if seen.code is not None:
        results["code"] = seen.code
    took = f"{seen.wait_us / 1e6:.3f} s"
    if seen.failure is not None:
        text = f"{seen.path} {seen.failure.value} after {took}"
        more = f": {seen.why}" if seen.why and seen.why != seen.failure.value else ""
        return Outcome(seen.failure.exit, Clean(text + more), results)
    said = f"{seen.path} {seen.code} in {took}"
    if seen.code == expect:
        more = f" ({seen.why})" if seen.why else ""
        return Outcome(Exit.OK, Clean(said + more), results)
    return Outcome(Exit.ASSERTION, Clean(f"{said}, {expect} was expected"), results)


def token_outcome(state: State, server: str, probed: Probed, masks: Masks) -> Outcome:
    """What one token asked for means for a step that wanted it."""
    results: dict[str, str | int | float] = {
        "path": probed.path,
        "wait_us": probed.wait_us,
        "failure": probed.failure.value if probed.failure else "",
        "standing": state.standing(server).value,
    }
    if probed.why:
        code = probed.failure.exit if probed.failure else Exit.ASSERTION
        return Outcome(code, clean(f"no token: {probed.why}", masks), results)
    took = f"{probed.wait_us / 1e6:.3f} s"
    return Outcome(Exit.OK, Clean(f"a token came back from {probed.path} in {took}"), results)


def topology_outcome(joined: GpusJoined | None, why: Clean) -> Outcome:
    """How GPUs are joined, as one line, with both matrices as lines; or why that is not known."""
    if joined is None:
        return Outcome(Exit.STEP, why)
    lines, without = matrix_lines(joined), apart(joined)
    count = len({one for pair, _ in joined.links for one in pair.split("-")})
    by = "NVLink" if by_nvlink(joined) else "PCIe only"
    told = f"; {len(without)} pairs without peer access" if without else ""
    text = Clean(f"{count} GPUs joined by {by}, longest way {worst(joined)}{told}")
    results: dict[str, str | int | float] = {
        "gpus": count,
        "worst": worst(joined),
        "nvlink": int(by_nvlink(joined)),
        "apart": len(without),
    }
    told_lines = [Clean(line) for line in (*lines, *legend_lines(joined))]
    return Outcome(Exit.OK, text, results, told_lines)


def tail_outcome(state: State, logs: Logs, log: LogId, count: int) -> Outcome | None:
    """The last lines of a log, or why there are none; None when nothing is known yet."""
    cell = state.logs.get(log)
    if cell is None:
        return None
    feed = cell.feed
    if feed is not None and feed.feed in _BAD_FEEDS:
        place = cell.listed.place if cell.listed else log
        code = feed.failure.exit if feed.failure else Exit.STEP
        return Outcome(code, Clean(f"{place}: {feed.why or feed.feed.value}"))
    if cell.mark.end == 0 and (feed is None or feed.feed is not FeedState.FOLLOWING):
        return None
    found = last_lines(logs, log, count, cell.mark.end)
    results: dict[str, str | int | float] = {"count": len(found), "lines": "\n".join(found)}
    results["last"] = found[-1] if found else ""
    said = f"{len(found)} line" + ("" if len(found) == 1 else "s")
    return Outcome(Exit.OK, Clean(said), results, found)
