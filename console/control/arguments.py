"""The arguments of a script's steps: typed, and every reference checked.

Works with the mistakes list of the document it reads; runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import assert_never, cast

from console.control.expression import BadExpression, Condition, Ref, conditions, refs_in
from console.model.verb import REFERENCE, Field, Kind, Verb
from console.model.verbs import VERBS
from console.store.toml import Document, Table, nearest, one_of
from console.stream.fact import Standing

PROCESS_EXIT = "process_exit"
RUN_FIELDS = ("date", "id", "fleet", "folder")
_VALUES = (Kind.NUMBER, Kind.DECIMAL, Kind.DURATION)
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_LOG_UNTIL = re.compile(r"log:/(.+)/")

Argument = str | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One step, checked.

    Attributes:
        servers: the servers it runs on; empty for a verb without one.
        arguments: typed values of the verb's fields, references not yet looked up.
        always: it runs even after a failed step.
        stall_s: it ends when nothing moves for so long; 0 for never.
        fail_fast: what ends it at once: `process_exit`, `log:/re/`.
        rounds: what a `repeat` runs, each item's own steps.
    """

    id: str
    verb: str
    servers: tuple[str, ...]
    arguments: Mapping[str, Argument]
    timeout_s: float
    when: tuple[Condition, ...] = ()
    always: bool = False
    line: int = 0
    stall_s: float = 0.0
    progress_s: float = 0.0
    fail_fast: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """The steps of one item of a `repeat`, its values filled in."""

    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Arguments:
    """Checks what steps say, knowing the variables and the steps before.

    Attributes:
        commands: names that `run` may use; None when they are not known.
    """

    document: Document
    variables: Mapping[str, str | int | float]
    steps: Mapping[str, Step]
    commands: Collection[str] | None = None

    def read(self, table: Table, verb: Verb) -> dict[str, Argument]:
        assert verb.script is not None
        value = table.raw(verb.id)
        if not isinstance(value, dict):
            sole = next((spec for spec in verb.script if spec.name == verb.sole), None)
            if sole is None:
                table.complain(verb.id, f"{verb.id}: a table was expected: {{ {_shape(verb)} }}")
                return {}
            return {sole.name: self._argument(table, verb, sole, verb.id)}
        given = self._with_variables(verb, cast("dict[str, object]", value))
        below = Table(self.document, given, (*table.path, verb.id))
        found: dict[str, Argument] = {}
        for spec in verb.script:
            if spec.name in below.names():
                found[spec.name] = self._argument(below, verb, spec, spec.name)
                continue
            below.raw(spec.name)
            if spec.required:
                below.complain("", f'{verb.id}: "{spec.name}" is missing: {spec.help}')
        below.finish()
        return found

    def _with_variables(self, verb: Verb, given: dict[str, object]) -> dict[str, object]:
        """Numbers and durations that are one `${vars.NAME}` as the variable's value."""
        found = dict(given)
        for spec in verb.script or ():
            value = given.get(spec.name)
            named = REFERENCE.fullmatch(value) if isinstance(value, str) else None
            if spec.kind in _VALUES and named is not None and named[1] == "vars":
                found[spec.name] = _valued(self.variables.get(named[2], value))
        return found

    def _argument(self, table: Table, verb: Verb, spec: Field, key: str) -> Argument:
        match spec.kind:
            case Kind.NUMBER:
                return table.number(key, most=1_000_000)
            case Kind.DECIMAL:
                return self._decimal(table, key)
            case Kind.DURATION:
                return table.duration(key, 0.0)
            case Kind.CONDITIONS:
                self.conditions(table, key)
                raw = table.raw(key)
                return (raw,) if isinstance(raw, str) else tuple(map(str, _parts(raw)))
            case Kind.UNTIL:
                return self._until(table, key)
            case Kind.COMMAND:
                return self._command(table, key)
            case Kind.ITEMS | Kind.STEPS:
                table.raw(key)  # of `repeat`, which checks them itself
                return ""
            case Kind.TEXT | Kind.PATH:
                text = table.text(key)
                if not text:
                    table.complain(key, f"{verb.id}: {spec.name}: a text was expected")
                for ref in refs_in(text):
                    self._reference((*table.path, key), ref)
                return text
            case _:
                assert_never(spec.kind)

    def _decimal(self, table: Table, key: str) -> float:
        value = table.raw(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
            table.complain(key, f"{key}: a number above 0 was expected")
            return 1.0
        return float(value)

    def _command(self, table: Table, key: str) -> str:
        name = table.text(key)
        if self.commands is not None and name not in self.commands:
            hint = nearest(name, self.commands) or f" (known: {one_of(self.commands) or 'none'})"
            table.complain(key, f'run: no command is named "{name}" in the fleet file{hint}')
        return name

    def fail_fast(self, table: Table) -> tuple[str, ...]:
        """What ends a step, or any step, at once."""
        found = table.texts("fail_fast")
        for place, text in enumerate(found):
            said = _why_no_pattern(text) if text.startswith("log:") else ""
            if text != PROCESS_EXIT and not text.startswith("log:"):
                said = f'"{PROCESS_EXIT}" or log:/REGEX/ was expected'
            if said:
                path = (*table.path, "fail_fast", place)
                self.document.complain(path, f'fail_fast: "{text}": {said}')
        return found

    def _until(self, below: Table, key: str) -> str:
        text = below.text(key)
        words = ("health", *(standing.value for standing in Standing))
        if text.startswith("log:"):
            said = _why_no_pattern(text)
            if said:
                below.complain(key, f'{key}: "{text}": {said}')
        elif text not in words:
            hint = nearest(text, words) or f" (known: {one_of(words)}, log:/REGEX/)"
            below.complain(key, f'{key}: "{text}" is nothing to wait for{hint}')
        return text

    def conditions(self, table: Table, key: str) -> tuple[Condition, ...]:
        value = table.raw(key)
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not texts:
            table.complain(key, f'{key}: "${{id.field}} == value" or a list of those was expected')
            return ()
        found: list[Condition] = []
        for place, text in enumerate(texts):
            path = (*table.path, key) if isinstance(value, str) else (*table.path, key, place)
            if not isinstance(text, str):
                self.document.complain(path, f"{key}: a text was expected")
                continue
            try:
                condition = conditions(text)
            except BadExpression as error:
                self.document.complain(path, f"{key}: {error}")
                continue
            found.append(condition)
            for ref in refs_in(text):
                self._reference(path, ref)
        return tuple(found)

    def _reference(self, path: tuple[str | int, ...], ref: Ref) -> None:
        def complain(what: str, word: str, valid: Collection[str]) -> None:
            hint = nearest(word, valid) or f" (known: {one_of(valid) or 'none'})"
            self.document.complain(path, f"{ref}: {what}{hint}")

        if ref.owner == "vars":
            if ref.field not in self.variables:
                complain(f'no variable "{ref.field}"', ref.field, self.variables)
        elif ref.owner == "run":
            if ref.field not in RUN_FIELDS:
                complain(f'"{ref.field}" is not known of a run', ref.field, RUN_FIELDS)
        elif ref.owner not in self.steps:
            complain(f'no step before this one has the id "{ref.owner}"', ref.owner, self.steps)
        else:
            step = self.steps[ref.owner]
            gives = VERBS[step.verb].gives if step.verb else (ref.field,)
            if ref.field not in gives:
                complain(f'{step.verb} gives no "{ref.field}"', ref.field, gives)
            if len(step.servers) > 1:
                said = f"{ref}: {ref.owner} runs on {len(step.servers)} servers; give it a target"
                self.document.complain(path, said)


def _why_no_pattern(text: str) -> str:
    """What is wrong with `log:/re/`; nothing where all is well."""
    found = _LOG_UNTIL.fullmatch(text)
    try:
        re.compile(found[1] if found else "(")
    except re.error as error:
        return str(error) if found else "log:/REGEX/ was expected"
    return ""


def _valued(value: object) -> object:
    """A number that was given as a text on the command line; anything else as it is."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _parts(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _shape(verb: Verb) -> str:
    return ", ".join(f"{spec.name} = …" for spec in verb.script or ())


def until_log(text: str) -> re.Pattern[str] | None:
    """The pattern of `log:/re/`, or None for another condition."""
    found = _LOG_UNTIL.fullmatch(text)
    return re.compile(found[1]) if found else None
