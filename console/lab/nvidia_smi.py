"""A stand-in `nvidia-smi`: eight invented GPUs whose numbers follow the host's simulated server.

It answers the calls that a console makes and refuses what it does not know, as the real one does.
Every name it gives says "simulated".
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

_GPUS = range(8)
_NAME = "NVIDIA RTX PRO 6000 Blackwell (simulated)"
_TOTAL_MIB = 97_887
_IDLE_MIB = 4
_FOREIGN_MIB = 11_674
_FOREIGN_GPU = 3
_REMAPPED = ("correctable", "uncorrectable", "pending", "failure")
_THROTTLE = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "sw_thermal_slowdown",
    "sync_boost",
)


class State:
    """What the host's server holds and does now."""

    def __init__(self, host_dir: Path) -> None:
        self.held_mib, self.busy, self.ranks = 0, False, list[int]()
        try:
            note = json.loads((host_dir / "run" / "gpus.json").read_text())
        except FileNotFoundError:
            note = None
        if note is not None and _alive(note["ranks"]):
            self.held_mib, self.busy = int(note["held_mib"]), bool(note["busy"])
            self.ranks = list(note["ranks"])
        lab = Path(json.loads((host_dir / "lab.json").read_text())["lab"])
        try:
            control = json.loads((lab / "control.json").read_text())
        except FileNotFoundError:
            control = {}
        self.foreign = any(own.get("other_process") for own in control.values())

    def used_mib(self, gpu: int) -> int:
        """Memory in use on one GPU."""
        foreign = _FOREIGN_MIB if self.foreign and gpu == _FOREIGN_GPU else 0
        return (self.held_mib if gpu < len(self.ranks) else 0) + foreign + _IDLE_MIB


def _alive(pids: list[int]) -> bool:
    return any(Path(f"/proc/{pid}").exists() for pid in pids)


def _uuid(gpu: int) -> str:
    return f"GPU-51311a7e-d000-4000-8000-00000000000{gpu}"


def _wave(gpu: int, low: float, high: float) -> float:
    """A number that moves a little every second, the same for everyone who asks."""
    return low + (high - low) * ((int(time.time()) * 7 + gpu * 13) % 29) / 28


Field = Callable[[int, State], tuple[str, str]]
"""Value and unit of a field for a GPU."""


def _plain(value: str) -> Field:
    return lambda _gpu, _state: (value, "")


def _loaded(busy: float, idle: float, unit: str, form: str = "{:.0f}") -> Field:
    def field(gpu: int, state: State) -> tuple[str, str]:
        middle = busy if state.busy else idle
        return form.format(_wave(gpu, middle * 0.98, middle * 1.02)), unit

    return field


def _fields() -> dict[str, Field]:
    fields: dict[str, Field] = {
        "index": lambda gpu, _: (str(gpu), ""),
        "uuid": lambda gpu, _: (_uuid(gpu), ""),
        "name": _plain(_NAME),
        "pci.bus_id": lambda gpu, _: (f"00000000:{0x11 + 0x10 * gpu:02X}:00.0", ""),
        "driver_version": _plain("590.48.01"),
        "vbios_version": _plain("98.02.81.00.07"),
        "serial": lambda gpu, _: (f"000000000000{gpu}", ""),
        "compute_mode": _plain("Default"),
        "mig.mode.current": _plain("Disabled"),
        "ecc.mode.current": _plain("Enabled"),
        "ecc.errors.corrected.volatile.total": _plain("0"),
        "ecc.errors.uncorrected.volatile.total": _plain("0"),
        "persistence_mode": _plain("Enabled"),
        "pstate": lambda _, state: ("P1" if state.busy else "P8", ""),
        "clocks.current.sm": _loaded(2430, 180, "MHz"),
        "clocks.sm": _loaded(2430, 180, "MHz"),
        "clocks.current.memory": lambda _, state: ("12481" if state.busy else "405", "MHz"),
        "clocks.max.sm": lambda *_: ("3090", "MHz"),
        "clocks.max.memory": lambda *_: ("14001", "MHz"),
        "clocks.applications.graphics": _plain("[N/A]"),
        "power.draw": _loaded(312, 31, "W", "{:.2f}"),
        "power.limit": lambda *_: ("600.00", "W"),
        "enforced.power.limit": lambda *_: ("600.00", "W"),
        "power.default_limit": lambda *_: ("600.00", "W"),
        "temperature.gpu": _loaded(61, 34, ""),
        "temperature.memory": _plain("N/A"),
        "fan.speed": lambda *_: ("30", "%"),
        "utilization.gpu": lambda gpu, s: (f"{_wave(gpu, 93, 99):.0f}" if s.busy else "0", "%"),
        "utilization.memory": lambda gpu, s: (f"{_wave(gpu, 38, 44):.0f}" if s.busy else "0", "%"),
        "memory.used": lambda gpu, state: (str(state.used_mib(gpu)), "MiB"),
        "memory.free": lambda gpu, state: (str(_TOTAL_MIB - state.used_mib(gpu)), "MiB"),
        "memory.total": lambda *_: (str(_TOTAL_MIB), "MiB"),
        "pcie.link.gen.current": lambda _, state: ("5" if state.busy else "1", ""),
        "pcie.link.gen.max": _plain("5"),
        "pcie.link.width.current": _plain("16"),
        "pcie.link.width.max": _plain("16"),
        "timestamp": lambda *_: (time.strftime("%Y/%m/%d %H:%M:%S.000"), ""),
    }
    for prefix in ("clocks_event_reasons", "clocks_throttle_reasons"):
        fields[f"{prefix}.active"] = lambda _, state: (f"0x{0 if state.busy else 1:016x}", "")
        for reason in _THROTTLE:
            fields[f"{prefix}.{reason}"] = (
                (lambda _, state: ("Not Active" if state.busy else "Active", ""))
                if reason == "gpu_idle"
                else _plain("Not Active")
            )
    return fields


