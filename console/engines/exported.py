"""What an exposition tells of how a server was started, where nothing else does.

Owns vLLM's info families and what the presence of its speculation counters means. A figure that
is only sometimes exported proves nothing by its absence, unless its engine says so.
"""

from __future__ import annotations

import re

from prometheus_client.parser import text_string_to_metric_families

from console.engines.answers import Info
from console.engines.arm import Running
from console.model.fleet import Arm, Engine

_CONFIG = re.compile(r"^vllm[:_]cache_config_info\{.*$", re.M)
_OURS = re.compile(r"^vllm[:_]num_requests_running[{ ]", re.M)
_DRAFTS = re.compile(r"^(?:vllm[:_]|trtllm_)spec_decode_num_draft(?:s|_tokens)_total[{ ]", re.M)
_POSITION = re.compile(
    r'^vllm[:_]spec_decode_num_accepted_tokens_per_pos_total\{[^}\n]*position="(\d{1,3})"', re.M
)
_LABELS_OF_RANKS = ("engine", "engine_index")


def told(engine: Engine, body: str) -> Info | None:
    """Arguments and arm as far as metrics tell them; None where they tell nothing.

    vLLM registers its speculation counters when, and only when, it was given a
    speculative_config, one accepted-tokens counter for each drafted position.
    """
    args: dict[str, object] = {}
    if engine is Engine.VLLM and (m := _CONFIG.search(body)):
        args = _labels(m[0])
    running = _running(engine, body)
    return Info(engine, running=running, args=args) if args or running else None


def _running(engine: Engine, body: str) -> Running | None:
    if _DRAFTS.search(body):
        positions = {int(n) for n in _POSITION.findall(body)}
        return Running(Arm.SPECULATIVE, "speculative", draft_tokens=len(positions) or None)
    if engine is Engine.VLLM and _OURS.search(body):
        return Running(Arm.BASELINE)
    return None


def _labels(line: str) -> dict[str, object]:
    try:
        families = list(text_string_to_metric_families(line + "\n"))
    except (ValueError, IndexError):
        return {}
    found = {k: v for family in families for s in family.samples for k, v in s.labels.items()}
    return {k: v for k, v in found.items() if k not in _LABELS_OF_RANKS}
