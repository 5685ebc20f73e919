"""Which communication variables an engine sets itself, per version.

A pure table with its look-up, so that a value nobody asked for can be explained. What the
variables mean is room nccl's; /proc of a scheduler never shows them reliably.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from console.engines.versions import Version
from console.model.fleet import Engine

How = Literal["forced", "default", "removed"]


@dataclass(frozen=True, slots=True)
class SelfSet:
    """`value` "" depends on arguments: see `when`. "default" respects a value that is set."""

    engine: Engine
    name: str
    value: str
    how: How
    since: Version | None = None
    until: Version | None = None
    when: str = ""


_V = Version
_S = Engine.SGLANG
SELF_SET: tuple[SelfSet, ...] = (
    SelfSet(_S, "NCCL_CUMEM_ENABLE", "0", "forced", until=_V(0, 4, 9)),
    SelfSet(
        _S,
        "NCCL_CUMEM_ENABLE",
        "0",
        "forced",
        _V(0, 4, 10),
        _V(0, 5, 5),
        "1 with --enable-symm-mem",
    ),
    SelfSet(
        _S,
        "NCCL_CUMEM_ENABLE",
        "0",
        "default",
        _V(0, 5, 6),
        None,
        "forced to 1 with --enable-symm-mem",
    ),
    SelfSet(_S, "NCCL_NVLS_ENABLE", "0", "forced", until=_V(0, 4, 2)),
    SelfSet(
        _S,
        "NCCL_NVLS_ENABLE",
        "0",
        "forced",
        _V(0, 4, 3),
        _V(0, 5, 5),
        "1 with --enable-nccl-nvls; untouched with --enable-symm-mem",
    ),
    SelfSet(
        _S,
        "NCCL_NVLS_ENABLE",
        "0",
        "default",
        _V(0, 5, 6),
        None,
        "forced to 1 with --enable-nccl-nvls or --enable-symm-mem",
    ),
    SelfSet(_S, "TORCH_NCCL_AVOID_RECORD_STREAMS", "1", "forced", until=_V(0, 5, 0)),
    SelfSet(_S, "CUDA_DEVICE_MAX_CONNECTIONS", "4", "forced", until=_V(0, 5, 3)),
    SelfSet(_S, "CUDA_DEVICE_MAX_CONNECTIONS", "8", "forced", _V(0, 5, 4)),
    SelfSet(_S, "CUDA_MODULE_LOADING", "AUTO", "forced", _V(0, 4, 6), _V(0, 5, 22)),
    SelfSet(_S, "NCCL_GRAPH_MIXING_SUPPORT", "0", "forced", _V(0, 5, 16), when="dcp_size above 1"),
    SelfSet(
        _S,
        "NCCL_GRAPH_REGISTER",
        "0",
        "default",
        _V(0, 5, 23),
        when="graphs are captured on several ranks",
    ),
    SelfSet(
        _S, "NCCL_MNNVL_ENABLE", "1", "default", _V(0, 5, 23), when="several GB200 or GB300 nodes"
    ),
    SelfSet(
        _S,
        "NCCL_ALGO",
        "allreduce:tree",
        "forced",
        _V(0, 5, 3),
        when="--enable-deterministic-inference with tp above 1",
    ),
    SelfSet(
        _S,
        "NCCL_MIN_NCHANNELS",
        "8",
        "forced",
        _V(0, 5, 23),
        when="--enable-deterministic-inference; SGLANG_DETERMINISTIC_NCCL_NCHANNELS",
    ),
    SelfSet(
        _S,
        "NCCL_MAX_NCHANNELS",
        "8",
        "forced",
        _V(0, 5, 23),
        when="--enable-deterministic-inference; SGLANG_DETERMINISTIC_NCCL_NCHANNELS",
    ),
    SelfSet(Engine.VLLM, "NCCL_ASYNC_ERROR_HANDLING", "", "removed", when="in workers"),
    SelfSet(Engine.VLLM, "NCCL_GRAPH_REGISTER", "0", "default", when="cuMem pools for CUDA graphs"),
    SelfSet(
        Engine.VLLM,
        "NCCL_CUMEM_ENABLE",
        "0",
        "forced",
        when="older releases only; since which one it respects the user's value is not known",
    ),
    SelfSet(Engine.VLLM, "NCCL_PROTO", "Simple", "forced", when="batch-invariant mode"),
    SelfSet(Engine.VLLM, "NCCL_ALGO", "allreduce:tree", "forced", when="batch-invariant mode"),
    SelfSet(Engine.VLLM, "NCCL_NVLS_ENABLE", "0", "forced", when="batch-invariant mode"),
    SelfSet(Engine.VLLM, "NCCL_COLLNET_ENABLE", "0", "forced", when="batch-invariant mode"),
    SelfSet(Engine.VLLM, "NCCL_MIN_NCHANNELS", "1", "forced", when="batch-invariant mode"),
    SelfSet(Engine.VLLM, "NCCL_MAX_NCHANNELS", "1", "forced", when="batch-invariant mode"),
)


def self_set(engine: Engine, version: Version | None) -> tuple[SelfSet, ...]:
    """What this version sets. With an unknown version, all that some version sets."""
    return tuple(
        s
        for s in SELF_SET
        if s.engine is engine
        and (version is None or s.since is None or version >= s.since)
        and (version is None or s.until is None or version <= s.until)
    )
