"""Under which circumstances an arm was measured, and whether two arms may be compared.

Owns the allow-list of what is kept, the groups with their hashes, and the differences with their
severity (severity.toml). It must never keep a value that is not on the list, and never take a
value that could not be read for one that is unset: that is how a lost variable goes unseen.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import assert_never

OPEN_GROUPS = frozenset({"env", "conf", "args"})
ENV_PREFIXES = (
    "NCCL_", "CUDA_", "NVIDIA_", "SGLANG_", "SGL_", "VLLM_", "TORCH_", "PYTORCH_", "GGML_",
    "TORCHINDUCTOR_", "TRITON_", "FLASHINFER_", "OMP_", "MKL_", "GLOO_", "UCX_", "LLAMA_",
)  # fmt: skip
ENV_NAMES = frozenset({"LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONHASHSEED", "SPT_NOENV"})
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH")
TEMPERATURE_APART_C = 5.0
CLOCK_APART_SHARE = 0.02
HOURS_APART = 1.0
SHOWN_CHARACTERS = 60

# Groups without which no comparison is possible, and the key that stands for all of a group that
# was not read.
REQUIRED = ("args", "env", "gpu")
WHOLE = {"env": "NCCL_*", "gpu": "uuids"}


class Severity(StrEnum):
    """How much a difference matters, from least to most."""

    EXPECTED = "expected"
    WARN = "warn"
    INVALIDATES = "invalidates"


@dataclass(frozen=True, slots=True)
class Unset:
    """Read, and there is no value."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Could not be read, which says nothing about the value."""

    why: str


Value = str | Unset | Unread
"""A text also holds findings such as "no GPU" or "no libnccl mapped": both were read."""


