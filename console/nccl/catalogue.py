"""The catalogue of NCCL's environment variables, read once from catalogue.toml on first use.
Answers what a name is and in which releases it lives; never judges a value."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from console.nccl.version import Version, parse_version

DIAGNOSTIC_PREFIXES = ("NCCL_DEBUG", "NCCL_WARN_ENABLE_DEBUG_INFO")
"""Names that change what is printed, not how fast anything runs."""

OLDEST = Version(2, 0)
ALLOWED_PREFIXES = (
    "NCCL_",
    "CUDA_",
    "TORCH_NCCL_",
    "SGLANG_",
    "VLLM_",
    "GLOO_",
    "TORCH_DISTRIBUTED_",
    "NVSHMEM_",
    "UCX_",
)
ALLOWED_NAMES = frozenset(
    {
        "PYTORCH_CUDA_ALLOC_CONF",
        "SPT_NOENV",
        "OMP_NUM_THREADS",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TRTLLM_ENABLE_PDL",
    }
)
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


@dataclass(frozen=True, slots=True)
class Variable:
    """One row. `defaults` and `values_since` list (first version, value) and (value, first
    version); `auto_number` is the number by which the library itself means "decide"."""

    name: str
    about: str
    group: str
    kind: str
    parser: str
    default: str
    risk: str
    values: tuple[str, ...] = ()
    values_since: tuple[tuple[str, Version], ...] = ()
    unit: str = ""
    defaults: tuple[tuple[Version, str], ...] = ()
    auto_number: int | None = None
    min: int | None = None
    max: int | None = None
    multiple_of: int | None = None
    low: int | None = None
    power_of_two: bool = False
    syntax: str = ""
    functions: tuple[str, ...] = ()
    since: Version = OLDEST
    removed: Version | None = None
    deprecated: Version | None = None
    replaced_by: str = ""
    documented: bool = True
    set_by: tuple[str, ...] = ()
    history: str = ""

    @property
    def foreign(self) -> bool:
        """Carries NCCL's prefix but belongs to another library."""
        return self.parser == "foreign"

    def lives_in(self, version: Version) -> bool:
        """Whether a library of `version` reads this name at all."""
        if self.foreign or self.since > version:
            return False
        return self.removed is None or version < self.removed

    def default_in(self, version: Version) -> str:
        """The default of `version` as text: a value, `auto` or `unset`."""
        answer = self.default
        for first, value in self.defaults:
            if first <= version:
                answer = value
        return answer

    def values_in(self, version: Version) -> tuple[str, ...]:
        """The words or numbers `version` knows, empty where they are not a closed list."""
        later = {value for value, first in self.values_since if first > version}
        return tuple(value for value in self.values if value not in later)


def _version(text: str) -> Version:
    found = parse_version(text)
    if found is None:
        raise ValueError(f"catalogue: no version: {text!r}")
    return found


def _variable(name: str, row: dict[str, Any]) -> Variable:
    known = dict(row)
    for key in ("values", "functions", "set_by"):
        if key in known:
            known[key] = tuple(known[key])
    for key in ("since", "removed", "deprecated"):
        if key in known:
            known[key] = _version(known[key])
    if "defaults" in known:
        known["defaults"] = tuple((_version(v), text) for v, text in known["defaults"])
    if "values_since" in known:
        known["values_since"] = tuple((text, _version(v)) for text, v in known["values_since"])
    return Variable(name=name, **known)


@cache
def catalogue() -> dict[str, Variable]:
    """Every known variable by name, in alphabetical order."""
    text = resources.files("console.nccl").joinpath("catalogue.toml").read_text("utf-8")
    return {name: _variable(name, row) for name, row in tomllib.loads(text).items()}


def lookup(name: str) -> Variable | None:
    """The variable called `name`, or None."""
    return catalogue().get(name)


@lru_cache(1024)
def nearest(name: str) -> str:
    """The known name most like `name`, empty if none is close."""
    close = difflib.get_close_matches(name, list(catalogue()), n=1, cutoff=0.82)
    return close[0] if close else ""


def is_diagnostic(name: str) -> bool:
    """True for NCCL_DEBUG and its kin: they cannot explain a difference in speed."""
    return name.startswith(DIAGNOSTIC_PREFIXES)


def is_allowed(name: str) -> bool:
    """Whether a variable of a process may be shown: tuning names only, nothing secret."""
    if any(word in name for word in SECRET_WORDS):
        return False
    return name in ALLOWED_NAMES or name.startswith(ALLOWED_PREFIXES)
