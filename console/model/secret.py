"""Secrets found in text: what is named like one and what looks like one.

Owns the rule which names are secret and the forms in which tools write them (assignments, flags,
JSON, headers, URLs, tokens of known shape). Pure: it remembers nothing and replaces nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MASKED = "<masked>"
MIN_LEARNED = 8
"""Characters below which a value is too common to be masked wherever it stands."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret's place in a text, and the value to know it by elsewhere ("" if it is too vague)."""

    start: int
    end: int
    value: str = ""


MAX_CANDIDATES = 20_000
"""Places in one text that may hold a secret; a text with more is an attack, masked as a whole."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COUNTED = _words(
    "accepted audio best bonus bos cached cls completion context ctx cumulative current decode"
    " draft drafted each end eos every first free full generated generation image input inter kv"
    " last logprob mask max min n new next num out output pad pending per prefill prev prompt"
    " reasoning rejected sampled sep single special start stop swa target text thinking top total"
    " unk used verified verify video vision vocab"
)
_OPEN = _words(
    "any attention block bucket cache column config cross dict foreign group hash host hot index"
    " invalid item kv label layer lookup lora map metric missing module node object param parameter"
    " partition prefix primary public radix routing row shortcut sort state tree unexpected unknown"
    " value watermark weight"
)
_GRANTING = _words(
    "access admin api auth bearer hf private refresh secret security service session signing"
)
_ACCOUNTS = _words("admin db login mongo mysql pg postgres redis root smtp ssh sudo user")
_BEFORE = {
    "pass": _ACCOUNTS,
    "pwd": _ACCOUNTS,
    "auth": _words("basic docker proxy redis registry"),
    "signature": _words("amz goog"),
    "tokens": _words("access api auth bearer refresh secret"),
    "keys": _GRANTING,
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_FUSED = re.compile(
    r"(?:password|passwd|passphrase|passcode|secrets?|credentials?|authorization|cookie"
    r"|(?:api|access|secrets?|private|auth)keys?|(?:api|access|auth|hf|refresh|session)token)\Z"
)


def is_secret_key(name: str) -> bool:
    """Whether a value under this name is a secret, by the last word of the whole name.

    Words are parted by case, "_", "-" and "."; a number at the end does not count. Counts of
    tokens, keys into caches and public keys are none, nor is the lone word "key".
    """
    words = [word.lower() for word in _WORD.findall(name[-128:])]
    while words and words[-1].isdecimal():
        words.pop()
    if not words or words[0] == "nccl":
        return False
    last = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if last == "token":
        return before not in _COUNTED
    if last == "key":
        return before != "" and before not in _OPEN
    if last in _BEFORE:
        return before in _BEFORE[last]
    return _FUSED.search(last) is not None


# Every detector below must be foreseen here: UTF-8 in lower case without a hit holds no secret
# but a learned one. Each branch starts with one rare letter and looks around it: a search is fast
# only where every branch starts with a literal and few positions hold it.
SUSPECT = (
    rb"k(?:ey|(?<=sk)[-_]|(?<=ak)ia|(?<=cook)ie"
    rb"|(?<=tok)en(?:(?<=(?:api|uth|ess|rer|esh|ret)[_-]token)s)?[_-]?[0-9]{0,8}\\{0,8}"
    rb"(?:[\"'`]|\]?[ \t]{0,8}(?:=|%3d|:(?![ \t]*[0-9.]+(?:[,\s]|\Z))))|(?<=_tok)en[ \t])"
    rb"|c(?:(?<=sec)ret|redential)|p(?=ass)|w(?<=pw)d|h(?<=auth)|b(?=earer)|@"
    rb"|z(?:(?<=x-amz)|(?<=aiz)a)|j(?<=eyj)|v(?<=nv)api-|x(?=app-|ox)"
    rb"|_(?:(?<=hf_)|(?<=gh[pousr]_)|(?<=github_)|(?<=npm_)|(?<=r8_))"
    rb"|-(?:-[a-z]|goog-|(?<=glpat-)|(?<=pypi-)|u[ \t])"
    rb"|=(?:(?<=sig=)|(?<=ture=))"
)
"""Where a secret may be, as a pattern over lowered UTF-8 of one line or of many."""

_SUSPECT = re.compile(SUSPECT)

_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"hf_(?=[a-z]*[0-9A-Z])[A-Za-z0-9]{8,}"
    r"|sk-[A-Za-z0-9_-]{8,}"
    r"|(?<!_)sk_(?=[a-z_]*[0-9A-Z])[A-Za-z0-9_]{8,}"
    r"|AKIA[0-9A-Z]{16}"
    r"|AIza[A-Za-z0-9_-]{30,}"
    r"|gh[pousr]_[A-Za-z0-9]{8,}"
    r"|github_pat_[A-Za-z0-9_]{8,}"
    r"|glpat-[A-Za-z0-9_-]{8,}"
    r"|nvapi-[A-Za-z0-9_-]{8,}"
    r"|(?:npm_|r8_)[A-Za-z0-9]{20,}"
    r"|pypi-[A-Za-z0-9_-]{20,}"
    r"|(?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,}"
    r"|(?<![_-])eyJ[A-Za-z0-9_-]{4,}+\.[A-Za-z0-9_-]{4,}+\.[A-Za-z0-9_-]*+"
    r")"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:.*?-----END [A-Z ]{0,40}PRIVATE KEY-----|.*)",
    re.DOTALL,
)
_URL_PASSWORD = re.compile(r"://[^\s/:@\"'`]*+:([^\s/?\"'`]+)@|://([^\s/:@\"'`]{20,})@")
_CURL_USER = re.compile(
    r"\bcurl\b[^\n]{0,400}?[ \t](?:-u|--user)[ \t=]{0,8}[\"']?[^\s:\"']{1,64}:([^\s\"']+)"
)
_NAMED = re.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z0-9_.-]++)"
    # What a secret name can end in, so that other names cost no call.
    r"(?i:(?<=key)|(?<=keys)|(?<=token)|(?<=tokens)|(?<=secret)|(?<=secrets)|(?<=word)|(?<=passwd)"
    r"|(?<=phrase)|(?<=code)|(?<=pass)|(?<=pwd)|(?<=credential)|(?<=credentials)|(?<=auth)"
    r"|(?<=authorization)|(?<=signature)|(?<=sig)|(?<=cookie)|(?<=_)"
    r"|(?<=[a-z_-][0-9])|(?<=[a-z_][0-9][0-9]))"
    r"(?:(?P<quote>\\{0,8}[\"'`])?\]?[ \t]{0,8}(?P<sep>[:=]=?>?|%3[dD])(?P<gap>[ \t]{0,8})"
    r"|(?P<argument>[ \t]++(?!-)|\\{0,8}[\"'],[ \t]{0,8}|<NUL>))"
)
_BEARER = re.compile(r"(?<![A-Za-z0-9])(?i:bearer)[ \t]{1,8}(?=\S)")
_SCHEME = re.compile(r"(?i:bearer|basic|token|apikey|digest|negotiate)[ \t]{1,8}(?=\S)")
_QUOTED = re.compile(
    r"(?:[A-Za-z_][A-Za-z0-9_.]{0,40}\(|[$bru])?(?P<open>\\{0,8}[\"'`])"
    r"(?P<body>(?:(?!(?P=open))(?:\\.|.))*+)",
    re.DOTALL,
)
_LIST = re.compile(r"\[[^\[\]]*+")
_ITEM = re.compile(r"([\"'])((?:(?!\1)(?:\\.|.))++)\1?", re.DOTALL)
_BARE = re.compile(
    r"(?![{(\[])(?:(?!\\{0,8}[\"'`](?:[\s,;:)}\]>\\]|\Z)|[,;][\"']?[A-Za-z_][\w.-]*[\"']?[=:]"
    r"|&[\w.%-]+=|<NUL>)\S)++"
)
_CLOSERS = ",;)}].:"
_NOT_VALUES = frozenset(
    ["", "none", "null", "nil", "true", "false", "undefined", '""', "''", MASKED]
)
_NUMBER = re.compile(r"[+-]?[0-9.,_]+(?:[eE][+-]?[0-9]{1,3})?")
_REFERENCE = re.compile(r"\$.*|[A-Z_]+|%\(?\w+\)?s?", re.DOTALL)
_LIKE_A_KEY = re.compile(r"(?!/).*[0-9]", re.DOTALL)
_LONE = _words("token secret credential credentials")
_PROSE = _words("auth authentication authorization header is or scheme token tokens")


def is_number(value: str) -> bool:
    """Whether the value is a plain decimal number (digits with "." "," "_" and an exponent)."""
    return _NUMBER.fullmatch(value) is not None


def is_value(value: str) -> bool:
    """Whether anything is set at all: None, null, '' and the truth values are no secrets."""
    return value.strip().lower() not in _NOT_VALUES


def bare_credential(value: str) -> str:
    """The value without a scheme before it, as in `Bearer …`."""
    scheme = _SCHEME.match(value)
    return value[scheme.end() :] if scheme else value


def secrets_in(text: str) -> Iterator[Secret]:
    """Every secret that names or shapes give away, in no order; they may overlap.

    Text without colour codes, of any length, in time linear in it.
    """
    if not _SUSPECT.search(text.encode("utf-8", "replace").lower()):
        return
    for count, secret in enumerate(_candidates(text)):
        if count >= MAX_CANDIDATES:
            yield Secret(0, len(text))
            return
        if secret:
            yield secret


def _candidates(text: str) -> Iterator[Secret | None]:
    for found in _SHAPES.finditer(text):
        yield Secret(*found.span())
    for found in _URL_PASSWORD.finditer(text):
        group = found.lastindex or 0
        yield _secret(*found.span(group), found[group])
    for found in _CURL_USER.finditer(text):
        yield _secret(*found.span(1), found[1])
    yield from _after_bearer(text)
    yield from _under_names(text)


def _after_bearer(text: str) -> Iterator[Secret | None]:
    at = 0
    while found := _BEARER.search(text, at):
        at = found.end()
        value = _BARE.match(text, at)
        if value is None or _stripped(value).lower() in _PROSE:
            yield None
            continue
        at = value.end()
        secret = _stripped(value)
        yield _secret(value.start(), value.start() + len(secret), secret)


def _under_names(text: str) -> Iterator[Secret | None]:
    at = 0
    while found := _NAMED.search(text, at):
        at = found.end()
        yield None
        if _names_secret(text, found):
            for secret in _values(text, found):
                at = max(at, secret.end)
                yield secret


def _names_secret(text: str, found: re.Match[str]) -> bool:
    name, separator = found["name"], found["sep"]
    if found["argument"] is not None:
        return (name.startswith("--") or _is_variable(found)) and is_secret_key(name)
    if separator != ":" and found["gap"] and text[found.start("sep") - 1] not in " \t":
        # `NAME= command`: an empty assignment before a command.
        return False
    start = found.start()
    if separator == ":" and not found["quote"] and start and text[start - 1] == "#":
        return False
    if is_secret_key(name):
        return True
    lowered = name.lower()
    if lowered in ("key", "keys"):
        return text[max(0, start - 4) : start].lower() == "api "
    return lowered in ("sig", "signature") and separator != ":"


def _is_variable(found: re.Match[str]) -> bool:
    """Whether a name without any sign before its value is one of the environment."""
    name = found["name"]
    return name.isupper() and "_" in name and found["argument"].isspace()


def _values(text: str, found: re.Match[str]) -> Iterator[Secret]:
    at = found.end()
    if text.startswith("[", at):
        listed = _LIST.match(text, at)
        for item in _ITEM.finditer(text, at, listed.end() if listed else at):
            yield _secret(*item.span(2), item[2])
        return
    lone = found["name"].lower().lstrip("-") in _LONE
    named_only = found["argument"] is not None and _is_variable(found)
    prose = found["sep"] == ":" and not found["quote"]
    if quoted := _QUOTED.match(text, at):
        secret = bare_credential(quoted["body"])
        start, end = quoted.end("body") - len(secret), quoted.end("body")
        vague = lone
    else:
        scheme = _SCHEME.match(text, at)
        value = _BARE.match(text, scheme.end() if scheme else at)
        if value is None:
            return
        secret = _stripped(value)
        start, end = value.start(), value.start() + len(secret)
        vague = lone or prose
    if named_only and not (_is_odd(secret) and _LIKE_A_KEY.match(secret)):
        return
    if not is_value(secret) or (lone and (is_number(secret) or (prose and not _is_odd(secret)))):
        return
    yield _secret(start, end, "" if vague and not _is_odd(secret) else secret)


def _secret(start: int, end: int, value: str) -> Secret:
    return Secret(start, end, "" if _REFERENCE.fullmatch(value) else value)


def _stripped(value: re.Match[str]) -> str:
    return value[0].rstrip(_CLOSERS) or value[0]


def _is_odd(value: str) -> bool:
    """Whether it is too long and too mixed for a word or a number of ordinary text."""
    return len(value) >= MIN_LEARNED and not value.isalpha() and not is_number(value)