@dataclass(frozen=True, slots=True)
class Group:
    """One group of circumstances. `unread`: why the group as a whole could not be read, or "".

    A key that is missing means unset in a group that was read (open groups list what there is),
    and unread in one that was not.
    """

    values: Mapping[str, Value]
    unread: str = ""

    def digest(self) -> str:
        """First 16 hex digits of SHA-256 over the canonical JSON of the values."""
        pairs = {key: encode(value) for key, value in self.values.items()}
        text = json.dumps([pairs, self.unread], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """All groups of one arm. `probe`: version of what read them; two probes are held against each
    other only in what both read."""

    groups: Mapping[str, Group] = field(default_factory=dict)
    probe: int = 1


@dataclass(frozen=True, slots=True)
class Difference:
    """One circumstance in which two arms differ, or may differ."""

    group: str
    key: str
    baseline: Value
    speculative: Value
    severity: Severity
    why: str

    def text(self) -> str:
        """NCCL_P2P_LEVEL differs (baseline unset, speculative SYS)."""
        unread = isinstance(self.baseline, Unread) or isinstance(self.speculative, Unread)
        same = self.baseline == self.speculative
        verb = "is unknown" if unread else "holds in both arms" if same else "differs"
        sides = f"baseline {show(self.baseline)}, speculative {show(self.speculative)}"
        whole = self.group in OPEN_GROUPS or self.key.startswith(f"{self.group}_")
        name = self.key if whole else f"{self.group} {self.key}"
        return f"{name} {verb} ({sides})"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of severity.toml."""

    group: str
    keys: tuple[str, ...]
    severity: Severity
    unknown: Severity
    why: str
    bad: tuple[str, ...] = ()

    def names(self, group: str, key: str) -> bool:
        return group == self.group and any(fnmatchcase(key, name) for name in self.keys)


@cache
def rules() -> tuple[Rule, ...]:
    """The severity table, in order."""
    text = files("console.bench").joinpath("severity.toml").read_text("utf-8")
    return tuple(
        Rule(
            group=row["group"],
            keys=tuple(row["key"]),
            severity=Severity(row["severity"]),
            unknown=Severity(row.get("unknown", "warn")),
            why=row["why"],
            bad=tuple(row.get("bad", ())),
        )
        for row in tomllib.loads(text)["rule"]
    )


def rule_for(group: str, key: str) -> Rule:
    """The row that decides on a key; what no row names only warns."""
    unnamed = Rule(group, (key,), Severity.WARN, Severity.WARN, "no rule names this")
    return next((rule for rule in rules() if rule.names(group, key)), unnamed)


def allowed_environment(environ: Mapping[str, str]) -> dict[str, Value]:
    """The part of a process environment that is kept: by prefix, without secret-looking names."""
    return {
        name: value
        for name, value in environ.items()
        if (name.startswith(ENV_PREFIXES) or name in ENV_NAMES)
        and not any(word in SECRET_WORDS for word in name.upper().split("_"))
    }


def differences(baseline: Circumstances, speculative: Circumstances) -> tuple[Difference, ...]:
    """What differs or may differ between two arms, the gravest first, then by group and key."""
    found = []
    for group in sorted({*REQUIRED, *baseline.groups, *speculative.groups}):
        missing = Group({}, "not taken")
        ours = baseline.groups.get(group, missing)
        theirs = speculative.groups.get(group, missing)
        same_probe = baseline.probe == speculative.probe
        for key in _keys(group, ours, theirs, same_probe):
            difference = _difference(group, key, _value(ours, key), _value(theirs, key))
            if difference is not None:
                found.append(difference)
    order = list(Severity)
    return tuple(sorted(found, key=lambda d: (-order.index(d.severity), d.group, d.key)))


def _keys(group: str, ours: Group, theirs: Group, same_probe: bool) -> list[str]:
    keys = {*ours.values, *theirs.values}
    if not same_probe and group not in OPEN_GROUPS:
        keys = {*ours.values} & {*theirs.values}
    if ours.unread or theirs.unread:
        keys.add(WHOLE.get(group, "*"))
    return sorted(keys)


def _value(group: Group, key: str) -> Value:
    if key in group.values:
        return group.values[key]
    return Unread(group.unread) if group.unread else Unset()


def _difference(group: str, key: str, ours: Value, theirs: Value) -> Difference | None:
    rule = rule_for(group, key)
    if isinstance(ours, Unread) or isinstance(theirs, Unread):
        return Difference(group, key, ours, theirs, rule.unknown, rule.why)
    held = {ours, theirs} & set(rule.bad)
    if not held and (ours == theirs or _near(group, key, ours, theirs)):
        return None
    return Difference(group, key, ours, theirs, rule.severity, rule.why)


def _near(group: str, key: str, ours: Value, theirs: Value) -> bool:
    """Readings that are never equal twice: moment, start temperature, clock under load (MHz)."""
    if isinstance(ours, Unset | Unread) or isinstance(theirs, Unset | Unread):
        return False
    try:
        match group, key:
            case "launch", "taken_utc":
                apart = datetime.fromisoformat(ours) - datetime.fromisoformat(theirs)
                return abs(apart.total_seconds()) <= HOURS_APART * 3600
            case "load", "temperature":
                return abs(float(ours) - float(theirs)) <= TEMPERATURE_APART_C
            case "load", "sm_clock":
                a, b = float(ours), float(theirs)
                return abs(a - b) <= CLOCK_APART_SHARE * max(a, b)
    except ValueError:
        pass
    return False


def show(value: Value) -> str:
    """A value for people."""
    match value:
        case Unset():
            return "unset"
        case Unread(why):
            return f"unread: {why}"
        case "None":  # an argument that Python's server holds and nobody gave
            return "none"
        case str():
            cut = value[:SHOWN_CHARACTERS] + ("…" if len(value) > SHOWN_CHARACTERS else "")
            return cut if value else "empty"
        case _:
            assert_never(value)


def encode(value: Value) -> str:
    """A value as one string for files: `=text`, `-` for unset, `?why` for unread."""
    match value:
        case Unset():
            return "-"
        case Unread(why):
            return f"?{why}"
        case str():
            return f"={value}"
        case _:
            assert_never(value)


def decode(text: str) -> Value:
    """The inverse of `encode`; ValueError for anything else."""
    if text == "-":
        return Unset()
    match text[:1]:
        case "=":
            return text[1:]
        case "?":
            return Unread(text[1:])
    raise ValueError(f"no value of a circumstance: {text!r}")
