"""The check as NCCL parses: findings for a set of variables and one library version.
Says what was written, what NCCL would do and what was probably meant; never changes a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from console.nccl import parse, wordlist
from console.nccl.catalogue import Variable, lookup, nearest
from console.nccl.finding import Finding, Severity
from console.nccl.parse import Outcome, Reading
from console.nccl.rules import UNKNOWN_MACHINE, Machine, combinations
from console.nccl.version import NEWEST, Version

Reader = Callable[[Variable, str, Version], Reading]

_READERS: dict[str, Reader] = {
    "integer": parse.read_integer,
    "threads": parse.read_integer,
    "power": parse.read_integer,
    "level": parse.read_level,
    "switch": parse.read_switch,
    "leading": parse.read_leading,
    "list": wordlist.read_list,
    "debug": wordlist.read_debug,
    "subsystems": wordlist.read_subsystems,
    "flag": wordlist.read_flag,
    "family": wordlist.read_family,
    "policy": wordlist.read_policy,
    "word": wordlist.read_word,
    "devices": wordlist.read_devices,
    "address": wordlist.read_address,
    "network": wordlist.read_network,
    "path": wordlist.read_path,
    "text": wordlist.read_text,
}
_SEVERITY = {
    Outcome.TAKEN: Severity.NOTE,
    Outcome.TAIL: Severity.WARNING,
    Outcome.CLAMPED: Severity.WARNING,
    Outcome.ODD: Severity.WARNING,
    Outcome.EMPTY: Severity.WARNING,
    Outcome.CHANGED: Severity.ERROR,
    Outcome.IGNORED: Severity.ERROR,
    Outcome.REFUSED: Severity.ERROR,
    Outcome.FATAL: Severity.ERROR,
}
_CONFUSED = {
    "NCCL_NCHANNELS": "NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS",
    "NCCL_CHANNELS": "NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS",
    "NCCL_NRINGS": "NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS",
    "NCCL_MAX_CHANNELS": "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CHANNELS": "NCCL_MIN_NCHANNELS",
    "NCCL_BUFF_SIZE": "NCCL_BUFFSIZE",
    "NCCL_BUFFER_SIZE": "NCCL_BUFFSIZE",
    "NCCL_BUFSIZE": "NCCL_BUFFSIZE",
    "NCCL_PROTOCOL": "NCCL_PROTO",
    "NCCL_ALGORITHM": "NCCL_ALGO",
    "NCCL_INTERFACE": "NCCL_SOCKET_IFNAME",
    "NCCL_IFNAME": "NCCL_SOCKET_IFNAME",
    "NCCL_LOG_LEVEL": "NCCL_DEBUG",
    "NCCL_DEBUG_LEVEL": "NCCL_DEBUG",
    "NCCL_IB_GDR": "NCCL_NET_GDR_LEVEL",
    "NCCL_DISABLE_P2P": "NCCL_P2P_DISABLE",
    "NCCL_DISABLE_IB": "NCCL_IB_DISABLE",
    "NCCL_DISABLE_SHM": "NCCL_SHM_DISABLE",
}
_NOT_NCCL = {
    "NCCL_VERSION": (Severity.NOTE, "an image's label, NCCL does not read it"),
    "NCCL_TIMEOUT": (
        Severity.WARNING,
        "no variable of NCCL: time limits belong to the framework (torch's init_process_group)",
    ),
    "NCCL_SOCKET_TIMEOUT": (Severity.WARNING, "no variable of NCCL"),
}
_HINTS_PER_CHECK = 40


def read_value(variable: Variable, value: str, version: Version = NEWEST) -> Reading:
    """What a library of `version` makes of `value`; a name it does not read is IGNORED."""
    reader = _READERS.get(variable.parser)
    if reader is None or not variable.lives_in(version):
        return Reading(Outcome.IGNORED, "", "not read by this version")
    return reader(variable, value, version)


def check_value(name: str, value: str, version: Version = NEWEST) -> tuple[Finding, ...]:
    """Findings about one variable alone; empty where nothing is to be said."""
    variable = lookup(name)
    if variable is None:
        return (_unknown(name, value, nearest(name)),)
    if not variable.lives_in(version):
        return (_not_read(variable, value, version),)
    reading = read_value(variable, value, version)
    found = []
    if reading.outcome is not Outcome.TAKEN or reading.why:
        found.append(
            Finding(
                rule=f"value-{reading.outcome.name.lower()}",
                severity=_severity(variable, reading),
                names=(name,),
                why=reading.why or reading.outcome.value,
                written=value,
                reads_as=_in_words(variable, reading, version),
                meant=reading.meant,
                version=str(version),
            )
        )
    found.extend(_age(variable, value, version))
    return tuple(found)


def _in_words(variable: Variable, reading: Reading, version: Version) -> str:
    """What NCCL holds: the default by its value where it has one."""
    default = variable.default_in(version)
    if reading.reads_as != parse.DEFAULT or default in ("auto", "unset"):
        return reading.reads_as
    return default


def _severity(variable: Variable, reading: Reading) -> Severity:
    blank_only = reading.outcome is Outcome.TAIL and reading.why.startswith("the blank")
    harmless_empty = reading.outcome is Outcome.EMPTY and variable.parser in ("text", "switch")
    if blank_only or harmless_empty:
        return Severity.NOTE
    return _SEVERITY[reading.outcome]


def _age(variable: Variable, value: str, version: Version) -> Iterable[Finding]:
    if variable.deprecated is not None and variable.deprecated <= version:
        instead = f"; {variable.replaced_by} has taken its place" if variable.replaced_by else ""
        yield Finding(
            rule="deprecated",
            severity=Severity.NOTE,
            names=(variable.name,),
            why=f"still read, deprecated since {variable.deprecated}{instead}",
            written=value,
            meant=variable.replaced_by,
            version=str(version),
        )


def _not_read(variable: Variable, value: str, version: Version) -> Finding:
    if variable.foreign:
        why = f"PyTorch's old name, NCCL does not read it: {variable.replaced_by}"
    elif variable.since > version:
        why = f"unknown to this version, read from {variable.since} on"
    else:
        why = f"removed in {variable.removed}: no effect"
    return Finding(
        rule="not-read",
        severity=Severity.WARNING,
        names=(variable.name,),
        why=why,
        written=value,
        meant=variable.replaced_by,
        version=str(version),
    )


def _unknown(name: str, value: str, near: str) -> Finding:
    severity, why = _NOT_NCCL.get(name, (Severity.WARNING, "no variable NCCL is known to read"))
    meant = "" if name in _NOT_NCCL else _CONFUSED.get(name, near)
    if meant:
        why += f"; {meant} is meant?"
    return Finding("unknown-name", severity, (name,), why, written=value, meant=meant)


def check(
    env: Mapping[str, str], version: Version = NEWEST, machine: Machine = UNKNOWN_MACHINE
) -> tuple[Finding, ...]:
    """All findings about the NCCL_* names of `env`, values first, then combinations. Other
    libraries' names are not judged."""
    found: list[Finding] = []
    hints = 0
    for name, value in env.items():
        if not name.startswith("NCCL_"):
            continue
        if lookup(name) is None:
            hints += 1
            found.append(_unknown(name, value, nearest(name) if hints <= _HINTS_PER_CHECK else ""))
        else:
            found.extend(check_value(name, value, version))
    found.extend(combinations(env, version, machine))
    return tuple(found)
