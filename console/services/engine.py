"""Finding out what runs at an address: engine, version, model, arguments, and so which arm.

Asks a few times whenever a server has come up and never for a token. Believes no label: which
server of a slot is loaded follows from the resolved arguments alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from console.engines import answers as read
from console.engines.answers import Info
from console.engines.arm import Running
from console.engines.detect import Answer, Ask, detect
from console.engines.dialect import Dialect
from console.engines.eta import from_startup_times
from console.engines.exported import told
from console.model.failure import Failure
from console.model.fleet import Engine, Server
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.services.arguments import args_seen, arm_seen
from console.services.credential import key_text
from console.stream.events import Event
from console.stream.loads import load_known
from console.stream.server_events import ArmSeen, EngineSeen
from console.stream.session_events import Noticed
from console.stream.state import Server as Cell
from console.transport.http import AnswerError, Http

MOST_BYTES = 2 * 1024 * 1024
_INFO = {
    Engine.SGLANG: ("/server_info", "/get_server_info"),
    Engine.LLAMACPP: ("/props", "/slots"),
    Engine.VLLM: ("/server_info", "/metrics"),
    Engine.TRTLLM: ("/prometheus/metrics",),
}
_MORE = {  # detection has asked SGLang's already
    Engine.LLAMACPP: ("/props", "/slots"),
    Engine.VLLM: ("/server_info", "/metrics"),
    Engine.TRTLLM: ("/prometheus/metrics",),
}
BY_METRICS = "its metrics"
Known = Callable[[str], Cell | None]
"""What State holds of a server, by name."""
_EXPOSED = ("/metrics", "/prometheus/metrics")
_REFUSED = (401, 403)


@dataclass(frozen=True, slots=True)
class Found:
    """What answers. `engine` None: nothing that is known; `why` says how it was recognised."""

    engine: Engine | None
    version: str
    model: str
    why: str
    info: Info | None = None
    running: Running | None = None
    refused: tuple[str, int] | None = None
    answered: bool = True
    failure: Failure | None = None
    evidence: str = "resolved arguments"

    @property
    def dialect(self) -> Dialect | None:
        """How to speak with it."""
        return None if self.engine is None else Dialect.of(self.engine, self.version or None)


async def find(url: str, http: Http, deadline_s: float) -> Found:
    """Ask until it is known what answers at an address, each path once."""
    answers: dict[str, Answer] = {}
    while isinstance(step := detect(answers), Ask):
        answers[step.path] = await _ask(url, http, step.path, deadline_s)
    for path in _MORE.get(step.engine, ()) if step.engine is not None else ():
        if path not in answers:
            answers[path] = await _ask(url, http, path, deadline_s)
    info, running, evidence = _told(step.engine, answers)
    refused = next(((p, a.code) for p, a in answers.items() if a.code in _REFUSED), None)
    return Found(
        step.engine,
        step.version or (info.version if info and info.version else ""),
        step.model or (info.model if info and info.model else ""),
        step.why,
        info,
        running,
        None if refused is None or refused[1] is None else (refused[0], refused[1]),
        answers["/v1/models"].code is not None,
        answers["/v1/models"].failure,
        evidence,
    )


async def _ask(url: str, http: Http, path: str, deadline_s: float) -> Answer:
    try:
        got = await http.get(url.rstrip("/") + path, deadline_s=deadline_s, most_bytes=MOST_BYTES)
    except AnswerError as error:
        code = error.code if error.code != 200 else None
        return Answer(code, why=error.why, failure=error.kind)
    body = got.body.decode("utf-8", "replace")
    where = got.headers.get("location", "") if 300 <= got.code < 400 else ""
    why = f"redirects with {got.code} to {where}; not followed" if where else ""
    return Answer(got.code, body, got.headers.get("server", ""), why)


def _told(
    engine: Engine | None, answers: Mapping[str, Answer]
) -> tuple[Info | None, Running | None, str]:
    """Arguments, arm, and by what it is known: from whichever answers have them."""
    info, running, evidence = None, None, "resolved arguments"
    for path in _INFO.get(engine, ()) if engine is not None else ():
        answer = answers.get(path)
        if engine is None or answer is None or answer.code != 200:
            continue
        if path == "/slots":
            slots = read.slots(answer.body)
            running = running if isinstance(slots, read.Unreadable) else slots[1]
        elif path in _EXPOSED:
            exported = told(engine, answer.body)
            if exported is not None and running is None and exported.running is not None:
                running, evidence = exported.running, BY_METRICS
            info = info or exported
        elif isinstance(got := Dialect(engine).read(path, answer.body), Info):
            info, running = got, got.running or running
    return info, running, evidence


def loaded(found: Found, entries: Sequence[Server]) -> tuple[Server, ...]:
    """Which of a slot's servers is the one that answers; all of them where nothing tells."""
    running = found.running
    if running is None:
        return tuple(entries)
    fitting = [entry for entry in entries if entry.arm is running.arm] or list(entries)
    if len(fitting) > 1 and found.info is not None:
        args = found.info.args
        unlike = [_unlike(entry, args) for entry in fitting]
        fitting = [e for e, n in zip(fitting, unlike, strict=True) if n == min(unlike)]
    return tuple(fitting)


