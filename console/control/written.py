"""A recorded step as its start tells it, written as a script again and checked as every script is.

Owns the way back from an event's words to TOML. A session is no one's to trust: what does not pass
the check of scripts is not written, and the reason is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from console.control.arguments import Arguments, Step
from console.control.step_guard import GUARD, read_guard
from console.model.mask import MASKED
from console.model.text import plain
from console.model.verb import REFERENCE, Kind, Verb
from console.model.verbs import VERBS
from console.store.toml import BadFile, parse
from console.stream.codec import quote
from console.stream.fact import Pairs

_GUARD = f"{GUARD}."
_NUMBERED = re.compile(r"(\w+)\.\d+")
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?")
_BARE = (Kind.NUMBER, Kind.DECIMAL)


class NotWritten(ValueError):
    """A recorded step that makes no step of a script; the text says why."""


@dataclass(slots=True)
class Written:
    """The steps written so far, by the id each one got, and which id it had that night."""

    steps: dict[str, Step] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def add(self, step_id: str, was: str, verb: str) -> None:
        """Later steps may refer to this one."""
        self.steps[step_id] = Step(step_id, verb, (), {}, 0.0)
        self.names.setdefault(was, step_id)

    def lines(self, verb: Verb, given: Pairs) -> list[str]:
        """The lines of a step below its id and target.

        Raises:
            NotWritten: the recorded words make no such step here.
        """
        assert verb.script is not None
        told = {plain(name): self._renamed(plain(value)) for name, value in given}
        hidden = [name for name, value in told.items() if MASKED in value]
        if hidden:
            raise NotWritten(f"{hidden[0]} held a secret, which no session keeps")
        kinds = {field.name: field.kind for field in verb.script}
        own = {name: value for name, value in _grouped(told).items() if name in kinds}
        inside = {name: _toml(kinds[name], value) for name, value in own.items()}
        if verb.sole and set(inside) == {verb.sole}:
            value = inside[verb.sole]
        else:
            value = f"{{ {', '.join(f'{key} = {text}' for key, text in inside.items())} }}"
        lines = [f"{verb.id} = {value if inside else '{}'}", *_beside(_grouped(told), kinds)]
        self._check(verb, lines)
        return lines

    def _renamed(self, text: str) -> str:
        def renamed(found: re.Match[str]) -> str:
            return f"${{{self.names.get(found[1], found[1])}.{found[2]}}}"

        return REFERENCE.sub(renamed, text)

    def _check(self, verb: Verb, lines: list[str]) -> None:
        try:
            document = parse("\n".join(lines).encode(errors="replace"), "recorded")
        except BadFile as error:
            raise NotWritten(error.problems[0].text) from error
        table = document.top()
        check = Arguments(document, {}, self.steps)
        check.read(table, verb)
        if "when" in table.names():
            check.conditions(table, "when")
        read_guard(table, verb, ())
        table.duration("timeout", 0.0)
        table.flag("always")
        table.finish()
        if document.problems:
            raise NotWritten(document.problems[0].text)


def _grouped(told: Mapping[str, str]) -> dict[str, list[str]]:
    """`that.1`, `that.2` are one list under `that`."""
    found: dict[str, list[str]] = {}
    for name, value in told.items():
        numbered = _NUMBERED.fullmatch(name)
        found.setdefault(numbered[1] if numbered else name, []).append(value)
    return found


def _beside(told: Mapping[str, list[str]], kinds: Mapping[str, Kind]) -> Iterator[str]:
    """`when`, `guard`, `timeout`, `always`: where they say something and are no field's name."""
    if "when" in told and "when" not in kinds:
        yield f"when = {_toml(Kind.CONDITIONS, told['when'])}"
    guard = [
        f"{name.removeprefix(_GUARD)} = {_guarded(name.removeprefix(_GUARD), values[0])}"
        for name, values in told.items()
        if name.startswith(_GUARD)
    ]
    if guard:
        yield f"{GUARD} = {{ {', '.join(guard)} }}"
    if "timeout" in told:
        yield f"timeout = {quote(told['timeout'][0])}"
    if told.get("always") == ["true"]:
        yield "always = true"


def _guarded(name: str, value: str) -> str:
    if name == "idle":
        return str(value == "1").lower()
    return _toml(Kind.NUMBER if name == "max_running" else Kind.TEXT, [value])


def _toml(kind: Kind, values: list[str]) -> str:
    if kind is Kind.CONDITIONS:
        texts = [quote(value) for value in values]
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    bare = kind in _BARE and _NUMBER.fullmatch(values[0])
    return values[0] if bare else quote(values[0])


def referred(given: Pairs) -> Iterator[str]:
    """The ids of the steps that these words refer to."""
    for _, value in given:
        yield from (owner for owner, _ in REFERENCE.findall(plain(value)))


def verb_of(name: str) -> Verb | None:
    """The script verb of that name."""
    verb = VERBS.get(name)
    return verb if verb is not None and verb.script is not None else None