FIELDS = _fields()


def _query(names: list[str], options: set[str], state: State) -> str:
    rows = []
    units = "nounits" not in options
    if "noheader" not in options:
        heads = []
        for name in names:
            unit = FIELDS[name](0, state)[1]
            heads.append(f"{name} [{unit}]" if unit else name)
        rows.append(", ".join(heads))
    for gpu in _GPUS:
        cells = [FIELDS[name](gpu, state) for name in names]
        rows.append(", ".join(f"{v} {u}" if u and units else v for v, u in cells))
    return "\n".join(rows) + "\n"


def _apps(names: list[str], options: set[str], state: State) -> str:
    unit = "" if "nounits" in options else " MiB"
    found = [
        (_uuid(gpu), str(pid), f"sglang::scheduler_TP{gpu}", f"{state.held_mib}{unit}")
        for gpu, pid in enumerate(state.ranks)
    ]
    if state.foreign:
        found.append((_uuid(_FOREIGN_GPU), "91022", "[Not Found]", f"{_FOREIGN_MIB}{unit}"))
    keys = ("gpu_uuid", "pid", "process_name", "used_memory")
    rows = [] if "noheader" in options else [", ".join(names)]
    for app in found:
        cells = dict(zip((*keys, "used_gpu_memory"), (*app, app[3]), strict=True))
        rows.append(", ".join(cells[name] for name in names))
    return "".join(f"{row}\n" for row in rows)


def _remapped(names: list[str], options: set[str], state: State) -> str:
    """No row of any memory was ever replaced."""
    del state
    rows = [] if "noheader" in options else [", ".join(names)]
    for gpu in _GPUS:
        rows.append(", ".join(_uuid(gpu) if name == "gpu_uuid" else "0" for name in names))
    return "".join(f"{row}\n" for row in rows)


def _at_work(state: State) -> str:
    """`pmon -s u`: the ranks at work while their server is, another user's process never."""
    rows = [
        "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command ",
        "# Idx           #    C/G      %      %      %      %      %      %    name ",
    ]
    work = "95" if state.busy else "-"
    for gpu in _GPUS:
        held = {str(pid): work for pid in state.ranks[gpu : gpu + 1]}
        if state.foreign and gpu == _FOREIGN_GPU:
            held["91022"] = "-"
        for pid, sm in held.items() or [("-", "-")]:
            kind, name = ("-", "-") if pid == "-" else ("C", "simulated")
            rows.append(f"{gpu:5} {pid:>10} {kind:>6} {sm:>6}" + f" {'-':>6}" * 5 + f"    {name} ")
    return "\n".join(rows) + "\n"


def _matrix(same: str, other: Callable[[int, int], str], legend: str) -> str:
    head = "\t" + "\t".join(f"GPU{gpu}" for gpu in _GPUS)
    rows = [f"GPU{a}\t" + "\t".join(same if a == b else other(a, b) for b in _GPUS) for a in _GPUS]
    return "\n".join([head, *rows, "", legend, ""])


def _topology(words: list[str]) -> str:
    if words[:1] == ["-p2p"]:
        legend = "Legend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported"
        return _matrix("X", lambda *_: "OK", legend)
    legend = (
        "Legend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe and the interconnect "
        "between NUMA nodes\n  NODE = Connection traversing PCIe within a NUMA node\n\n(simulated)"
    )
    return _matrix("X", lambda a, b: "NODE" if a // 4 == b // 4 else "SYS", legend)


def _unknown(names: list[str], known: tuple[str, ...]) -> str | None:
    for name in names:
        if name not in known:
            return f'Field "{name}" is not a valid field to query.\n'
    return None


def main(argv: list[str], host_dir: Path) -> int:
    """Print what was asked for; 2 for what no nvidia-smi knows."""
    options = dict(arg.partition("=")[::2] for arg in argv if arg.startswith("--"))
    form = set(options.get("--format", "").split(","))
    if "--help-query-gpu" in options:
        print("".join(f'"{name}"\nSimulated.\n\n' for name in FIELDS), end="")
        return 0
    if argv[:1] == ["topo"]:
        print(_topology(argv[1:]), end="")
        return 0
    if argv == ["pmon", "-c", "1", "-s", "u"]:
        print(_at_work(State(host_dir)), end="")
        return 0
    known: tuple[str, ...]
    if "--query-compute-apps" in options:
        known = ("gpu_uuid", "pid", "process_name", "used_memory", "used_gpu_memory")
        names, show = options["--query-compute-apps"].split(","), _apps
    elif "--query-remapped-rows" in options:
        known = ("gpu_uuid", *(f"remapped_rows.{what}" for what in _REMAPPED))
        names, show = options["--query-remapped-rows"].split(","), _remapped
    elif "--query-gpu" in options:
        known, names, show = tuple(FIELDS), options["--query-gpu"].split(","), _query
    else:
        print(f"Invalid combination of input arguments: {' '.join(argv)} (simulated nvidia-smi)")
        return 2
    if (wrong := _unknown(names, known)) is not None:
        print(wrong)
        return 2
    every_s = int(argv[argv.index("-lms") + 1]) / 1000 if "-lms" in argv else 0.0
    while True:
        text = show(names, form, State(host_dir))
        form.add("noheader")
        os.write(sys.stdout.fileno(), text.encode())
        if not every_s:
            return 0
        time.sleep(every_s)
