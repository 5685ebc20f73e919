"""How benchmarks ended: the words, the figures for later steps, and the exit code.

Pure. A benchmark that is not valid is no success, whatever was measured before it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.control.bench_launches import CANCELLED
from console.control.port import Outcome
from console.model.exits import Exit
from console.model.failure import Failure
from console.model.mask import Masks
from console.model.text import clean
from console.stream.run_events import BenchFinished
from console.stream.state import State


def bench_outcome(state: State, bench: str, masks: Masks) -> Outcome:
    """How a benchmark ended: OK only when it is valid."""
    cell = state.benches[bench]
    assert cell.started is not None
    assert cell.finished is not None
    finished = cell.finished
    figures: dict[str, float] = dict(finished.figures)
    results: dict[str, str | int | float] = {"bench": bench, "valid": str(finished.valid).lower()}
    results |= {"decode_tok_s": 0.0, "low": 0.0, "high": 0.0, "runs": 0, **figures}
    # What a valid one still says is how far a baseline is from its own history.
    results["departed"] = finished.why if finished.valid and finished.why else "none"
    said = f"{bench}: {cell.started.server} ({cell.started.arm.value}) "
    said += rate_words(figures)
    if finished.why:
        said += f"; {finished.why}" if finished.valid else f"; not valid: {finished.why}"
    return Outcome(_exit(finished), clean(said, masks), results)


def _exit(finished: BenchFinished) -> Exit:
    """The code of its end; a failure of the wire begins with its word."""
    if finished.valid:
        return Exit.OK
    word = finished.why.partition(":")[0]
    if word in list(Failure):
        return Failure(word).exit
    return Exit.INTERRUPTED if finished.why.startswith(CANCELLED) else Exit.STEP


def benches_outcome(state: State, benches: Sequence[str], masks: Masks) -> Outcome:
    """How one or two benchmarks ended: the results of the first, the words of both."""
    found = [bench_outcome(state, bench, masks) for bench in benches]
    first = next((one for one in found if not one.ok), found[0])
    text = clean("; ".join(one.text for one in found), masks)
    return Outcome(first.exit, text, found[0].results)


def rate_words(figures: Mapping[str, float]) -> str:
    """`62.9 tok/s [62.6, 63.2], 5 runs, TTFT 310 ms`."""
    rate = figures.get("decode_tok_s")
    if rate is None:
        return "no run counts"
    parts = [f"{rate:.1f} tok/s"]
    if "low" in figures:
        parts[0] += f" [{figures['low']:.1f}, {figures['high']:.1f}]"
    runs = round(figures.get("runs", 0))
    parts.append(f"{runs} run{'' if runs == 1 else 's'}")
    if "ttft_us" in figures:
        parts.append(f"TTFT {figures['ttft_us'] / 1e3:.0f} ms")
    if "accept_len" in figures:
        parts.append(f"{figures['accept_len']:.2f} tokens a pass")
    return ", ".join(parts)
