"""Values that running text gives in words: `NAME: value`, `NAME 4 -> 8`, `set NAME to value`,
`unset NAME`. Only what looks like a value counts as one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.nccl.importing.found import Found, State
from console.nccl.importing.prose import forbids, is_open

_HEAD = r"\s*(?:[-*+]|\d+[.)])?\s*(?:\[[ xX]\]\s*)?[`*]*(NCCL_[A-Z0-9_]+)[`*]*\s*"
_VALUE = r"(?:`([^`]+)`|\"([^\"]*)\"|([A-Za-z0-9_^=.,:-]*[A-Za-z0-9_^]))"
_TAIL = r"[`*\s]*(?:[.。]|[(（].*)?$"
_ARROW = r"\s*[`*]*\s*(?:->|=>|[→⇒➜])\s*[`*]{0,2}"
_NAMED = re.compile(_HEAD + r"[:：]\s*" + _VALUE + _TAIL)
_CHANGED = re.compile(_HEAD + r"[:：]?\s*" + _VALUE + _ARROW + _VALUE + _TAIL)
_LEADS_TO = re.compile(_HEAD + r"(?:->|=>|[→⇒➜])\s*" + _VALUE + _TAIL)
_SET_TO = re.compile(
    r"\b(?i:set|change|raise|lower|increase|reduce|bump|switch|setze|erhöhe|senke)\s+[`*]*"
    r"(NCCL_[A-Z0-9_]+)[`*]*\s+(?:(?i:from|von)\s+" + _VALUE + r"\s+)?(?i:to|auf)\s+"
    + _VALUE + r"(?=[\s.,;:)!]|$)"
)  # fmt: skip
_UNSET = re.compile(
    r"\b(?i:unset|remove|delete|drop)\s+[`*]*(NCCL_[A-Z0-9_]+)[`*]*(?![A-Za-z0-9_=]|\s*[=:])"
)


def said_by_line(row: str, line: int) -> list[Found]:
    """What a line says that is all about one name; nothing for any other line."""
    for form in (_NAMED, _LEADS_TO):
        named = form.match(row)
        if named is not None and _is_plausible(value := _value(named.groups()[1:])):
            return [_found(named[1], value, line)]
    changed = _CHANGED.match(row)
    if changed is None:
        return []
    old, new = _value(changed.groups()[1:4]), _value(changed.groups()[4:])
    if not (_is_plausible(old) and _is_plausible(new)):
        return []
    return [Found(changed[1], State.OLD, (line,), value=old), _found(changed[1], new, line)]


def said_within(row: str, line: int) -> Iterator[Found]:
    """What sentences of a line tell to do."""
    for told in _SET_TO.finditer(row):
        old, new = _value(told.groups()[1:4]), _value(told.groups()[4:])
        if not _is_plausible(new) or forbids(row, told.start()):
            continue
        if old:
            yield Found(told[1], State.OLD, (line,), value=old)
        yield _found(told[1], new, line)
    for gone in _UNSET.finditer(row):
        if not forbids(row, gone.start()):
            yield Found(gone[1], State.UNSET, (line,))


def _value(groups: tuple[str | None, ...]) -> str:
    return next((group for group in groups if group is not None), "")


def _found(name: str, value: str, line: int) -> Found:
    if is_open(name, value):
        return Found(name, State.UNRESOLVED, (line,), raw=value)
    return Found(name, State.SET, (line,), value=value)


def _is_plausible(value: str) -> bool:
    """Only a number or a word in capitals or with a digit counts as a value."""
    return bool(re.fullmatch(r"-?[0-9]\S*|[A-Z][A-Za-z0-9_,]*|[\^=]?\w*\d[\w.,:]*", value))
