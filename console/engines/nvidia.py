"""What nvidia-smi prints: GPU queries, compute processes, the field list.

Owns the CSV forms, the many ways to say "not reported", units, renamed fields and the throttle
bits. "Not reported" is None and never 0; ERR! is a finding about the hardware.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from console.engines.throttle import ALONE, SLOWS, throttle_reasons

_REASON = "throttle:"
FIELDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    # canonical name, then what drivers call it, newest first
    ("index", ("index",)),
    ("uuid", ("uuid", "gpu_uuid")),
    ("name", ("name", "gpu_name")),
    ("bus_id", ("pci.bus_id", "gpu_bus_id")),
    ("memory_total_mib", ("memory.total",)),
    ("memory_used_mib", ("memory.used",)),
    ("util_pct", ("utilization.gpu",)),
    ("util_memory_pct", ("utilization.memory",)),
    ("power_w", ("power.draw.instant", "power.draw")),
    ("power_limit_w", ("enforced.power.limit", "power.limit")),
    ("temp_c", ("temperature.gpu",)),
    ("fan_pct", ("fan.speed",)),
    ("clock_mhz", ("clocks.current.sm", "clocks.sm")),
    ("clock_max_mhz", ("clocks.max.sm",)),
    ("memory_clock_mhz", ("clocks.current.memory", "clocks.mem")),
    ("throttle", ("clocks_event_reasons.active", "clocks_throttle_reasons.active")),
    ("pcie_gen", ("pcie.link.gen.gpucurrent", "pcie.link.gen.current")),
    ("pcie_gen_max", ("pcie.link.gen.max",)),
    ("pcie_width", ("pcie.link.width.current",)),
    ("pcie_width_max", ("pcie.link.width.max",)),
    ("pstate", ("pstate",)),
    ("ecc_uncorrected", ("ecc.errors.uncorrected.volatile.total",)),
    ("mig", ("mig.mode.current",)),
    ("driver", ("driver_version",)),
)
_CANON = {raw: canon for canon, raws in FIELDS for raw in raws} | {
    name: _REASON + words for name, words in ALONE.items()
}
_TEXTS = frozenset({"uuid", "name", "bus_id", "pstate", "mig", "driver", "throttle"})
_NONE = re.compile(
    r"\[[^\]]*\]$|N/A$|Not (?:Supported|Found|Available)$|Unknown(?: Error)?$|GPU requires reset$",
    re.I,
)
_LOST = re.compile(r"\[?GPU is lost\]?$", re.I)
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d+ ?(?:W|%|MiB|MHz|C)\b)")
_FIELD_CELL = re.compile(r"[a-z_][a-z_.0-9]*(?: \[[^\]]+\])?$")
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:MiB|W|MHz|%|C|GiB)?$")
_FIELD_NAME = re.compile(r'^"([a-z_][\w.]*)"(?: or "([a-z_][\w.]*)")?', re.M)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU's reading. `figures` hold numbers by canonical name; what the driver does not
    report is absent. `broken` names fields that read ERR!.
    """

    index: int | None
    figures: Mapping[str, float] = field(hash=False)
    texts: Mapping[str, str] = field(hash=False)
    throttle: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    def get(self, canon: str) -> float | None:
        """A number by canonical name, None where it is not reported."""
        return self.figures.get(canon)

    @property
    def slowed(self) -> tuple[str, ...]:
        """Throttle reasons that spoil a measurement."""
        return tuple(t for t in self.throttle if t in SLOWS)


@dataclass(frozen=True, slots=True)
class ComputeApp:
    """A process on a GPU; `used_mib` None where it is not reported."""

    uuid: str
    pid: int
    name: str
    used_mib: float | None


@dataclass(frozen=True, slots=True)
class NoGpus:
    """Why there is no reading, in words."""

    why: str


def reported(cell: str) -> bool:
    """Whether a cell holds what was asked for, not a word for "not told"."""
    return bool(cell) and not (_NONE.match(cell) or _LOST.match(cell))


def supported(help_text: str) -> frozenset[str]:
    """Field names that `nvidia-smi --help-query-gpu` lists, both spellings of each."""
    return frozenset(n for pair in _FIELD_NAME.findall(help_text) for n in pair if n)


