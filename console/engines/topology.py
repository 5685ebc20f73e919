"""How the GPUs of a host are joined: nvidia-smi's `topo -m` and `topo -p2p` matrices.

Owns reading them. The words of a link (NV4, PIX, SYS, OK, CNS …) stay as they are printed, with
what they mean beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_GPU = re.compile(r"GPU(\d+)$")
_TWO_WORDS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_UNDERLINE = re.compile(r"\x1b?\[[0-9;]*m")  # the head is underlined; a copy may have lost ESC

MEANING: dict[str, str] = {
    "X": "itself",
    "SYS": "over PCIe and the link between NUMA nodes",
    "NODE": "over PCIe and the host bridges of one NUMA node",
    "PHB": "over PCIe and one host bridge",
    "PXB": "over several PCIe switches",
    "PIX": "over one PCIe switch",
    "OK": "peer access works",
    "CNS": "the chipset does not support peer access",
    "GNS": "the GPU does not support peer access",
    "TNS": "the topology does not support peer access",
    "NS": "not supported",
    "DR": "switched off by a registry key",
    "U": "unknown",
}


@dataclass(frozen=True, slots=True)
class Matrix:
    """`links[a, b]` is the word between GPU a and GPU b; `numa` and `cpus` per GPU."""

    gpus: tuple[int, ...]
    links: Mapping[tuple[int, int], str] = field(hash=False)
    numa: Mapping[int, str] = field(default_factory=dict, hash=False)
    cpus: Mapping[int, str] = field(default_factory=dict, hash=False)

    @property
    def nvlink(self) -> bool:
        """Whether any two GPUs are joined by NVLink."""
        return any(word.startswith("NV") for word in self.links.values())

    @property
    def pcie_only(self) -> bool:
        """Whether there are several GPUs and no NVLink between any of them."""
        return len(self.gpus) > 1 and not self.nvlink

    @property
    def worst(self) -> str:
        """The word of the longest way between two GPUs, "" with fewer than two."""
        order = ("SYS", "NODE", "PHB", "PXB", "PIX")
        words = set(self.links.values())
        return next((w for w in order if w in words), next(iter(sorted(words - {"X"})), ""))


def meaning(word: str) -> str:
    """What a link's word means, "" where it is not known."""
    if word.startswith("NV") and word[2:].isdecimal():
        return f"{word[2:]} NVLinks"
    return MEANING.get(word, "")


def parse_matrix(output: str) -> Matrix | None:
    """Either matrix; None where the output has none. Columns that are no GPU (NICs) are skipped."""
    header: list[str] = []
    links: dict[tuple[int, int], str] = {}
    numa: dict[int, str] = {}
    cpus: dict[int, str] = {}
    for raw in output.splitlines():
        cells = _cells(_UNDERLINE.sub("", raw))
        if not header:
            if cells and _GPU.match(cells[0]) and (len(cells) < 2 or not _is_link(cells[1])):
                header = cells
            continue
        if not cells or not (m := _GPU.match(cells[0])):
            if links and not any(cells):
                break
            continue
        row, values = int(m[1]), cells[1:]
        for name, value in zip(header, values, strict=False):
            if g := _GPU.match(name):
                links[row, int(g[1])] = value
            elif name == "CPU Affinity":
                cpus[row] = value
            elif name == "NUMA Affinity":
                numa[row] = value
    gpus = tuple(sorted({a for a, _ in links}))
    return Matrix(gpus, links, numa, cpus) if gpus else None


def _is_link(word: str) -> bool:
    return word in MEANING or bool(re.match(r"NV\d+$", word))


def _cells(line: str) -> list[str]:
    """Tabs where there are tabs; else runs of blanks, with the two-word column names joined."""
    if "\t" in line:
        cells = [c.strip() for c in line.split("\t")]
        return cells if cells[0] or not any(cells) else cells[1:]
    for name in _TWO_WORDS:
        line = line.replace(name, name.replace(" ", "\x00"))
    return [c.replace("\x00", " ") for c in line.split()]
