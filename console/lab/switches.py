"""The lab's switches: what is made to go wrong, per server, in one file that may change any time.

`control.json` in the lab's directory maps a server's name to its switches; a server reads it when
it starts and whenever it is written. Unknown names are refused, never ignored.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from console.lab.faults import FAULTS, PHASES

CONTROL = "control.json"


@dataclass(frozen=True, slots=True)
class Switches:
    """What one simulated server does beside its work.

    Attributes:
        fault: name of a failure of console.lab.faults; empty for none.
        load: "warm" (about 20 s) or "cold", its weights read three times slower.
        weights_s: its weights take that many seconds; 0 for as long as `load` says.
        never_ready: stops for ever in the phase of that name (weights, kv, graphs, warmup).
        dies_after_s: kill -9 of rank 0 that many seconds after ready; 0 for never.
        stuck: the scheduler does nothing more, health turns 503 after 20 s.
        slow_rank: this rank loads four times slower than the others; -1 for none.
        slowdown: every decode step takes this many times as long.
        foreign_probe_s: somebody else asks /health every so many seconds; 0 for nobody.
        other_process: a process of another user holds memory on GPU 3.
        orphans: the ranks outlive a killed launcher and keep its port.
        static_health: /health answers at once without generating, as before 0.4.10.
    """

    fault: str = ""
    load: str = "warm"
    weights_s: float = 0.0
    never_ready: str = ""
    dies_after_s: float = 0.0
    stuck: bool = False
    slow_rank: int = -1
    slowdown: float = 1.0
    foreign_probe_s: float = 0.0
    other_process: bool = False
    orphans: bool = False
    static_health: bool = False


_TYPES: dict[str, type[bool] | type[int] | type[float] | type[str]] = {
    field.name: type(getattr(Switches(), field.name)) for field in fields(Switches)
}


def _typed(values: dict[str, object]) -> Switches:
    # Made in one place: JSON keeps no difference between 5 and 5.0.
    return Switches(**{name: _TYPES[name](value) for name, value in values.items()})  # type: ignore[arg-type,call-overload]


def parse_switch(text: str) -> tuple[str, str, object]:
    """`server.name=value` as server, name and typed value; ValueError says what is wrong."""
    path, eq, value = text.partition("=")
    server, dot, name = path.rpartition(".")
    if not eq or not dot or not server:
        raise ValueError(f"{text!r}: expected SERVER.SWITCH=VALUE")
    if name not in _TYPES:
        raise ValueError(f"{name!r} is no switch; there are {', '.join(sorted(_TYPES))}")
    kind = _TYPES[name]
    if kind is bool:
        if value not in ("on", "off"):
            raise ValueError(f"{name}: expected on or off, not {value!r}")
        return server, name, value == "on"
    if name == "fault" and value not in FAULTS:
        raise ValueError(f"{value!r} is no fault; there are {', '.join(sorted(FAULTS))}")
    if name == "load" and value not in ("warm", "cold"):
        raise ValueError(f"load: expected warm or cold, not {value!r}")
    if name == "never_ready" and value not in PHASES:
        raise ValueError(f"never_ready: expected one of {', '.join(PHASES)}, not {value!r}")
    return server, name, kind(value)


def _read(directory: Path) -> dict[str, dict[str, object]]:
    try:
        text = (directory / CONTROL).read_text()
    except FileNotFoundError:
        return {}
    table = json.loads(text)
    if not isinstance(table, dict):
        raise ValueError(f"{CONTROL}: expected a table of servers")
    return table


def read_switches(directory: Path, server: str) -> Switches:
    """A server's switches as the file has them now; ValueError for an unknown name."""
    own = _read(directory).get(server, {})
    unknown = sorted(set(own) - set(_TYPES))
    if unknown:
        raise ValueError(f"{CONTROL}: {unknown[0]!r} is no switch")
    return _typed(own)


def set_switches(directory: Path, server: str, **changes: object) -> Switches:
    """Change some of a server's switches; the file is replaced at once, never half written."""
    table = _read(directory)
    merged = asdict(read_switches(directory, server)) | changes
    switches = _typed(merged)
    default = asdict(Switches())
    table[server] = {k: v for k, v in asdict(switches).items() if v != default[k]}
    new = directory / f".{CONTROL}.new"
    new.write_text(json.dumps(table, indent=1) + "\n")
    os.replace(new, directory / CONTROL)
    return switches
