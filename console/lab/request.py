"""One generation of the simulated server, and what the server counts over all of them.

Plain records: nothing here waits, writes or sends.
"""

from __future__ import annotations

import asyncio
import collections
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

from console.lab.tokens import reply


@dataclass(frozen=True, slots=True)
class Chunk:
    """How far a request had come after one step: tokens and characters since its start."""

    tokens: int
    end: int
    last: bool


@dataclass(slots=True)
class Request:
    """One generation and all its answer tells about it. Times are seconds since the epoch."""

    prompt: str
    limit: int
    ignore_eos: bool = False
    streaming: bool = False
    rid: str = field(default_factory=lambda: uuid.uuid4().hex)
    ids: list[int] = field(default_factory=list)
    text: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    verifies: int = 0
    accepted: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    received: float = 0.0
    admitted: float = 0.0
    first: float = 0.0
    finished: float = 0.0
    reason: str = ""
    chunks: asyncio.Queue[Chunk] = field(default_factory=asyncio.Queue)
    _words: Iterator[tuple[int, str]] | None = None
    _steps: Iterator[tuple[float, int]] | None = None

    @property
    def correct_drafts(self) -> int:
        """Drafted tokens that were kept."""
        return sum(count * index for index, count in enumerate(self.accepted))

    def start(self, steps: Iterator[tuple[float, int]]) -> None:
        """Begin its answer; `steps` gives each decode step's seconds and tokens."""
        self._words = reply(self.prompt)
        self._steps = steps

    def step(self) -> tuple[float, int]:
        """Seconds and tokens of its next decode step."""
        assert self._steps is not None
        return next(self._steps)

    def take(self, tokens: int) -> int:
        """Append up to that many tokens; the number appended."""
        assert self._words is not None
        tokens = min(tokens, self.limit - len(self.ids))
        for _ in range(tokens):
            number, word = next(self._words)
            self.ids.append(number)
            self.text += word
        if len(self.ids) >= self.limit:
            self.reason = "length"
        elif not self.ignore_eos and len(self.ids) >= 300:
            self.reason = "stop"
        return tokens

    def offer(self) -> None:
        """Put what has come so far into a chunk, for whoever streams it."""
        self.chunks.put_nowait(Chunk(len(self.ids), len(self.text), bool(self.reason)))


@dataclass(slots=True)
class Window:
    """What a Decode line tells: counted since the line before."""

    since: float
    steps: int = 0
    tokens: int = 0
    verifies: int = 0
    drafts: int = 0


@dataclass(slots=True)
class Totals:
    """What the server has counted since it started."""

    prompt: int = 0
    computed: int = 0
    cached: int = 0
    decoded: int = 0
    generated: collections.Counter[bool] = field(default_factory=collections.Counter)
    prompts: collections.Counter[bool] = field(default_factory=collections.Counter)
    requests: collections.Counter[bool] = field(default_factory=collections.Counter)
    aborted: int = 0
    verifies: int = 0
    steps: int = 0
    prefills: int = 0
    lifetime_tokens: int = 0
    lifetime_verifies: int = 0
    observed: list[tuple[str, bool, float]] = field(default_factory=list)
