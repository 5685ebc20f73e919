"""A recorded night as a script: what its operator or its script did, as steps that run again.

Only what this console has script verbs for becomes a step; everything else stands as a comment,
so that the script says what it leaves out. Steps that failed that night are comments too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import ceil

from console.model.clock import US_PER_S
from console.model.text import Clean, plain
from console.model.verb import VERBS, Verb
from console.session.journal import Journal
from console.session.words import position
from console.stream.codec import quote
from console.stream.events import Event
from console.stream.fact import Standing
from console.stream.run_events import ActFinished, ActRequested, BenchStarted, VerdictReached
from console.stream.server_events import StandingChanged
from console.stream.session_events import MarkerPut, NoteWritten, StepFinished, StepStarted

Value = str | int

_KINDS = (
    "act",
    "act_end",
    "bench",
    "marker",
    "note",
    "standing",
    "step",
    "step_end",
    "verdict",
)
_ID = re.compile(r"[a-z][a-z0-9_]{0,31}")
_OWN_ID = re.compile(r"step\d+")
_UNTIL = re.compile(r"(log:/.+?/|[a-z]+): ")
_HEALTH = re.compile(r"(/\S*) (\d{3}) in ")
_TOOK = 2
_LEAST_S = 60
_UP = (Standing.ALIVE, Standing.GENERATING, Standing.IDLE)


def to_script(journal: Journal) -> str:
    """The script's text, `schema = "script/1"`."""
    state = journal.state_before(len(journal.index))
    opened = state.session.opened
    origin = f"{opened.fleet}, {opened.utc}, {opened.origin}" if opened else journal.path
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plain(Clean(opened.fleet)) if opened else "session")
    head = [
        f"# From a recorded session: {_comment(origin)}",
        'schema = "script/1"',
        f"name = {quote(name)}",
        "",
    ]
    body = list(_Telling(journal).lines())
    if not any(line == "[[step]]" for line in body):
        body += [
            "# Nothing was done that night: this looks once and ends.",
            *_look(list(state.servers)),
        ]
    return "\n".join([*head, *body]).rstrip() + "\n"


def _look(servers: list[str]) -> Iterator[str]:
    for server in servers[:1]:
        yield from ("[[step]]", f"target = {quote(plain(Clean(server)))}", "health = {}", "")


