"""What can be learned from a server's log: one frozen record per kind of fact.

Owns the vocabulary between the grammars, the folds and the screens. A value that a line
does not carry is None, never 0. Knows no text format and never parses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from console.model.fleet import Engine

Severity: TypeAlias = Literal["debug", "info", "warning", "error"]
Edge: TypeAlias = Literal["begin", "end", "at"]
Phase: TypeAlias = Literal[
    "arguments",
    "distributed",
    "weights",
    "compile",
    "kv cache",
    "graphs",
    "summary",
    "http",
    "warm-up",
    "ready",
]
BarKind: TypeAlias = Literal["shards", "graphs", "compile", "download", "other"]


@dataclass(frozen=True, slots=True)
class DecodeSeen:
    """SGLang's decode line. `tok_s` covers the time since the last such line, idle included.

    `accept_len` counts the bonus token; `accept_rate` has two definitions, see `acceptance`.
    """

    running: int
    tokens: int | None
    usage: float | None
    accept_len: float | None
    accept_rate: float | None
    tok_s: float
    queue: int
    graph: bool | None
    iteration: int | None = None
    more: tuple[tuple[str, str], ...] = ()  # fields of hybrid, mamba and PD servers, as written


@dataclass(frozen=True, slots=True)
class PrefillSeen:
    """SGLang's prefill line; `tok_s` is input throughput, `hit_rate` a fraction of 1."""

    new_seq: int
    new_tokens: int
    cached_tokens: int
    usage: float | None
    running: int | None
    queue: int | None
    pending: int | None = None
    hit_rate: float | None = None
    graph: bool | None = None
    tok_s: float | None = None
    iteration: int | None = None
    more: tuple[tuple[str, str], ...] = ()

    @property
    def probe(self) -> bool:
        """Whether this is how an idle server's own health probe looks: one token, no cache."""
        return (self.new_seq, self.new_tokens, self.cached_tokens, self.running) == (1, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class PhaseSeen:
    """A start-up marker. `part` narrows the phase ("draft decode", "prefill", "NCCL init")."""

    phase: Phase
    edge: Edge
    part: str = ""
    elapsed_s: float | None = None
    avail_gb: float | None = None
    used_gb: float | None = None
    tokens: int | None = None  # KV capacity
    draft: bool | None = None  # None: the line does not say whose weights or graphs


@dataclass(frozen=True, slots=True)
class BarSeen:
    """One state of a progress bar. `eta_s` and `item_s` are the bar's own claim."""

    kind: BarKind
    label: str
    done: float
    total: float
    part: str = ""
    elapsed_s: float | None = None
    eta_s: float | None = None
    item_s: float | None = None

    @property
    def fraction(self) -> float:
        """0.0 to 1.0."""
        return min(1.0, self.done / self.total) if self.total else 0.0


@dataclass(frozen=True, slots=True)
class FailureSeen:
    """A known failure marker; the words are in `markers`, found by `marker`."""

    marker: str
    detail: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str:
        """A detail by name, "" where the line does not give it."""
        return dict(self.detail).get(name, "")


@dataclass(frozen=True, slots=True)
class AccessSeen:
    method: str
    path: str
    code: int
    client: str = ""

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]


@dataclass(frozen=True, slots=True)
class ArgsSeen:
    """Arguments as a server resolved them. Secrets in them are the caller's to mask."""

    args: dict[str, object] = field(hash=False)
    whole: bool = True  # False: only what differs from the defaults
    version: str | None = None


@dataclass(frozen=True, slots=True)
class VersionSeen:
    engine: Engine
    version: str


@dataclass(frozen=True, slots=True)
class NcclVersionSeen:
    version: str


@dataclass(frozen=True, slots=True)
class NcclSetSeen:
    """NCCL's own word that it read a variable: the strongest evidence there is."""

    name: str
    value: str
    device: int | None = None
    host: str = ""


@dataclass(frozen=True, slots=True)
class NcclInitSeen:
    rank: int
    nranks: int
    device: int
    done: bool


@dataclass(frozen=True, slots=True)
class NcclLinkSeen:
    """A channel between two ranks and how it travels ("P2P/CUMEM/read", "SHM/direct/direct")."""

    rank: int
    peer: int
    via: str


@dataclass(frozen=True, slots=True)
class ReadySeen:
    address: str = ""


@dataclass(frozen=True, slots=True)
class ListeningSeen:
    """The port is bound; for SGLang that is not yet ready."""

    address: str


@dataclass(frozen=True, slots=True)
class StartupTimesSeen:
    """Real durations in seconds, reported once after the start (SGLang 0.5.23)."""

    seconds: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class StatsSeen:
    """vLLM's statistics line: averages over a fixed window of wall time, idle included."""

    prompt_tok_s: float
    tok_s: float
    running: int
    waiting: int
    usage: float | None
    cache_hit: float | None
    engine: str = ""


@dataclass(frozen=True, slots=True)
class SpecSeen:
    """Acceptance as vLLM and llama.cpp report it.

    `accept_len` is 1 + accepted / drafts; `fraction` is accepted / drafted tokens.
    """

    accept_len: float | None
    fraction: float
    accepted: int
    drafted: int
    positions: tuple[float, ...] = ()
    task: int | None = None


@dataclass(frozen=True, slots=True)
class TimingSeen:
    """llama.cpp's timing lines.

    kind "prompt" and "eval" are a request's results, "progress" and "live" are while it runs;
    `tok_s` is the mean since the request began, `window_tok_s` the last three seconds.
    """

    kind: Literal["prompt", "eval", "total", "progress", "live"]
    slot: int
    task: int
    tokens: int
    ms: float | None = None
    tok_s: float | None = None
    window_tok_s: float | None = None
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class SlotSeen:
    """A llama.cpp slot took a task or let it go."""

    slot: int
    task: int
    busy: bool


@dataclass(frozen=True, slots=True)
class IterationSeen:
    """A TensorRT-LLM iteration: offered tokens are no throughput, so none is given."""

    iteration: int
    running: int
    step_s: float


@dataclass(frozen=True, slots=True)
class ExitSeen:
    """A wrapper or parent says that a process ended. `restarts` is systemd's counter."""

    what: str
    code: int | None
    restarts: int | None = None


@dataclass(frozen=True, slots=True)
class NoteSeen:
    """A known line that carries nothing to count: its kind, for filters and for the reader."""

    kind: str


Fact: TypeAlias = (
    DecodeSeen
    | PrefillSeen
    | PhaseSeen
    | BarSeen
    | FailureSeen
    | AccessSeen
    | ArgsSeen
    | VersionSeen
    | NcclVersionSeen
    | NcclSetSeen
    | NcclInitSeen
    | NcclLinkSeen
    | ReadySeen
    | ListeningSeen
    | StartupTimesSeen
    | StatsSeen
    | SpecSeen
    | TimingSeen
    | SlotSeen
    | IterationSeen
    | ExitSeen
    | NoteSeen
)
