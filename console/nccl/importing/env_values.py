"""What a loader makes of a scalar in YAML or JSON: compose, Kubernetes, Ansible, launch.json.
Numbers with a leading zero, yes and no, null, dollars and templates differ among them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.nccl.finding import Severity
from console.nccl.importing.found import TEMPLATE, Context, Found, Item, Problem, State
from console.nccl.importing.shell_text import default_of
from console.nccl.importing.tree import Scalar

_OCTAL = re.compile(r"[-+]?0[0-7]{1,30}")
_HEX = re.compile(r"[-+]?0[xX][0-9a-fA-F]+|0o[0-7]+")
_NUMBER = re.compile(r"[-+]?(\d[\d_]*)(\.\d*)?([eE][-+]?\d+)?|[-+]?\.\d+|\.inf|\.nan")
_BOOL = re.compile(r"true|false|True|False|TRUE|FALSE")
_YES = re.compile(r"yes|on|Yes|On|YES|ON")
_NO = re.compile(r"no|off|No|Off|NO|OFF")
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_DOLLAR = re.compile(r"\$[A-Za-z_{(]")
_COMPOSE_DOLLAR = re.compile(r"(?<!\$)(?:\$\$)*\$(?!\$)(?:\{|[A-Za-z_])")
_K8S_DOLLAR = re.compile(r"(?<!\$)\$\([A-Za-z_]\w*\)")


def place_scalar(
    name: str, scalar: Scalar, lines: tuple[int, ...], kind: str, context: Context
) -> Iterator[Item]:
    """Items for one value; `kind` is the loader: compose, kubernetes, ansible, json, yaml."""
    text = scalar.text
    if scalar.style in ("block", "folded"):
        text = text.removesuffix("\n")
    if scalar.style == "folded":
        text = text.replace("\n", " ").rstrip()
    if scalar.style == "plain" and text in _NULL:
        yield from _nothing(name, lines, kind, context)
        return
    alias = scalar.style == "plain" and text.startswith("*")
    if alias or TEMPLATE.search(text) or _expands(text, kind):
        yield Found(
            name,
            State.UNRESOLVED,
            lines,
            raw=text,
            default=default_of(text),
            scope=context.scope,
            conditional=context.conditional,
        )
        return
    value = text
    if kind == "compose":
        value = value.replace("$$", "$")
    if kind == "kubernetes":
        value = value.replace("$$", "$")
    problem = None
    if scalar.style == "plain":
        value, problem = _typed(name, value, lines, kind)
    yield Found(
        name,
        State.SET,
        lines,
        value=value,
        scope=context.scope,
        target=context.target,
        conditional=context.conditional,
    )
    if problem is not None:
        yield problem


def _nothing(name: str, lines: tuple[int, ...], kind: str, context: Context) -> Iterator[Item]:
    if kind == "compose":
        yield Found(name, State.UNRESOLVED, lines, from_caller=True, scope=context.scope)
    elif kind == "json":
        yield Found(name, State.UNSET, lines, scope=context.scope)
    else:
        yield Found(name, State.SET, lines, value="", scope=context.scope)
        why = "no value stands here: the empty text arrives"
        yield Problem(Severity.WARNING, (name,), lines, why)


def _expands(text: str, kind: str) -> bool:
    if kind == "compose":
        return _COMPOSE_DOLLAR.search(text) is not None
    if kind == "kubernetes":
        return _K8S_DOLLAR.search(text) is not None
    if kind == "json":
        return "${" in text
    return kind == "yaml" and _DOLLAR.search(text) is not None


def _typed(name: str, text: str, lines: tuple[int, ...], kind: str) -> tuple[str, Problem | None]:
    """The text a plain scalar becomes, and what is wrong with that."""
    number = _NUMBER.fullmatch(text) is not None or _HEX.fullmatch(text) is not None
    word = any(p.fullmatch(text) for p in (_BOOL, _YES, _NO))
    if kind == "kubernetes":
        if number or word:
            why = "a bare number or switch: the API server wants text and refuses the manifest"
            return text, Problem(Severity.ERROR, (name,), lines, why, reads_as="")
        return text, None
    if kind == "json":
        return text, None
    if _OCTAL.fullmatch(text) and text.lstrip("+-") != "0":
        value = str(int(text, 8))
        if value == str(int(text)):
            return value, None
        why = f"YAML reads a leading 0 as octal: {value} arrives, not {text.lstrip('0')}"
        return value, Problem(Severity.ERROR, (name,), lines, why, reads_as=value)
    if kind == "ansible":
        if _YES.fullmatch(text) or text.lower() == "true":
            return "True", None
        if _NO.fullmatch(text) or text.lower() == "false":
            return "False", None
    if kind == "compose" and _BOOL.fullmatch(text):
        return text.lower(), None
    if kind in ("ansible", "compose") and _HEX.fullmatch(text) and len(text) < 30:
        return str(int(text, 0)), None
    if kind == "compose" and re.fullmatch(r"\d+[eE]\d{1,3}", text) and float(text) < 1e21:
        return f"{float(text):g}", None
    if number and "_" in text and kind in ("ansible", "compose"):
        return text.replace("_", ""), None
    return text, None
