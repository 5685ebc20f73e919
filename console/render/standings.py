"""How a server's standing is shown: always a shape and a word, never a colour alone."""

from __future__ import annotations

from console.model.fleet import Arm
from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.label import label
from console.render.units import duration
from console.stream.fact import Standing
from console.stream.state import Server

SHAPES: dict[Standing, tuple[str, Role]] = {
    Standing.UNKNOWN: ("?", Role.UNKNOWN),
    Standing.DOWN: ("○", Role.DOWN),
    Standing.STARTING: ("◔", Role.STARTING),
    Standing.REACHABLE: ("◌", Role.REACHABLE),
    Standing.ALIVE: ("●", Role.ALIVE),
    Standing.GENERATING: ("◆", Role.GENERATING),
    Standing.IDLE: ("◇", Role.IDLE),
    Standing.DEGRADED: ("▽", Role.DEGRADED),
    Standing.STALLED: ("■", Role.STALLED),
    Standing.DRAINING: ("◗", Role.DRAINING),
}
UP = (
    Standing.ALIVE,
    Standing.GENERATING,
    Standing.IDLE,
    Standing.DEGRADED,
    Standing.STALLED,
)
"""It answers, however well."""
_EXPLAINED = (
    Standing.REACHABLE,
    Standing.DEGRADED,
    Standing.STALLED,
    Standing.UNKNOWN,
    Standing.DOWN,
)


def arm_span(arm: Arm, short: bool = False) -> Span:
    """The arm's word in its role; `base` or `spec` when short."""
    role = Role.BASELINE if arm is Arm.BASELINE else Role.SPECULATIVE
    return Span(arm.value[:4] if short else arm.value, role)


def running_arm(server: Server) -> Arm | None:
    """The arm by the server's resolved arguments, else as the fleet file lists it."""
    if server.arm is not None and server.arm.arm is not None:
        return server.arm.arm
    return server.listed.arm if server.listed is not None else None


def standing(server: Server) -> Standing:
    """The standing last concluded for a server."""
    return server.standing.standing if server.standing else Standing.UNKNOWN


def standing_spans(server: Server) -> Spans:
    """Shape, word, and how far a load is or why the server stands like this."""
    now = standing(server)
    arm, load = server.arm, server.load
    if arm is not None and arm.arm is None and (load is None or load.seq < arm.seq):
        return (Span("○ not loaded", Role.DOWN),)
    shape, role = SHAPES[now]
    if server.standing is None and server.health is None:
        return (Span(f"{shape} not asked yet", role),)
    if now is Standing.STARTING and (progress := _progress(server)):
        return (Span(f"{shape} {progress}", role),)
    why = label(server.standing.why) if server.standing and now in _EXPLAINED else ""
    word = Span(f"{shape} {now.value}", role)
    return (word, Span("  " + why, Role.DIM)) if why else (word,)


def _progress(server: Server) -> str:
    load = server.load
    if load is None or (server.load_end is not None and server.load_end.seq > load.seq):
        return ""
    parts = [label(load.phase)]
    if load.done is not None and load.total:
        parts.append(f"{load.done}/{load.total}")
    if load.eta_us is not None:
        parts.append(f"~{duration(load.eta_us)}")
    return " ".join(parts)