def _unlike(entry: Server, args: Mapping[str, object]) -> int:
    """How many options of a recipe the resolved arguments contradict."""
    argv = entry.recipe.argv if entry.recipe is not None else ()
    named = pairwise(argv)
    wanted = {
        flag[2:].replace("-", "_"): value
        for flag, value in named
        if flag.startswith("--") and not value.startswith("--")
    }
    return sum(1 for name, value in wanted.items() if name in args and str(args[name]) != value)


def found_events(
    found: Found, entries: Sequence[Server], masks: Masks, known: Known = lambda _name: None
) -> Iterator[Event]:
    """What was found, for every server that is listed at this address.

    Metrics tell less of arguments than a log does: they replace nothing that agrees with them.
    """
    chosen = loaded(found, entries)
    for entry in entries:
        name = clean(entry.name, masks)
        if entry not in chosen:
            yield ArmSeen(name, clean(f"the slot runs {found.running}", masks), None)
            continue
        new = not _says_more(known(entry.name), found)
        if new and found.info is not None and found.info.args:
            yield args_seen(name, found.info.args, masks)
        if found.engine is not None:
            version, model = clean(found.version, masks), clean(found.model, masks)
            yield EngineSeen(name, found.engine, version, model, clean(found.why, masks))
        if new and found.running is not None:
            yield arm_seen(name, found.running, found.evidence, masks)
        if found.info is not None and found.info.startup_times:
            stages = from_startup_times(found.info.startup_times).stages
            yield load_known(name, "startup times", "startup times", stages)
        for text in _doubts(found, entry):
            yield Noticed(name, Clean("warning"), clean(text, masks))


def _says_more(cell: Cell | None, found: Found) -> bool:
    """Whether what is known already of this server holds all that its metrics tell."""
    if found.evidence != BY_METRICS or cell is None or cell.arm is None or cell.args is None:
        return False
    same = found.running is not None and cell.arm.arm is found.running.arm
    return same and len(cell.args.args) > len(found.info.args if found.info else ())


def _doubts(found: Found, entry: Server) -> Iterator[str]:
    if found.refused is not None:
        yield key_text(entry, found.engine, *found.refused)
    elif found.engine is None:
        yield found.why
    if found.engine is not None and entry.engine not in (Engine.AUTO, found.engine):
        yield f"listed as {entry.engine.value}, but {found.engine.value} answers"
    if found.running is not None and found.running.arm is not entry.arm:
        yield f"listed as {entry.arm.value}, but its arguments say: {found.running}"
