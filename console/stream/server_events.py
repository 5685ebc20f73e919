"""What was seen of servers and their logs.

Records only. A field named `why` is one line for a person; remote text in any field is Clean.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from console.model.failure import Failure
from console.model.fleet import Arm, Engine
from console.model.text import Clean
from console.stream.fact import (
    NOTHING,
    Completeness,
    Condition,
    Fact,
    FeedState,
    Figures,
    GapKind,
    Pairs,
    Standing,
)


@dataclass(frozen=True, slots=True)
class ServerListed(Fact):
    """A server of the fleet file, as it was when the session began."""

    server: Clean
    host: Clean
    slot: Clean
    port: int
    arm: Arm
    engine: Engine
    url: Clean


@dataclass(frozen=True, slots=True)
class HealthSeen(Fact):
    """One request to a health path ended: with a status code, or with a failure."""

    server: Clean
    path: Clean
    wait_us: int
    code: int | None = None
    failure: Failure | None = None
    why: Clean = NOTHING


@dataclass(frozen=True, slots=True)
class StandingChanged(Fact):
    """A watch rule concluded another standing."""

    server: Clean
    standing: Standing
    why: Clean


@dataclass(frozen=True, slots=True)
class EngineSeen(Fact):
    """Which engine and version answers, and by what it was recognised."""

    server: Clean
    engine: Engine
    version: Clean
    model: Clean
    evidence: Clean


@dataclass(frozen=True, slots=True)
class ArmSeen(Fact):
    """Which arm runs, from resolved arguments; None when this server's arm is not loaded."""

    server: Clean
    evidence: Clean
    arm: Arm | None = None


@dataclass(frozen=True, slots=True)
class ArgsSeen(Fact):
    """The resolved arguments of a running server."""

    server: Clean
    args: Pairs


@dataclass(frozen=True, slots=True)
class LoadAdvanced(Fact):
    """A load moved: phase, and how far where the log has a fraction."""

    server: Clean
    phase: Clean
    done: int | None = None
    total: int | None = None
    eta_us: int | None = None
    slowest: Clean = NOTHING


@dataclass(frozen=True, slots=True)
class LoadEnded(Fact):
    """A load is over: ready, or failed with the marker and the lines that show it."""

    server: Clean
    ready: bool
    took_us: int
    marker: Clean = NOTHING
    why: Clean = NOTHING
    first_line: int | None = None
    line_count: int = 0


@dataclass(frozen=True, slots=True)
class ConditionSeen(Fact):
    """The log of a server that is up shows why it is silent or slow, or that this is over."""

    server: Clean
    condition: Condition
    why: Clean = NOTHING
    eta_us: int | None = None


@dataclass(frozen=True, slots=True)
class MetricSeen(Fact):
    """One reading of a server's figures under canonical names; what is not exported is absent.

    Attributes:
        since: number of the reading before, which holds every figure that did not change; 0 for a
            whole reading. Only session files hold others.
    """

    server: Clean
    source: Clean
    figures: Figures
    since: int = 0


@dataclass(frozen=True, slots=True)
class TokenSeen(Fact):
    """The latest sign that tokens are made: a counter moved, or a decode line came."""

    server: Clean
    source: Clean
    decode_tok_s: float | None = None
    accept_len: float | None = None


@dataclass(frozen=True, slots=True)
class EnvRead(Fact):
    """One reading of an environment from one place (`launcher`, `rank 3`, `tracker`, …)."""

    server: Clean
    source: Clean
    completeness: Completeness
    values: Pairs
    pid: int | None = None
    why: Clean = NOTHING


@dataclass(frozen=True, slots=True)
class ProcessSeen(Fact):
    """The process that holds a server's port, or why none could be told.

    Attributes:
        pid: the launcher; None with the reason in `why`.
        started: UTC, as `utc_text` writes it; so `container_started`. Empty where unknown.
        container: id of the container it runs in; empty for none.
        library: path of the libnccl that its processes have mapped.
    """

    server: Clean
    pid: int | None = None
    started: Clean = NOTHING
    container: Clean = NOTHING
    container_started: Clean = NOTHING
    library: Clean = NOTHING
    why: Clean = NOTHING


@dataclass(frozen=True, slots=True)
class CollectiveSeen(Fact):
    """What a server's log tells of its communication.

    Attributes:
        version: of NCCL, as the log writes it; empty as long as it does not.
        path: `console.nccl.allreduce.Path` in words: who moves the bytes of an all-reduce.
        proof: the line that shows it, `line` its number in the log.
    """

    server: Clean
    version: Clean = NOTHING
    path: Clean = NOTHING
    proof: Clean = NOTHING
    line: int | None = None


@dataclass(frozen=True, slots=True)
class EnvDrifted(Fact):
    """The environment is not the one of the last good run; with nothing lost or changed it is
    that one again."""

    server: Clean
    lost: tuple[Clean, ...]
    changed: Pairs
    why: Clean


@dataclass(frozen=True, slots=True)
class LogListed(Fact):
    """A log that is followed, and where it is."""

    log: Clean
    server: Clean
    place: Clean


@dataclass(frozen=True, slots=True)
class LogAdvanced(Fact):
    """Whole lines came in.

    Attributes:
        first: number of the first line; the last is `first + count - 1`.
        file: device and inode, empty for a command source.
        byte: offsets in the file, from and past the end of these lines; empty likewise.
        joined: how many events directly before it this one stands for as well. Only session
            files hold others than 0.
        lines: the lines themselves; empty in State, stores hold them.
    """

    log: Clean
    first: int
    count: int
    file: tuple[int, ...] = ()
    byte: tuple[int, ...] = ()
    joined: int = field(default=0, kw_only=True)
    lines: tuple[Clean, ...] = ()


@dataclass(frozen=True, slots=True)
class LogGap(Fact):
    """The line stream is interrupted here; it uses up `span` numbers from `at` on."""

    log: Clean
    at: int
    span: int
    gap: GapKind
    text: Clean
    lost_lines: int | None = None
    lost_bytes: int | None = None
    reread_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LogFeedChanged(Fact):
    """The tail of a log changed what it is doing."""

    log: Clean
    feed: FeedState
    failure: Failure | None = None
    why: Clean = NOTHING


@dataclass(frozen=True, slots=True)
class LogMarked(Fact):
    """How far a log reaches; written in seek points only, in place of its lines."""

    log: Clean
    first: int
    end: int
    dropped: int
