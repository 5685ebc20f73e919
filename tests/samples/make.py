"""Makes the sample sessions that come with the console: `python -m tests.samples.make [FOLDER]`.

The story is reconstructed: its figures and its two log lines are those of the night as it was
told; everything between them is filled in, and the session says so in its first event.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from console.model.clock import ManualClock, utc_text
from console.model.fleet import Arm, Engine, Wire
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.session.recorder import Recorder
from console.stream.fact import Completeness, FeedState, Link
from console.stream.host_events import HostListed, LinkChanged
from console.stream.run_events import (
    AssumptionStated,
    BenchFinished,
    BenchStarted,
    RunMeasured,
    VerdictReached,
)
from console.stream.server_events import (
    EnvDrifted,
    EnvRead,
    HealthSeen,
    LoadAdvanced,
    LoadEnded,
    LogAdvanced,
    LogFeedChanged,
    LogListed,
    ServerListed,
    TokenSeen,
)
from console.stream.session_events import (
    MarkerPut,
    NoteWritten,
    Noticed,
    SessionClosed,
    SessionOpened,
)
from console.stream.timeline import Timeline
from console.stream.watch import RULES

MASKS = Masks()
SIX = (
    "NCCL_PROTO=LL",
    "NCCL_ALGO=Ring",
    "NCCL_P2P_LEVEL=SYS",
    "NCCL_MAX_NCHANNELS=16",
    "NCCL_BUFFSIZE=16777216",
    "NCCL_NTHREADS=512",
)


def c(text: str) -> Clean:
    """Text of this file as Clean."""
    return clean(text, MASKS)


class Night:
    """A session being made by hand, on a clock that only moves when told."""

    def __init__(self, path: Path, origin: str) -> None:
        self.clock = ManualClock(datetime(2026, 2, 24, 16, 48, 30, tzinfo=UTC))
        self.timeline = Timeline(self.clock, RULES)
        self.recorder = Recorder(path, self.timeline.emit)
        self.timeline.subscribe(self.recorder.take)
        self.line = 0
        opened = SessionOpened(
            c("spec-console 0.1.0"), c("kimi.toml"), c(origin), c(utc_text(self.clock.utc()))
        )
        self.timeline.open(
            [
                opened,
                HostListed(c("gpu8"), Wire.ASYNCSSH, c("gpu8")),
                ServerListed(
                    c("kimi-base"), c("gpu8"), c("gpu8:8000"), 8000, Arm.BASELINE,
                    Engine.SGLANG, c("http://localhost:8000"),
                ),
                ServerListed(
                    c("kimi-eagle3"), c("gpu8"), c("gpu8:8000"), 8000, Arm.SPECULATIVE,
                    Engine.SGLANG, c("http://localhost:8000"),
                ),
                LogListed(c("kimi-base"), c("kimi-base"), c("/data/logs/sglang_baseline_nccl.log")),
            ]
        )  # fmt: skip
        self.emit = self.timeline.emit

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)

    def log(self, lines: Iterable[str]) -> None:
        """Lines of the baseline's log."""
        texts = tuple(c(line) for line in lines)
        self.emit(LogAdvanced(c("kimi-base"), self.line, len(texts), lines=texts))
        self.line += len(texts)

    def stamp(self) -> str:
        """The head of a log line, as the server's own clock would write it."""
        return self.clock.utc().strftime("%Y-%m-%d %H:%M:%S")

    def end(self) -> None:
        """Close in order."""
        self.emit(SessionClosed(c("left")))
        self.recorder.close()


def health(night: Night, code: int, wait_s: float) -> None:
    """One health answer of the baseline."""
    seen = HealthSeen(c("kimi-base"), c("/health"), round(wait_s * 1e6), code)
    night.emit(seen)


def load(night: Night) -> None:
    """The load of the baseline, in eight minutes."""
    total = 163
    for done in range(0, total + 1, 9):
        left_us = round((total - done) / total * 470e6)
        name = c("kimi-base")
        night.emit(LoadAdvanced(name, c("weights"), min(done, total), total, left_us, c("TP5")))
        bar = (
            f"Loading safetensors checkpoint shards: {done / total:4.0%} Completed | {done}/{total}"
        )
        night.log([bar])
        if done % 36 == 0:
            refused(night)
        night.wait(26)
    night.log([f"[{night.stamp()} TP{rank}] Load weight end." for rank in range(8)])
    night.emit(LoadAdvanced(c("kimi-base"), c("graph capture"), 3, 4, 20_000_000))
    night.wait(18)
    night.log([f"[{night.stamp()}] The server is fired up and ready to roll!"])


def refused(night: Night) -> None:
    """The port is still closed."""
    from console.model.failure import Failure

    seen = HealthSeen(
        c("kimi-base"), c("/health"), 400, None, Failure.REFUSED, c("connection refused")
    )
    night.emit(seen)


