"""Resolved arguments of a server as events: masked, flat, bounded.

Owns what of them is shown and how an arm is said. Learns secrets before anything is cleaned.
"""

from __future__ import annotations

from collections.abc import Mapping

from console.engines.arm import Running
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.server_events import ArgsSeen, ArmSeen

MOST = 800
MOST_CHARACTERS = 400
_STATES = frozenset({"internal_states", "scheduler_info", "startup_time", "kv_events", "load"})


def args_seen(server: Clean, args: Mapping[str, object], masks: Masks) -> ArgsSeen:
    """The arguments as texts, without the server's running state."""
    kept = [(name, value) for name, value in args.items() if name not in _STATES][:MOST]
    for name, value in kept:
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, str):
                masks.learn_pair(name, part)
    pairs = ((clean(name, masks), _shown(name, value, masks)) for name, value in kept)
    return ArgsSeen(server, tuple(dict(pairs).items()))


def _shown(name: str, value: object, masks: Masks) -> Clean:
    # Name and value together, so that what is secret by its name alone is masked as well.
    whole = clean(f"{name}={value}", masks)
    text = whole.partition("=")[2] or whole
    return Clean(text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…")


def arm_seen(server: Clean, running: Running, where: str, masks: Masks) -> ArmSeen:
    """Which arm runs, and where that stands."""
    return ArmSeen(server, clean(f"{running} ({where})", masks), running.arm)


def model_of(args: Mapping[str, object]) -> str:
    """The model's name among arguments of any engine, "" without one."""
    for name in ("served_model_name", "model_path", "model", "model_tag"):
        value = args.get(name)
        if isinstance(value, list | tuple) and value:
            value = value[0]
        if isinstance(value, str) and value:
            return value
    return ""
