"""Nodes of YAML and JSON text with the lines they stand on. Scalars stay text: which type a
loader would make of one is the business of env_values."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Scalar:
    """`style` is plain, single, double, block or folded; text is empty for empty nodes."""

    text: str
    style: str
    line: int


@dataclass(slots=True)
class Mapping:
    """Keys and values in the order of the source, duplicates kept."""

    line: int
    entries: list[tuple[Scalar, Node]] = field(default_factory=list)

    def get(self, *keys: str) -> Node | None:
        """The value of the first of `keys` present."""
        for key, value in self.entries:
            if key.text in keys:
                return value
        return None

    def text(self, *keys: str) -> str:
        """The scalar under one of `keys`, empty if there is none."""
        node = self.get(*keys)
        return node.text if isinstance(node, Scalar) else ""


@dataclass(slots=True)
class Sequence:
    """Items in order."""

    line: int
    items: list[Node] = field(default_factory=list)


Node = Scalar | Mapping | Sequence


@dataclass(slots=True)
class Remark:
    """A run of whole-line comments, its marks removed, its indentation kept."""

    text: str
    line: int


@dataclass(slots=True)
class Document:
    """Everything found in one text: a node for each document, and the comments."""

    nodes: list[Node] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