class _Telling:
    """One pass over what was done."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.scripted = "step_end" in journal.index.kinds
        self.ids: set[str] = set()
        self.inside: StepStarted | None = None
        self.text = ""
        self.waiting: dict[str, int] = {}
        self.waits = 0

    def lines(self) -> Iterator[str]:
        """The steps, in order."""
        index = self.journal.index
        for number in range(len(index)):
            if index.kind_of(number) in _KINDS:
                event = self.journal.event(number)
                if event is not None:
                    yield from self._scripted(event) if self.scripted else self._by_hand(event)

    def _scripted(self, event: Event) -> Iterator[str]:
        """A script ran: its steps, and nothing that follows from them."""
        match event:
            case StepStarted():
                self.inside, self.text = event, ""
            case MarkerPut() | NoteWritten():
                said = event.name if isinstance(event, MarkerPut) else event.text
                verb = "marker" if isinstance(event, MarkerPut) else "note"
                if self.inside is not None and self.inside.verb == verb:
                    self.text = said
                else:
                    yield from self._step(verb, "", {VERBS[verb].sole: said})
            case StepFinished():
                self.inside = None
                yield from self._finished(event)
            case _:
                return

    def _by_hand(self, event: Event) -> Iterator[str]:
        """A person was there: markers, notes, acts, and waiting until a server was up."""
        match event:
            case MarkerPut():
                yield from self._step("marker", "", {"name": event.name})
            case NoteWritten():
                yield from self._step("note", "", {"text": event.text})
            case StandingChanged():
                yield from self._standing(event)
            case ActRequested():
                yield from self._step(event.verb, event.server, {}, event.t_us)
            case ActFinished() if event.outcome != "done":
                yield f"# {position(event.t_us)} it ended: {_comment(event.outcome)}\n"
            case BenchStarted():
                yield from self._step("bench", event.server, {}, event.t_us)
            case VerdictReached():
                yield f"# {position(event.t_us)} the verdict was {_comment(event.verdict)}\n"
            case _:
                return

    def _standing(self, event: StandingChanged) -> Iterator[str]:
        if event.standing not in _UP:
            self.waiting.setdefault(event.server, event.t_us)
        elif event.server in self.waiting:
            took_us = event.t_us - self.waiting.pop(event.server)
            self.waits += 1
            step_id = f"up{self.waits}"
            wait = {"until": "health"}
            yield from self._step("wait", event.server, wait, took_us=took_us, step_id=step_id)

    def _finished(self, event: StepFinished) -> Iterator[str]:
        what = f"{event.verb} {event.server}".rstrip()
        if event.exit != 0:
            said = _comment(f"{what}: {event.text}")
            yield f"# {position(event.t_us)} failed that night (exit {event.exit}): {said}\n"
            return
        results = {plain(name): plain(value) for name, value in event.results}
        arguments = _arguments(event.verb, plain(event.text), results, self.text)
        took_us = _number(results.get("waited_us", ""))
        yield from self._step(
            event.verb, event.server, arguments, event.t_us, took_us=took_us, step_id=event.step
        )

    def _step(
        self,
        verb: str,
        server: str,
        arguments: Mapping[str, Value],
        t_us: int = 0,
        *,
        took_us: int | None = None,
        step_id: str = "",
    ) -> Iterator[str]:
        spec = VERBS.get(verb)
        why_not = _why_not(spec, arguments)
        if spec is None or why_not:
            said = _comment(f"{verb} {server}".rstrip())
            yield f"# {position(t_us)} {said}: {why_not or 'no verb of scripts'}\n"
            return
        yield "[[step]]"
        if step_id and not _OWN_ID.fullmatch(step_id):
            yield f'id = "{_unused(step_id, self.ids)}"'
        if spec.per_server and server:
            yield f"target = {quote(plain(Clean(server)))}"
        yield f"{verb} = {_value(spec, arguments)}"
        if took_us is not None:
            seconds = max(_LEAST_S, ceil(_TOOK * took_us / US_PER_S))
            yield f'timeout = "{ceil(seconds / 60)}m"'
        yield ""


def _arguments(verb: str, text: str, results: Mapping[str, str], said: str) -> Mapping[str, Value]:
    """The arguments of a step that passed, as far as its results and its text tell them."""
    match verb:
        case "health":
            found = _HEALTH.match(text)
            path = {"path": found[1]} if found and found[1] != "/health" else {}
            return {**path, **_expect(results)}
        case "tail":
            count = _number(results.get("count", ""))
            return {"lines": count} if count else {}
        case "wait":
            until = _UNTIL.match(text)
            return {"until": until[1] if until else "health", **_expect(results)}
        case "marker":
            return {"name": said}
        case "note":
            return {"text": said}
        case _:
            fields = VERBS[verb].script if verb in VERBS else None
            return {
                field.name: results[field.name] for field in fields or () if field.name in results
            }


def _expect(results: Mapping[str, str]) -> dict[str, Value]:
    code = _number(results.get("code", ""))
    return {"expect": code} if code not in (None, 200) else {}


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,18}", text) else None


def _why_not(spec: Verb | None, arguments: Mapping[str, Value]) -> str:
    if spec is None or spec.script is None:
        return "no verb of scripts"
    missing = [
        field.name for field in spec.script if field.required and not arguments.get(field.name)
    ]
    return f"the session does not say {', '.join(missing)}" if missing else ""


def _value(spec: Verb, arguments: Mapping[str, Value]) -> str:
    written = {
        name: value if isinstance(value, int) else quote(_unreferring(value))
        for name, value in arguments.items()
    }
    if spec.sole and set(written) == {spec.sole}:
        return str(written[spec.sole])
    inside = ", ".join(f"{name} = {value}" for name, value in written.items())
    return f"{{ {inside} }}" if inside else "{}"


def _unreferring(text: str) -> str:
    """A recorded text is no reference, whatever it looks like."""
    return plain(Clean(text)).replace("${", "$ {")


def _unused(wanted: str, taken: set[str]) -> str:
    step_id = wanted if _ID.fullmatch(wanted) and wanted not in ("vars", "run") else "recorded"
    number, made = 2, step_id
    while made in taken:
        made, number = f"{step_id[:28]}_{number}", number + 1
    taken.add(made)
    return made


def _comment(text: str) -> str:
    return plain(Clean(text))
