"""Writes a set of variables in the form a tool reads: shell, .env, docker, compose, systemd,
Kubernetes, nccl.conf. What a grammar cannot hold is refused by name with the reason; nothing is
bent to fit. Every export is read back by importing to the same values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from console.nccl.importing.conf import MAX_LINE, MAX_PART
from console.nccl.importing.found import TEMPLATE

_PLAIN = re.compile(r"[A-Za-z0-9_.,:=^/+@-]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A variable that the format cannot hold."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Exported:
    """The text, ending in a newline, and what is not in it."""

    text: str
    refused: tuple[Refusal, ...] = ()


def _shell_word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def _shell(env: Mapping[str, str]) -> str:
    return "".join(f"export {name}={_shell_word(value)}\n" for name, value in env.items())


def _docker(env: Mapping[str, str]) -> str:
    pairs = (_shell_word(f"{name}={value}") for name, value in env.items())
    return "docker run \\\n" + "".join(f"  -e {pair} \\\n" for pair in pairs) + "  IMAGE\n"


def _dotenv(env: Mapping[str, str]) -> str:
    rows = []
    for name, value in env.items():
        if _PLAIN.fullmatch(value) or value == "":
            shown = value
        elif "'" not in value and not _UNPRINTABLE.search(value):
            shown = f"'{value}'"
        else:
            escaped = re.sub(r"([\"\\$])", r"\\\1", value)
            escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
            shown = f'"{escaped}"'
        rows.append(f"{name}={shown}\n")
    return "".join(rows)


def _yaml_text(value: str) -> str:
    """A double-quoted YAML scalar with nothing left to a reader's taste; $ doubled, as compose
    and Kubernetes both want it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return '"' + _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'


def _compose(env: Mapping[str, str]) -> str:
    rows = "".join(f"  {name}: {_yaml_text(value)}\n" for name, value in env.items())
    return "environment:\n" + rows if rows else "environment: {}\n"


def _kubernetes(env: Mapping[str, str]) -> str:
    rows = "".join(f"- name: {n}\n  value: {_yaml_text(value)}\n" for n, value in env.items())
    return "env:\n" + rows if rows else "env: []\n"


def _systemd(env: Mapping[str, str]) -> str:
    rows = []
    for name, value in env.items():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
        escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
        rows.append(f'Environment="{name}={escaped}"\n')
    return "[Service]\n" + "".join(rows)


def _conf(env: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in env.items())


def _never(_: str, __: str) -> str:
    return ""


def _systemd_refuses(_: str, value: str) -> str:
    bad = re.search(r"[\x01-\x08\x0b-\x1f\x7f]", value)
    return f"systemd allows no control character such as {bad[0]!r}" if bad else ""


def _dotenv_refuses(_: str, value: str) -> str:
    odd = re.search(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]", value)
    return f"a .env file has no form for {odd[0]!r}" if odd else ""


def _conf_refuses(name: str, value: str) -> str:
    if "\n" in value:
        return "nccl.conf has one line for a value"
    if value.endswith("\r"):
        return "a carriage return at the end is kept up to 2.29 and dropped from 2.30"
    if len(name.encode()) > MAX_PART or len(value.encode()) > MAX_PART:
        return f"NCCL reads {MAX_PART} characters of a name or value"
    if len(f"{name}={value}".encode()) > MAX_LINE:
        return f"NCCL reads {MAX_LINE} characters of a line"
    return ""


FORMATS: dict[str, tuple[Callable[[Mapping[str, str]], str], Callable[[str, str], str], str]] = {
    "shell": (_shell, _never, "shell"),
    "env": (_dotenv, _dotenv_refuses, "env"),
    "docker": (_docker, _never, "shell"),
    "compose": (_compose, _never, "compose"),
    "systemd": (_systemd, _systemd_refuses, "systemd"),
    "kubernetes": (_kubernetes, _never, "kubernetes"),
    "nccl.conf": (_conf, _conf_refuses, "nccl.conf"),
}
"""Name of a format: writer, reason to refuse a variable, and the kind importing reads it as."""


def _refuses_everywhere(name: str, value: str) -> str:
    if not _NAME.fullmatch(name):
        return "no name for a variable"
    if "\0" in value:
        return "a NUL ends every environment value"
    if any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        return "holds bytes that are no UTF-8 text"
    if TEMPLATE.search(value):
        return "a template, not a value"
    return ""


def export(env: Mapping[str, str], to: str) -> Exported:
    """`env` written for `to`, one of FORMATS; names in the order given. Raises ValueError for an
    unknown format."""
    if to not in FORMATS:
        raise ValueError(f"no such format: {to}; known are {', '.join(FORMATS)}")
    write, refuses, _ = FORMATS[to]
    kept: dict[str, str] = {}
    refused: list[Refusal] = []
    for name, value in env.items():
        why = _refuses_everywhere(name, value) or refuses(name, value)
        if why:
            refused.append(Refusal(name, why))
        else:
            kept[name] = value
    return Exported(write(kept), tuple(refused))
