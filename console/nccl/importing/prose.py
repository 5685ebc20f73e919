"""Finds KEY=VALUE pairs in running text: documents in any language, comments, table cells.
A value ends where a reader would end it; what only stands for a value stays unresolved."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from console.nccl.importing.found import NAME, PLACEHOLDER, Found, State

_START = re.compile(
    r"(?:(?<![A-Za-z0-9_$%.])(?<!\$\{)|(?<=\s-[exE]))"
    r"(NCCL_[A-Z0-9_]+(?:/[A-Z0-9_]+)*|NCCL_\{[A-Z0-9_,]+\}[A-Z0-9_]*)"
    r"(?:=(?!=?\s)|(?:`|\*\*)?[ ]?=[ ]?(?:`|\*\*)?(?![=\s]))"
)
_QUOTED = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)'")
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_FULL_WIDTH = r"\u3000-\u303f\uff01-\uff0f\uff1a-\uff1f\uff3b\uff3d\uff5b-\uff65"
_OPEN = (
    r"(?P<open><(?!/)(?!(?:br|p|td|th|li|ul|ol|code|b|i|u|tr|div|span|del|ins|s|strong|em|kbd|tt|pre"
    r"|mark|samp|sub|sup|small|a|font)\b)[^<>\n]{1,80}>"
    r"|\$\{[^\n{}]{0,200}(?:\$\{[^\n{}]{0,200}\}[^\n{}]{0,200})?\}|\$\([^\n]{0,400}?\)"
    r"|\{\{[^\n{}]{0,200}\}\})"
)
_NEXT = r"[→⇒]|[,;&](?=NCCL_[A-Z])|/(?=NCCL_[A-Z0-9_]+=)|\]\("
_STOP = re.compile(_OPEN + rf"|(?P<end>{_NEXT}|[\s`|<>{_FULL_WIDTH}{_CJK}])")
_STOP_FOREIGN = re.compile(_OPEN + rf"|(?P<end>{_NEXT}|[\s`|<>{_FULL_WIDTH}])")
_STOP_CODE = re.compile(_OPEN + rf"|(?P<end>{_NEXT}|[\s`|<>])")
_FOREIGN = re.compile(rf"[{_CJK}]")
_TRAILING = "….,;:!?)]}\"'*~|\\"
_SMART = "“”„‟‘’«»‹›"
_UNKNOWN = re.compile(r"[NXKM]")
"""A letter as sentences use it for any number."""

_FORBIDS = re.compile(
    r"\b(?:do not|don['’]t|never|must not|should(?: not|n['’]t)|avoid|nicht|niemals|ne pas)\b"
    r"(?! (?:unset|remove|forget|drop|omit|change|touch))[^.,;:!?]{0,40}$"
    r"|(?:不要|请勿|切勿|禁止|避免)[^。；，,]{0,12}$",
    re.IGNORECASE,
)
_LONGEST_URL = 4096
_CHOICE = re.compile(r"[0-9]+(?:/[0-9]+)+")


def scan(text: str, line: int, *, code: bool = False, scope: str = "") -> Iterator[Found]:
    """Pairs in one line of text. `code`: the text stood between backticks, where full-width
    punctuation belongs to a value and a full stop may too."""
    found = _START.search(text)
    while found is not None:
        value, end, whole = _value(text, found.end(), code)
        before = text[found.start() - 1 : found.start()]
        if before and before in "\"'" and value.endswith(before) and not whole:
            value = value.removesuffix(before)
        if (value or whole) and not _in_address(text, found.start()):
            one = _place(found[1], value, line, scope, whole)
            forbidden = one.state is State.SET and forbids(text, found.start())
            yield replace(one, state=State.COMMENTED) if forbidden else one
        found = _START.search(text, max(end, found.end()))


def forbids(text: str, at: int) -> bool:
    """Whether the words before a place say that what stands there is not to be done."""
    return _FORBIDS.search(text, max(0, at - 80), at) is not None


def _in_address(text: str, at: int) -> bool:
    """Whether the pair is part of a URL."""
    before = text[max(0, at - _LONGEST_URL) : at]
    begin = max(before.rfind(blank) for blank in " \t`\"'|")
    return "://" in before[begin + 1 :]


def _place(name: str, value: str, line: int, scope: str, whole: bool) -> Found:
    if not NAME.fullmatch(name):
        return Found(name, State.UNRESOLVED, (line,), raw=value, expands=expand(name), scope=scope)
    if is_open(name, value) and not (whole and "<" not in value and "$" not in value):
        return Found(name, State.UNRESOLVED, (line,), raw=value, scope=scope)
    return Found(name, State.SET, (line,), value=value, scope=scope)


def _value(text: str, at: int, code: bool) -> tuple[str, int, bool]:
    """(value, where it ends, whether quotes kept it whole)."""
    quoted = _QUOTED.match(text, at)
    if quoted is not None:
        return quoted[2] if quoted[1] is None else quoted[1], quoted.end(), True
    pattern = _STOP_CODE if code else _STOP
    if not code and _FOREIGN.match(text, at):
        pattern = _STOP_FOREIGN
    stop, kept_to = at, at
    while True:
        mark = pattern.search(text, stop)
        if mark is None:
            stop = len(text)
            break
        if mark["open"]:
            stop = kept_to = mark.end()
        elif mark[0] == "|" and mark.start() > at and text[mark.end() : mark.end() + 1].isalnum():
            stop = mark.end()
        else:
            stop = mark.start()
            break
    value = text[at:stop]
    trailing = ",;`" if code else _TRAILING
    if value[:1] not in _SMART:
        trailing += _SMART
    kept = value.rstrip(trailing)
    kept = text[at : max(at + len(kept), kept_to)]
    if not kept and value and set(value) <= set(".?*"):
        kept = value
    rest = text[at + len(kept) : stop]
    for left, right in ("[]", "()", "{}"):
        if rest.startswith(right) and kept.count(left) > kept.count(right):
            kept += right
    return kept, stop, False


def is_open(name: str, value: str) -> bool:
    """Whether a value only stands for one: a placeholder, an expansion, a choice."""
    if PLACEHOLDER.fullmatch(value) or _UNKNOWN.fullmatch(value):
        return not unicodedata.normalize("NFKC", value).isascii() or value.isascii()
    if "$" in value or "`" in value or "{{" in value:
        return True
    if "<" in value and ">" in value:
        return True
    if "|" in value:
        return name != "NCCL_CTA_POLICY"
    return _CHOICE.fullmatch(value) is not None


def expand(name: str) -> tuple[str, ...]:
    """The names a shorthand stands for: NCCL_MIN/MAX_NCHANNELS, NCCL_{MIN,MAX}_NCHANNELS."""
    braces = re.fullmatch(r"(NCCL_)\{([A-Z0-9_,]+)\}([A-Z0-9_]*)", name)
    if braces is not None:
        return tuple(braces[1] + part + braces[3] for part in braces[2].split(","))
    first, *others = name.split("/")
    last = others[-1].removeprefix("NCCL_")
    tail = last[last.find("_") :] if "_" in last else ""
    names = [first.removeprefix("NCCL_"), *(part.removeprefix("NCCL_") for part in others[:-1])]
    return tuple(f"NCCL_{part}" for part in (*(n + tail for n in names), last))
