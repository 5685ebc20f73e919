"""What one streamed response brought, and how many tokens that was.

Owns the record of a run as the worker writes it and the judgement on the server's token count:
usage, meta_info or timings, held against everything else the response says. It must never count
chunks as tokens or fall back to the requested length; a count that cannot be right is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Status = Literal["ok", "http", "error", "stalled", "disconnected", "unreachable", "cancelled"]
STATUSES: tuple[Status, ...] = (
    "ok",
    "http",
    "error",
    "stalled",
    "disconnected",
    "unreachable",
    "cancelled",
)


HIDDEN_TOKENS = 8
"""Tokens without text that an answer may hold where nothing tells them: marks of begin and end."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event: ns after the request was sent, the server's count so far, ids in it, text."""

    t_ns: int
    count: int | None
    ids: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One response. `chunks` hold every event that was read; times are monotonic ns.

    `coalesced`: share of events that came in one read with an earlier one. `stall_p99_ns`: how
    late the worker itself woke during the run. `spec`, `timings`, `usage` as the server sent them.
    """

    run: str
    status: Status
    why: str
    http: int
    chunks: tuple[Chunk, ...]
    finish: str | None
    usage: Mapping[str, object]
    spec: Mapping[str, object]
    timings: Mapping[str, object]
    coalesced: float
    stall_p99_ns: int
    stall_max_ns: int
    connect_ns: int

    def bearing(self) -> tuple[Chunk, ...]:
        """The chunks that brought tokens: text, or a higher count where the text is held back
        (a real server sends a count with empty text while a character is incomplete). A first
        count that follows text is the usage at the end and brings none."""
        found: list[Chunk] = []
        high = 0
        for chunk in self.chunks:
            held_back = (chunk.count or 0) > high and (high > 0 or not found)
            if chunk.text or held_back:
                found.append(chunk)
            high = max(high, chunk.count or 0)
        return tuple(found)

    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks)

    def prompt_tokens(self) -> int | None:
        return whole(self.usage.get("prompt_tokens"))

    def cached_tokens(self) -> int | None:
        """Prompt tokens that the prefix cache held, where the server says so."""
        details = self.usage.get("prompt_tokens_details")
        nested = details.get("cached_tokens") if isinstance(details, Mapping) else None
        for said in (self.usage.get("cached_tokens"), nested, self.timings.get("cache_n")):
            if whole(said) is not None:
                return whole(said)
        return None


@dataclass(frozen=True, slots=True)
class Counted:
    """`tokens` of a response, and what else in it says the same number."""

    tokens: int
    proofs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """No count, hence no rate; `why` is for people."""

    why: str


def count(answer: Answer, asked: int) -> Counted | Refused:
    """Tokens of a finished response to a request for at most `asked` tokens.

    The last count the server sent is taken if nothing contradicts it: not the chunks with text
    (each holds a token at least), the running count, the token ids, nor the requested length.
    """
    if answer.status != "ok":
        return Refused(f"{answer.status}: {answer.why}" if answer.why else answer.status)
    bearing = answer.bearing()
    counts = [chunk.count for chunk in answer.chunks if chunk.count is not None]
    if not bearing:
        return Refused("the response holds no token")
    if not counts:
        return Refused("the server sent no token count")
    said = counts[-1]
    after = list(answer.chunks[answer.chunks.index(bearing[-1]) :])
    if all(chunk.count is None for chunk in after):
        return Refused(f"the count of {said} came before the last text")
    if any(later < earlier for earlier, later in pairwise(counts)):
        return Refused("the server's count went down during the run")
    with_text = sum(1 for chunk in bearing if chunk.text)
    if said < with_text:
        return Refused(f"{with_text} chunks bring text, but the count says {said} tokens")
    if said > asked:
        return Refused(f"the count says {said} tokens, {asked} were asked for")
    return _proved(answer, said, asked)


def _proved(answer: Answer, said: int, asked: int) -> Counted | Refused:
    proofs = []
    rises = _rises(answer)
    if len(rises) > 1:
        step, had_text = rises[-1]
        usual = max(rise for rise, _ in rises[:-1])
        if step > usual and not had_text:
            return Refused(
                f"the last count rises by {step} without text, before by {usual} at most"
            )
        proofs.append("running count")
    ids = [chunk.ids for chunk in answer.chunks if chunk.ids is not None]
    if any(ids):
        cumulative = _cumulative(answer)
        held = ids[-1] if cumulative else sum(ids)
        # llama.cpp sends no event for a token that leaves a character incomplete, nor its id.
        unsent = not cumulative and held < said == asked and answer.finish == "length"
        if held != said and not unsent:
            return Refused(f"{held} token ids, but the count says {said}")
        if held == said:
            proofs.append("token ids")
    if answer.finish == "length":
        if said != asked:
            return Refused(f"stopped by length, but {said} tokens are counted of {asked}")
        proofs.append("requested length")
    size = len(answer.text().encode("utf-8", "surrogatepass"))
    if not proofs and said > size + HIDDEN_TOKENS:
        return Refused(f"the count says {said} tokens, the text has {size} bytes")
    return Counted(said, tuple(proofs))


def _rises(answer: Answer) -> list[tuple[int, bool]]:
    """By how much the count rose at each chunk that raised it, and whether text came with it."""
    found, high = [], 0
    for chunk in answer.chunks:
        if chunk.count is not None and chunk.count > high:
            found.append((chunk.count - high, bool(chunk.text)))
            high = chunk.count
    return found


def _cumulative(answer: Answer) -> bool:
    """Whether each event repeats all ids so far (SGLang's default) or brings its own only."""
    return all(c.ids == c.count for c in answer.chunks if c.ids is not None)


def read_answer(raw: Mapping[str, object]) -> Answer:
    """The worker's record of a run; ValueError, TypeError or KeyError where it is none."""
    status = next((s for s in STATUSES if s == raw["status"]), None)
    rows = raw["events"]
    if status is None or not isinstance(rows, list):
        raise ValueError("no record of a run")
    finish = raw["finish"]
    return Answer(
        run=str(raw["run"]),
        status=status,
        why=str(raw["why"]),
        http=_number(raw["http"]),
        chunks=tuple(_chunk(row) for row in rows),
        finish=finish if isinstance(finish, str) else None,
        usage=_table(raw["usage"]),
        spec=_table(raw["spec"]),
        timings=_table(raw["timings"]),
        coalesced=_share(raw["coalesced"]),
        stall_p99_ns=_number(raw["stall_p99_ns"]),
        stall_max_ns=_number(raw["stall_max_ns"]),
        connect_ns=_number(raw["connect_ns"]),
    )


def whole(value: object) -> int | None:
    """An integer that is no bool, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _chunk(row: object) -> Chunk:
    match row:
        case [int(t_ns), said, ids, str(text)]:
            return Chunk(t_ns, whole(said), whole(ids), text)
    raise ValueError("no chunk")


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int:
    found = whole(value)
    if found is None:
        raise ValueError("not a whole number")
    return found


def _share(value: object) -> float:
    if not isinstance(value, int | float):
        raise ValueError("not a number")
    return float(value)
