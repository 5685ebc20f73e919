"""A script's outcome as a page of Markdown, fit for a pull request or a chat.

Every foreign text in it is quoted; it repeats what the report said and adds no judgement.
"""

from __future__ import annotations

from collections.abc import Iterator

from console.model.exits import MEANINGS, Exit
from console.model.markdown import fenced, quoted
from console.model.text import plain
from console.plain.ledger import Ended, Entry
from console.render.units import duration
from console.stream.state import State

_MOST_LINES = 20


def summary(ended: Ended, state: State) -> str:
    """The file's text."""
    return "\n".join(_lines(ended, state)) + "\n"


def _lines(ended: Ended, state: State) -> Iterator[str]:
    word = "passed" if ended.code is Exit.OK else f"exit {ended.code.value}"
    yield f"## {quoted(ended.name)}: {word}\n"
    if ended.code is not Exit.OK:
        yield f"**{MEANINGS[ended.code]}**\n"
    for verdict in state.verdicts[-1:]:
        ratio = f" ({(verdict.ratio - 1) * 100:+.1f} %)" if verdict.ratio is not None else ""
        yield f"**{quoted(plain(verdict.verdict))}**{ratio}: {quoted(plain(verdict.text))}\n"
        yield from (f"- {quoted(plain(reason))}" for reason in verdict.reasons)
        yield ""
    yield "| step | server | result | took | said |"
    yield "|---|---|---|---|---|"
    yield from map(_row, ended.entries)
    yield ""
    for entry in ended.entries:
        yield from _shown(entry)
    began = f", began {ended.utc}" if ended.utc else ""
    yield f"Fleet {quoted(ended.fleet)}{began}"
    if ended.session:
        yield f"\nSession: {quoted(ended.session)}"


def _row(entry: Entry) -> str:
    step, server = quoted(f"{entry.step.id} ({entry.step.verb})"), quoted(entry.server)
    if entry.outcome is None:
        return f"| {step} | {server} | left out | | {quoted(entry.why)} |"
    code = entry.outcome.exit
    result = "passed" if code is Exit.OK else f"**failed, exit {code.value}**"
    said = quoted(plain(entry.outcome.text))
    return f"| {step} | {server} | {result} | {duration(entry.took_us)} | {said} |"


def _shown(entry: Entry) -> Iterator[str]:
    """The log lines that a step brought."""
    if entry.outcome is None or not entry.outcome.lines:
        return
    lines = [plain(line) for line in entry.outcome.lines]
    more = f", the last {_MOST_LINES} of {len(lines)} lines" if len(lines) > _MOST_LINES else ""
    yield f"{quoted(entry.name)}{more}:\n"
    yield from fenced(lines[-_MOST_LINES:])
    yield ""
