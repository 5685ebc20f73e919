"""Figures that other tools measured, read from their JSON as assumptions.

Owns the formats of guidellm, aiperf, vllm bench serve, sglang bench_serving and llama-bench, and
the words for what each tool's number means. What comes from here is `Imported`: it may be drawn
dotted, never serve as a baseline, and never pass for a decode rate it is not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Imported:
    """One figure of another tool.

    `decode_tok_s`: the nearest thing to our decode rate, None if the tool gives none;
    `definition`: how that tool makes it; `streams`: concurrent requests, None where not told.
    """

    tool: str
    decode_tok_s: float | None
    definition: str
    ttft_ms: float | None
    streams: float | None
    model: str | None
    acceptance_length: float | None = None

    def caveats(self) -> tuple[str, ...]:
        """Why this number may not mean what it seems to."""
        said = []
        if self.decode_tok_s is None:
            said.append("the file holds no rate of a single stream's decode")
        if self.streams is not None and self.streams > 1:
            said.append(f"measured with {self.streams:g} streams at once, not with one")
        return tuple(said)


@dataclass(frozen=True, slots=True)
class NotImported:
    """A file that is none of the known results, or that lacks what is needed."""

    why: str


def import_results(text: str) -> list[Imported] | NotImported:
    """All figures of a result file: JSON, or JSON lines (several results)."""
    try:
        documents = [json.loads(text)]
    except (ValueError, RecursionError):
        try:
            documents = [json.loads(line) for line in text.split("\n") if line.strip()]
        except (ValueError, RecursionError) as error:
            return NotImported(f"neither JSON nor JSON lines: {error}")
    found: list[Imported] = []
    for document in documents:
        for known in (_guidellm, _aiperf, _llama_bench, _sglang, _vllm):
            figures = known(document)
            if figures:
                found += figures
                break
    return found or NotImported(
        "no result of guidellm, aiperf, vllm bench, sglang bench_serving or llama-bench"
    )


def _guidellm(document: object) -> list[Imported]:
    """`benchmarks[].metrics.<name>.successful.mean`. Its inter_token_latency leaves TTFT out and is
    what others call TPOT; its time_per_output_token does not."""
    found = []
    for benchmark in _list(document, "benchmarks"):
        itl_ms = _at(benchmark, "metrics", "inter_token_latency_ms", "successful", "mean")
        if itl_ms is None and _at(benchmark, "metrics", "output_tokens_per_second") is None:
            continue
        found.append(
            Imported(
                tool="guidellm",
                decode_tok_s=_per_second(itl_ms),
                definition="1 / mean inter-token latency: (last - first) / (N - 1), mean of runs",
                ttft_ms=_number(
                    _at(benchmark, "metrics", "time_to_first_token_ms", "successful", "mean")
                ),
                streams=_number(
                    _at(benchmark, "metrics", "request_concurrency", "successful", "mean")
                ),
                model=_text(_at(benchmark, "request_loader", "processor")),
            )
        )
    return found


def _aiperf(document: object) -> list[Imported]:
    """`<metric>.avg` with `unit`; inter_token_latency = (latency - TTFT) / (OSL - 1)."""
    itl = _at(document, "inter_token_latency", "avg")
    if itl is None or _at(document, "inter_token_latency", "unit") is None:
        return []
    return [
        Imported(
            tool="aiperf",
            decode_tok_s=_per_second(itl),
            definition="1 / mean inter-token latency: (latency - TTFT) / (tokens - 1)",
            ttft_ms=_number(_at(document, "time_to_first_token", "avg")),
            streams=_number(_at(document, "input_config", "loadgen", "concurrency")),
            model=_text(_at(document, "input_config", "endpoint", "model_names", 0)),
        )
    ]


def _llama_bench(document: object) -> list[Imported]:
    """A list of tests; those that generate have n_gen > 0 and no prompt to process."""
    rows = document if isinstance(document, list) else [document]
    return [
        Imported(
            tool="llama-bench",
            decode_tok_s=_number(_at(row, "avg_ts")),
            definition="mean of n_gen / time over repetitions, no server and no sampling",
            ttft_ms=None,
            streams=1,
            model=_text(_at(row, "model_filename")) or _text(_at(row, "model_type")),
        )
        for row in rows
        if _number(_at(row, "avg_ts")) and _number(_at(row, "n_gen")) and not _at(row, "n_prompt")
    ]


def _sglang(document: object) -> list[Imported]:
    """One JSON line a run; `accept_length` is the server's lifetime average, not the run's."""
    if _at(document, "mean_tpot_ms") is None or _at(document, "dataset_name") is None:
        return []
    return [
        Imported(
            tool="sglang bench_serving",
            decode_tok_s=_per_second(_at(document, "mean_tpot_ms")),
            definition="1 / mean TPOT: (last line incl. usage - TTFT) / (N - 1)",
            ttft_ms=_number(_at(document, "mean_ttft_ms")),
            streams=_number(_at(document, "max_concurrency"))
            or _number(_at(document, "concurrency")),
            model=_text(_at(document, "server_info", "model_path")),
            acceptance_length=_number(_at(document, "accept_length")),
        )
    ]


def _vllm(document: object) -> list[Imported]:
    """One JSON object; its ITL is a chunk gap and is left alone."""
    if _at(document, "mean_tpot_ms") is None or _at(document, "output_throughput") is None:
        return []
    return [
        Imported(
            tool="vllm bench serve",
            decode_tok_s=_per_second(_at(document, "mean_tpot_ms")),
            definition="1 / mean TPOT: (last token chunk - TTFT) / (N - 1)",
            ttft_ms=_number(_at(document, "mean_ttft_ms")),
            streams=_number(_at(document, "max_concurrency")),
            model=_text(_at(document, "model_id")),
            acceptance_length=_number(_at(document, "spec_decode_acceptance_length")),
        )
    ]


def _at(document: object, *path: str | int) -> object:
    """The value at a path of keys and indices, None where there is none."""
    for step in path:
        match document:
            case Mapping() if step in document:
                document = document[step]
            case list() if isinstance(step, int) and step < len(document):
                document = document[step]
            case _:
                return None
    return document


def _list(document: object, key: str) -> list[object]:
    found = _at(document, key)
    return found if isinstance(found, list) else []


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _per_second(milliseconds: object) -> float | None:
    """1000 / ms, None for what is no positive number."""
    number = _number(milliseconds)
    return 1e3 / number if number and number > 0 else None
