"""What a person is told before an act: what is there, what stops, what starts, how to undo it.

Pure: lines from what was looked at. Nothing that matters for the answer is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from console.control.acting_look import Look, alike
from console.control.acting_request import Request
from console.nccl.profile import diff
from console.services.launcher import shown_command
from console.services.process import Seen

_PIDS = 12
"""Processes below the launcher that are named."""


def told(look: Look, request: Request) -> Iterator[str]:
    """What a person sees before an act: what is there, what stops, what starts, how to undo it."""
    yield f"slot {look.slot} on {look.host}, port {look.port}"
    launcher = look.tree.launcher
    if launcher is None:
        yield f"runs now: nothing ({look.tree.why})"
    else:
        yield from _told_running(look, launcher, request)
    if request.starts:
        yield from _told_start(look, request)
    if request.verb == "adopt" and launcher is not None:
        pid = launcher.identity.pid
        yield f"kept on the host: exact command line and environment of process {pid}"
    undo = undone(look, request)
    if undo:
        yield f"to undo: {undo}"


def undone(look: Look, request: Request) -> str:
    """How what an act changes is brought back; empty where it changes nothing that runs."""
    if request.verb == "adopt":
        return ""
    if look.tree.launcher is None or not request.stops:
        return f"stop {look.server.name}: nothing runs in this slot now" if request.starts else ""
    name = look.runs or "what runs now"
    if not request.starts:
        return f"{name} is kept as it runs now; launch starts it again from its recipe"
    back = "it is brought back by itself" if request.roll_back else "you are asked to bring it back"
    return f"{name} is kept; if this fails {back}"


def _told_running(look: Look, launcher: Seen, request: Request) -> Iterator[str]:
    one = launcher.identity
    name = look.runs or "a server that is not known"
    since = f", since {look.tree.started}" if look.tree.started else ""
    below = [str(other.identity.pid) for other in look.tree.below]
    shown = ", ".join(below[:_PIDS]) + (", …" if len(below) > _PIDS else "")
    others = f" and {len(below)} below it ({shown})" if below else ""
    yield f"runs now: {name}: process {one.pid}{others}{since}; started by {look.owner}"
    yield f"  {shown_command(launcher.argv)}"
    if look.tree.container:
        yield f"  in container {look.tree.container[:12]}"
    if look.running is None:
        yield "  requests: not known"
    else:
        yield f"  requests: {look.running:.0f} running, {look.queued or 0:.0f} queued"
    if request.stops:
        if look.runs and look.runs != look.server.name:
            yield f"stops: {look.runs}, the other arm of this slot"
        yield f"stop: kill -TERM {one.pid}, then what is left after {request.grace_s:g} s"
        if request.kill_s is not None:
            yield f"      KILL {request.kill_s:g} s after the first TERM"


def _told_start(look: Look, request: Request) -> Iterator[str]:
    if look.no_start:
        yield f"start: {look.no_start}"
        return
    source = f"the recipe {look.base} on the host" if look.base else "the fleet file's recipe"
    if not look.base and look.server.recipe is None:
        source = "what runs now"
    yield f"start: {look.server.name}, from {source}, {_how(request)}"
    launcher = look.tree.launcher
    same = launcher is not None and alike(look.words, launcher.argv[-len(look.words) :])
    yield "  the same command line" if same else f"  {shown_command(look.words)}"
    yield from _told_environment(look, request)
    told = f"about {look.load_s:.1f} s" if look.load_s is not None else "not known yet"
    yield f"expected load: {told}"


def _how(request: Request) -> str:
    if request.method == "tmux":
        return "in a window of the tmux session spec-console"
    return "in a session and group of its own"


def _told_environment(look: Look, request: Request) -> Iterator[str]:
    after = {
        name: value for name, value in {**look.after, **request.wanted}.items() if value is not None
    }
    if look.before is None:
        why = look.before_why if look.tree.launcher is not None else "nothing runs"
        yield f"environment (now: {why}):"
        for name, value in sorted(after.items()):
            yield f"  + {name}={value}"
        yield from (f"  ! {one}" for one in look.findings)
        return
    changes = diff(look.before, after)
    yield "environment:" if changes else "environment: as it is now"
    for change in changes:
        if change.before is not None:
            yield f"  - {change.name}={change.before}"
        if change.after is not None:
            yield f"  + {change.name}={change.after}"
    yield from (f"  ! {one}" for one in look.findings)
