"""YAML and JSON sources as a whole: every document walked, every comment read by the same
grammar and shown as commented."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from console.nccl.importing.env_tree import Tree
from console.nccl.importing.flow import read_flow
from console.nccl.importing.found import Context, Item, State, restate
from console.nccl.importing.prose import scan
from console.nccl.importing.tree import Document, Mapping, Remark, Scalar, Sequence
from console.nccl.importing.written import read_written
from console.nccl.importing.yaml_tree import read_yaml


def read_yaml_source(text: str, first: int, context: Context, kind: str) -> Iterator[Item]:
    """Items of YAML for the loader `kind`."""
    if "NCCL_" not in text:
        return
    document = read_yaml(text, first)
    for node in document.nodes:
        yield from Tree(kind, context).walk(node)
    for remark in document.remarks:
        yield from _remark(remark, read_yaml, kind, context)


def read_json_source(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of JSON; a notebook's cells are read as the code they hold."""
    if "NCCL_" not in text:
        return
    document = read_flow(text, first)
    for node in document.nodes:
        if isinstance(node, Mapping) and isinstance(node.get("cells"), Sequence):
            yield from _notebook(node, context)
        else:
            yield from Tree("json", context).walk(node)
    for remark in document.remarks:
        yield from _remark(remark, _braced, "json", context)


def _braced(text: str, first: int) -> Document:
    return read_flow("{" + text + "}", first)


def _remark(
    remark: Remark, reader: Callable[[str, int], Document], kind: str, context: Context
) -> Iterator[Item]:
    if "NCCL_" not in remark.text:
        return
    document = reader(remark.text, remark.line)
    found: list[Item] = []
    for node in document.nodes:
        found.extend(restate(Tree(kind, context).walk(node), State.COMMENTED))
    if not found:
        for at, row in enumerate(remark.text.split("\n")):
            found.extend(restate(scan(row, remark.line + at), State.COMMENTED))
    yield from found


def _notebook(node: Mapping, context: Context) -> Iterator[Item]:
    """Each cell's source joined; magics and shell escapes are made plain first."""
    cells = node.get("cells")
    for cell in cells.items if isinstance(cells, Sequence) else ():
        source = cell.get("source") if isinstance(cell, Mapping) else None
        if not isinstance(source, Sequence) or not source.items:
            continue
        rows = [item for item in source.items if isinstance(item, Scalar)]
        markdown = isinstance(cell, Mapping) and cell.text("cell_type") == "markdown"
        text = "".join(row.text if row.text.endswith("\n") else row.text + "\n" for row in rows)
        if "NCCL_" not in text:
            continue
        if markdown:
            yield from read_written(text, rows[0].line, "x.md", context)
            continue
        for row in rows:
            magic = re.match(r"\s*%env\s+(NCCL_\w+)(?:\s*=\s*|\s+)(.*)", row.text)
            if magic is not None:
                line = f"export {magic[1]}={json.dumps(magic[2].strip())}"
                yield from read_written(line, row.line, "x.sh", context)
            elif row.text.lstrip().startswith(("!", "%%bash")):
                command = row.text.lstrip()[1:]
                yield from read_written(command, row.line, "x.sh", context)
        code = re.sub(r"(?m)^\s*[!%].*$", "", text)
        yield from read_written(code, rows[0].line, "x.py", context)
