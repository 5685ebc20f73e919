"""What nvidia-smi is asked on a host: fixed calls, given the fields.

Owns the words of each call and nothing of what they print.
"""

from __future__ import annotations

from collections.abc import Iterable

_TOOL = "nvidia-smi"
_BARE = "--format=csv,noheader,nounits"


def fields_argv() -> list[str]:
    """The fields that this driver knows."""
    return [_TOOL, "--help-query-gpu"]


def query_argv(fields: Iterable[str], every_ms: int = 0) -> list[str]:
    """A row for each GPU under a header that names the units; again and again where told to."""
    again = ["-lms", str(every_ms)] if every_ms else []
    return [_TOOL, f"--query-gpu={','.join(fields)}", "--format=csv", *again]


def apps_argv() -> list[str]:
    """The processes that hold memory, a row each."""
    return [_TOOL, "--query-compute-apps=gpu_uuid,pid,process_name,used_memory", _BARE]


def memory_argv() -> list[str]:
    """Index, uuid, used MiB and how busy in percent of each GPU."""
    return [_TOOL, "--query-gpu=index,uuid,memory.used,utilization.gpu", _BARE]


def links_argv() -> list[str]:
    """The matrix of how GPUs are joined."""
    return [_TOOL, "topo", "-m"]


def peers_argv() -> list[str]:
    """The matrix of who reads whose memory."""
    return [_TOOL, "topo", "-p2p", "r"]
