"""A recorded night as a script: what its operator or its script did, as steps that run again.

Only what this console has script verbs for becomes a step; everything else stands as a comment,
so that the script says what it leaves out. Steps that failed that night are comments too. What a
step was given is taken from its start; of sessions that do not tell it, from how it ended.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from math import ceil

from console.control.guessed import Value, bench_given, step_given, whole
from console.control.load_seen import LoadSeen
from console.control.written import NotWritten, Written, referred, verb_of
from console.model.clock import US_PER_S
from console.model.text import Clean, plain
from console.model.verb import Verb
from console.model.verbs import VERBS
from console.session.journal import Journal
from console.session.words import position
from console.stream.codec import quote
from console.stream.events import Event
from console.stream.fact import Pairs
from console.stream.run_events import (
    ActFinished,
    ActRequested,
    BenchFinished,
    BenchStarted,
    VerdictReached,
)
from console.stream.server_events import StandingChanged
from console.stream.session_events import MarkerPut, NoteWritten, StepFinished, StepStarted

_KINDS = (
    "act",
    "act_end",
    "bench",
    "bench_end",
    "marker",
    "note",
    "standing",
    "step",
    "step_end",
    "verdict",
)
_ID = re.compile(r"[a-z][a-z0-9_]{0,31}")
_OWN_ID = re.compile(r"step\d+")
_TOOK = 2
_LONG_US = 15 * US_PER_S
_LEAST_S = 60


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
    body = list(_Telling(journal, LoadSeen(state.servers)).lines())
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

    def __init__(self, journal: Journal, loads: LoadSeen) -> None:
        self.journal = journal
        self.loads = loads
        self.scripted = "step_end" in journal.index.kinds
        self.written = Written()
        self.referred = set(_referred(journal))
        self.inside: StepStarted | None = None
        self.inner: Mapping[str, Value] = {}
        self.benches: dict[str, BenchStarted] = {}
        self.waits = 0

    def lines(self) -> Iterator[str]:
        """The steps, in order."""
        index = self.journal.index
        for number in range(len(index)):
            if index.kind_of(number) in _KINDS:
                event = self.journal.event(number)
                if event is not None:
                    yield from self._told(event)

    def _told(self, event: Event) -> Iterator[str]:
        if isinstance(event, BenchStarted):
            self.benches[event.bench] = event
        loaded_us = self.loads.take(event)
        known = self._known(event)
        match event:
            case StepStarted():
                self.inside, self.inner = event, {}
            case StepFinished():
                yield from self._finished(event)
                self.inside = None
            case _ if self.inside is not None:
                if known is not None and known[0] == self.inside.verb:
                    self.inner = known[2]
            case ActRequested() if event.arguments and verb_of(event.verb) is not None:
                yield from self._as_told(event, event.arguments)
            case _ if known is not None:
                yield from self._step(*known, event.t_us, took_us=self._took(event))
            case StandingChanged() if loaded_us is not None and not self.scripted:
                self.waits += 1
                wait, step_id = {"until": "health"}, f"up{self.waits}"
                yield from self._step(
                    "wait", event.server, wait, took_us=loaded_us, step_id=step_id
                )
            case ActFinished() if event.outcome != "done":
                yield f"# {position(event.t_us)} it ended: {_comment(event.outcome)}\n"
            case _:
                return

    def _known(self, event: Event) -> tuple[str, str, Mapping[str, Value]] | None:
        """Verb, server and arguments that an event alone tells."""
        match event:
            case MarkerPut():
                return "marker", "", {"name": event.name}
            case NoteWritten():
                return "note", "", {"text": event.text}
            case ActRequested():
                return event.verb, event.server, {}
            case BenchFinished() if event.bench in self.benches:
                started = self.benches[event.bench]
                return "bench", started.server, bench_given(started)
            case VerdictReached():
                arms = {"baseline": event.baseline, "speculative": event.speculative}
                named: dict[str, Value] = {
                    arm: self.benches[name].server if name in self.benches else name
                    for arm, name in arms.items()
                }
                return "compare", "", {**named, "expect": event.verdict}
            case _:
                return None

    def _took(self, event: Event) -> int | None:
        if isinstance(event, BenchFinished):
            return event.t_us - self.benches[event.bench].t_us
        return None

    def _finished(self, event: StepFinished) -> Iterator[str]:
        what = f"{event.verb} {event.server}".rstrip()
        if event.exit != 0:
            said = _comment(f"{what}: {event.text}")
            yield f"# {position(event.t_us)} failed that night (exit {event.exit}): {said}\n"
            return
        if self.inside is None or self.inside.step != event.step:
            # What a repeat keeps of its rounds; their steps stand here themselves.
            if event.verb == "repeat":
                yield f"# {position(event.t_us)} {_comment(event.step)}: {_comment(event.text)}\n"
            return
        if verb_of(event.verb) is not None and self.inside is not None and self.inside.arguments:
            yield from self._as_told(event, self.inside.arguments, event.step)
            return
        results = {plain(name): plain(value) for name, value in event.results}
        arguments = self.inner or step_given(event.verb, plain(event.text), results)
        took_us = event.t_us - self.inside.t_us if self.inside is not None else 0
        waited_us = whole(results.get("waited_us", "")) or 0
        longest_us = max(took_us, waited_us)
        yield from self._step(
            event.verb,
            event.server,
            arguments,
            event.t_us,
            took_us=longest_us if longest_us > _LONG_US or event.verb == "wait" else None,
            step_id=event.step,
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
        arguments = {name: value for name, value in arguments.items() if value != ""}
        why_not = _why_not(spec, arguments)
        if spec is None or why_not:
            said = _comment(f"{verb} {server}".rstrip())
            yield f"# {position(t_us)} {said}: {why_not or 'no verb of scripts'}\n"
            return
        yield from self._head(spec, server, step_id)
        yield f"{verb} = {_value(spec, arguments)}"
        if took_us is not None:
            seconds = max(_LEAST_S, ceil(_TOOK * took_us / US_PER_S))
            yield f'timeout = "{ceil(seconds / 60)}m"'
        yield ""

    def _as_told(
        self, event: StepFinished | ActRequested, given: Pairs, was: str = ""
    ) -> Iterator[str]:
        """What its start says it was given."""
        spec = VERBS[event.verb]
        try:
            lines = self.written.lines(spec, given)
        except NotWritten as error:
            said = _comment(f"{event.verb} {event.server}".rstrip())
            yield f"# {position(event.t_us)} {said}: {_comment(str(error))}\n"
            return
        yield from self._head(spec, event.server, was)
        yield from (*lines, "")

    def _head(self, spec: Verb, server: str, was: str) -> Iterator[str]:
        """The lines above the verb; an id that nobody gave is left out."""
        yield "[[step]]"
        if was and (was in self.referred or not _OWN_ID.fullmatch(was)):
            step_id = _unused(was, self.written.steps)
            self.written.add(step_id, was, spec.id)
            yield f'id = "{step_id}"'
        if spec.per_server and server:
            yield f"target = {quote(plain(Clean(server)))}"


def _referred(journal: Journal) -> Iterator[str]:
    for number in journal.index.of_kind("step"):
        event = journal.event(number)
        if isinstance(event, StepStarted):
            yield from referred(event.arguments)


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


def _unused(wanted: str, taken: Container[str]) -> str:
    step_id = wanted if _ID.fullmatch(wanted) and wanted not in ("vars", "run") else "recorded"
    number, made = 2, step_id
    while made in taken:
        made, number = f"{step_id[:28]}_{number}", number + 1
    return made


def _comment(text: str) -> str:
    return plain(Clean(text))