def query_fields(help_text: str, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """The fields to ask for: per canonical name the newest spelling that the driver knows.

    Asking for one unknown field makes nvidia-smi refuse the whole query. `wanted` limits to
    canonical names; the index always comes first.
    """
    known = supported(help_text)
    chosen = []
    for canon, raws in FIELDS:
        if not wanted or canon in wanted or canon == "index":
            raw = next((r for r in raws if r in known), None)
            if raw is not None:
                chosen.append(raw)
    return tuple(chosen)


def parse_header(line: str) -> tuple[str, ...]:
    """Canonical names of a CSV header's columns ("" where unknown), units taken off."""
    cells = (c.strip().partition(" [")[0] for c in _cells(line))
    return tuple(_CANON.get(c, "") for c in cells)


def is_header(line: str) -> bool:
    """Whether a line of a running query is its header and not a reading."""
    cells = _cells(line)
    return any(parse_header(line)) and all(_FIELD_CELL.match(c.strip()) for c in cells)


def parse_gpu(header: Sequence[str], line: str) -> Gpu | None:
    """One reading; None for a line that does not fit the header (cut, or a message).

    Columns are parted by comma and blank, so a comma between digits is a decimal one.
    """
    cells = _cells(line)
    if len(cells) > len(header) and ", " in line:
        cells = _cells(_DECIMAL_COMMA.sub(".", line))
    if len(cells) != len(header) or not header:
        return None
    figures: dict[str, float] = {}
    texts: dict[str, str] = {}
    broken: list[str] = []
    alone: list[str] = []
    for canon, raw in zip(header, cells, strict=True):
        cell = raw.strip()
        if _LOST.match(cell) and "gpu" not in broken:
            broken.append("gpu")
        if not canon or _NONE.match(cell) or _LOST.match(cell):
            if cell == "[Error]":
                broken.append(canon)
            continue
        if canon.startswith(_REASON):
            alone += [canon.removeprefix(_REASON)] if cell == "Active" else []
        elif cell.startswith("ERR!"):
            broken.append(canon)
        elif canon in _TEXTS:
            texts[canon] = cell
        elif m := _NUMBER.match(cell):
            figures[canon] = float(m[1])
    index = figures.pop("index", None)
    if index is None and "uuid" not in texts:
        return None
    reasons = tuple(dict.fromkeys((*throttle_reasons(texts.pop("throttle", "")), *alone)))
    number = int(index) if index is not None else None
    return Gpu(number, figures, texts, reasons, tuple(broken))


def parse_gpus(output: str) -> tuple[Gpu, ...] | NoGpus:
    """A whole `--query-gpu=… --format=csv` output with its header, or the table as it is drawn.

    Where neither index nor uuid was asked for, rows count from 0.
    """
    lines = [line for line in output.splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if is_header(line)), None)
    if start is None:
        return parse_table(output) or NoGpus(explain(output))
    header, rows = parse_header(lines[start]), lines[start + 1 :]
    if not {"index", "uuid"} & set(header):
        header, rows = ("index", *header), [f"{n}, {row}" for n, row in enumerate(rows)]
    found = (parse_gpu(header, row) for row in rows)
    return tuple(g for g in found if g is not None)


_ROW = re.compile(
    r"\|\s*(?P<index>\d+)\s+(?P<name>\S.*?)\s*(?:\s(?:On|Off|N/A)\s*)?"
    r"\|\s*(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+)\s"
)
_UNDER = re.compile(
    r"\|\s*(?P<fan>\d+%|N/A|ERR!)\s+(?P<temp>\d+C|N/A|ERR!)\s+(?P<pstate>\S+)\s+"
    r"(?P<power>\d+W|N/A|ERR!)\s*/\s*(?P<cap>\d+W|N/A|ERR!)\s*\|\s*"
    r"(?:(?P<used>\d+)MiB\s*/\s*(?P<total>\d+)MiB|[^|]*?)\s*\|\s*(?P<util>\d+%|N/A|ERR!)"
)
_UNDER_NAMES = (
    ("fan", "fan_pct"),
    ("temp", "temp_c"),
    ("power", "power_w"),
    ("cap", "power_limit_w"),
    ("used", "memory_used_mib"),
    ("total", "memory_total_mib"),
    ("util", "util_pct"),
)


def parse_table(output: str) -> tuple[Gpu, ...]:
    """The table that plain `nvidia-smi` draws, as people paste it: two rows a GPU."""
    found: list[Gpu] = []
    lines = output.splitlines()
    for first, second in pairwise(lines):
        a, b = _ROW.match(first), _UNDER.match(second)
        if a is None or b is None or len(a["index"]) > 4:
            continue
        cells = {canon: b[group] or "" for group, canon in _UNDER_NAMES}
        broken = tuple(canon for canon, cell in cells.items() if cell == "ERR!")
        figures = {
            canon: float(m[1]) for canon, cell in cells.items() if (m := _NUMBER.match(cell))
        }
        texts = {"name": a["name"], "bus_id": a["bus"], "pstate": b["pstate"]}
        found.append(Gpu(int(a["index"]), figures, texts, (), broken))
    return tuple(found)


def explain(output: str) -> str:
    """Why a call gave no reading, for a person."""
    text = output.strip()
    if "not found" in text or "No such file" in text:
        return "this host has no nvidia-smi"
    if "No devices were found" in text:
        return "nvidia-smi finds no GPU"
    if "couldn't communicate with the NVIDIA driver" in text:
        return "nvidia-smi is there, but the driver does not answer"
    if m := re.search(r"device handle for (?:GPU)?([\w:.]+): GPU is lost", text):
        return f"the GPU at {m[1]} is lost: a reset or a reboot is due"
    if "Failed to initialize NVML: Unknown Error" in text or "GPU access blocked" in text:
        return "nvidia-smi is there, but this process may not reach the GPUs (container or sandbox)"
    if "Insufficient Permissions" in text:
        return "nvidia-smi is there, but this user may not ask the driver"
    if "version mismatch" in text:
        return "the driver and nvidia-smi are of different versions: a reboot is due"
    return text.partition("\n")[0][:200] or "nvidia-smi printed nothing"


def parse_apps(lines: Iterable[str]) -> tuple[ComputeApp, ...]:
    """Rows of gpu_uuid, pid, process_name, used_memory, as csv without header and units."""
    found = []
    for line in lines:
        cells = [c.strip() for c in _cells(line)]
        if len(cells) < 4 or not cells[1].isdecimal() or len(cells[1]) > 9:
            continue
        # A process name may hold commas; memory is last, uuid and pid are first.
        name, memory = ", ".join(cells[2:-1]), _NUMBER.match(cells[-1])
        shown = "" if _NONE.match(name) else name
        found.append(
            ComputeApp(cells[0], int(cells[1]), shown, float(memory[1]) if memory else None)
        )
    return tuple(found)


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return []