def bench(night: Night, name: str, server: str, arm: Arm, rates: list[float]) -> None:
    """Five runs of one request, one warm-up before them."""
    workload = ((c("prompt"), c("story-500")), (c("tokens"), c("500")), (c("streams"), c("1")))
    night.emit(
        BenchStarted(c(name), c(server), arm, 1, c("one prompt, five runs"), workload, c("host"))
    )
    for number, rate in enumerate(rates):
        night.wait(500 / rate + 0.4)
        ttft_us = 310_000 if arm is Arm.BASELINE else 318_000
        night.emit(RunMeasured(c(name), number, 500, ttft_us, rate, warm_up=number == 0))
        night.emit(TokenSeen(c(server), c("run"), rate))
        line = (
            f"[{night.stamp()} TP0] Decode batch, #running-req: 1, #token: 612, token usage: "
            f"0.00, cuda graph: True, gen throughput (token/s): {rate:.2f}, #queue-req: 0"
        )
        if arm is Arm.BASELINE:
            night.log([line])
    kept = rates[1:]
    mean = sum(kept) / len(kept)
    night.emit(BenchFinished(c(name), True, c(""), ((c("decode_tok_s"), round(mean, 2)),)))


def story(path: Path) -> None:
    """The night, from the wrong belief to the right conclusion."""
    night = Night(path, "reconstructed")
    night.emit(
        NoteWritten(c("Reconstructed from the story's figures; times between are filled in."))
    )
    night.emit(LinkChanged(c("gpu8"), Link.UP, rtt_us=3000))
    night.emit(LogFeedChanged(c("kimi-base"), FeedState.FOLLOWING))
    measured(night)
    hunted(night)
    restarted(night)
    night.end()


def measured(night: Night) -> None:
    """Speculation seems to lose against a believed 90; a fresh baseline is really 62.9."""
    night.emit(AssumptionStated(c("baseline"), 90.0, c("carried over from an earlier session")))
    night.emit(MarkerPut(c("speculative arm measured")))
    bench(night, "s1", "kimi-eagle3", Arm.SPECULATIVE, [73.0, 75.3, 74.4, 75.2, 74.8, 75.3])
    night.wait(20)
    night.emit(MarkerPut(c("fresh baseline measured")))
    bench(night, "b1", "kimi-base", Arm.BASELINE, [61.8, 62.7, 62.9, 63.0, 62.8, 63.1])
    night.emit(
        VerdictReached(
            c("b1"),
            c("s1"),
            c("FASTER"),
            c("75.0 against 62.9 tok/s, decode only; 5+5 runs, one prompt, these launches"),
            75.0 / 62.9,
            reasons=(c("the 90 tok/s that was believed is an assumption, not a baseline"),),
        )
    )


def hunted(night: Night) -> None:
    """The six variables are gone; their values turn up in the plan file."""
    night.wait(60)
    pairs = [pair.split("=") for pair in SIX]
    name = c("kimi-base")
    night.emit(EnvRead(name, c("launcher"), Completeness.WHOLE, (), 4101))
    night.emit(EnvDrifted(name, tuple(map(c, SIX)), (), c("lost since the container restarted")))
    night.emit(Noticed(name, c("warning"), c("6 NCCL variables lost since the run of 90 tok/s")))
    night.wait(45)
    wanted = tuple((c(variable), c(value)) for variable, value in pairs)
    night.emit(EnvRead(name, c("plan"), Completeness.WHOLE, wanted, why=c("train_plan_v4.md:212")))


def restarted(night: Night) -> None:
    """Killed and launched again with them: a long load, then the two lines that say it is up."""
    night.wait(30)
    night.emit(MarkerPut(c("restarted with the six variables of train_plan_v4.md")))
    load(night)
    night.wait(2)
    health(night, 503, 0.004)
    night.wait(2)
    prefill = (
        f"[{night.stamp()} TP0] Prefill batch, #new-seq: 1, #new-token: 1, #cached-token: 0, "
        "token usage: 0.00, #running-req: 0, #queue-req: 0, input throughput (token/s): 0.05, "
        "cuda graph: False"
    )
    access = f'[{night.stamp()}] INFO:     127.0.0.1:51514 - "GET /health HTTP/1.1" 200 OK'
    night.log([prefill, access])
    health(night, 200, 1.003)
    night.emit(LoadEnded(c("kimi-base"), True, 520_000_000))
    night.emit(MarkerPut(c("ready: the benchmark that decides comes next, on both arms")))
    night.wait(4)


def torn(whole: Path, path: Path) -> None:
    """The story as a lost recording leaves it: one block damaged, the end cut in mid-block."""
    raw = bytearray(whole.read_bytes())
    note = raw.index(b"filled in")
    raw[note : note + 6] = b"\x00\xffl" + b"\x1b]0"
    cut = raw.index(b"Completed | 99/163")
    path.write_bytes(raw[: cut + 5])


def main() -> None:
    """Write every sample into the folder named, or into sample_sessions."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("sample_sessions")
    folder.mkdir(exist_ok=True)
    path = folder / "story.toml"
    path.unlink(missing_ok=True)
    story(path)
    path.chmod(0o644)
    torn(path, folder / "torn.toml")


if __name__ == "__main__":
    main()
