"""Conditions of scripts: one comparison a text, over references, numbers and texts.

`REF|number|text (== != < <= > >=) [number *] REF|number|text`. Data only: nothing is evaluated,
nothing nests, nothing reads the environment.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from console.model.verb import REFERENCE

Value = str | int | float


class BadExpression(ValueError):
    """A text is no condition; says what was expected."""


class Unknown(LookupError):
    """A reference has no value: its step did not run or did not give it."""


@dataclass(frozen=True, slots=True)
class Ref:
    """`${owner.field}`."""

    owner: str
    field: str

    def __str__(self) -> str:
        return f"${{{self.owner}.{self.field}}}"


Operand = Ref | Value
Values = Mapping[tuple[str, str], Value]


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison: left op factor x right."""

    text: str
    left: Operand
    op: str
    right: Operand
    factor: float | None = None


_OPERAND = r"(?:\$\{[^{}]*\}|-?\d+(?:\.\d+)?|\"[^\"]*\"|'[^']*'|[A-Za-z_][\w .:/-]*?)"
_COMPARISON = re.compile(
    rf"\s*({_OPERAND})\s*(==|!=|<=|>=|<|>)\s*(?:(-?\d+(?:\.\d+)?)\s*\*\s*)?({_OPERAND})\s*"
)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def refs_in(text: str) -> list[Ref]:
    """All references in a text, malformed ones left out."""
    return [Ref(owner, field) for owner, field in REFERENCE.findall(text)]


def conditions(text: str) -> Condition:
    """Parse one comparison.

    Raises:
        BadExpression: it is none.
    """
    found = _COMPARISON.fullmatch(text)
    if found is None:
        raise BadExpression(f'"{text}" is no comparison such as "${{id.field}} == 200"')
    factor = float(found[3]) if found[3] else None
    return Condition(text, _operand(found[1]), found[2], _operand(found[4]), factor)


def _operand(text: str) -> Operand:
    if text.startswith("${"):
        ref = REFERENCE.fullmatch(text)
        if ref is None:
            raise BadExpression(f'"{text}" is no reference such as "${{id.field}}"')
        return Ref(ref[1], ref[2])
    if text[0] in "\"'":
        return text[1:-1]
    return _number(text)


def _number(text: str) -> Value:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def holds(condition: Condition, values: Values) -> tuple[bool, str]:
    """Whether it holds, and what stood on both sides, for a person.

    Raises:
        Unknown: a reference has no value.
    """
    left, right = look_up(condition.left, values), look_up(condition.right, values)
    if condition.factor is not None:
        if isinstance(right, str):
            return False, f'"{right}" is no number to multiply'
        right = condition.factor * right
    if isinstance(left, str) != isinstance(right, str):
        left, right = _alike(left), _alike(right)
    if isinstance(left, str) != isinstance(right, str):
        if condition.op not in ("==", "!="):
            return False, f"{left!r} and {right!r} cannot be ordered"
        return condition.op == "!=", f"{left!r} {condition.op} {right!r}"
    return _OPERATORS[condition.op](left, right), f"{left!r} {condition.op} {right!r}"


def _alike(value: Value) -> Value:
    return _number(value) if isinstance(value, str) else value


def look_up(operand: Operand, values: Values) -> Value:
    """The value of an operand.

    Raises:
        Unknown: a reference has no value.
    """
    if not isinstance(operand, Ref):
        return operand
    try:
        return values[operand.owner, operand.field]
    except KeyError:
        raise Unknown(f"{operand} has no value") from None


def fill(text: str, values: Values) -> str:
    """A text with its references replaced.

    Raises:
        Unknown: a reference has no value.
    """
    return REFERENCE.sub(lambda found: str(look_up(Ref(found[1], found[2]), values)), text)
