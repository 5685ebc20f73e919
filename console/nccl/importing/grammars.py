"""The table of grammars: which reader takes which format. The readers nest through it (a
Dockerfile holds shell, shell holds here-documents, documents hold everything)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from console.nccl.importing.conf import read_conf
from console.nccl.importing.config import read_config
from console.nccl.importing.diff import read_diff
from console.nccl.importing.dockerfile import read_dockerfile
from console.nccl.importing.documents import read_json_source, read_yaml_source
from console.nccl.importing.dotenv import read_dotenv, read_listing
from console.nccl.importing.found import Context, Item
from console.nccl.importing.history import read_history
from console.nccl.importing.log import read_log
from console.nccl.importing.markdown import read_markdown
from console.nccl.importing.python import read_python
from console.nccl.importing.shell import read_shell
from console.nccl.importing.systemd import Reset, read_systemd

Grammar = Callable[[str, int, Context], Iterator[Item | Reset]]


def _yaml(kind: str) -> Grammar:
    return lambda text, first, context: read_yaml_source(text, first, context, kind)


_GRAMMARS: dict[str, Grammar] = {
    "markdown": read_markdown,
    "shell": read_shell,
    "history": read_history,
    "env": read_dotenv,
    "env-listing": read_listing,
    "dockerfile": read_dockerfile,
    "systemd": read_systemd,
    "json": read_json_source,
    "python": read_python,
    "nccl.conf": read_conf,
    "log": read_log,
    "diff": read_diff,
    "config": read_config,
    **{kind: _yaml(kind) for kind in ("compose", "kubernetes", "ansible", "yaml")},
}


def read_all(kind: str, text: str, first: int, context: Context) -> Iterator[Item | Reset]:
    """Items and resets of `text` by the grammar `kind`."""
    return _GRAMMARS[kind](text, first, context)


def read_as(kind: str, text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of a fragment by the grammar `kind`."""
    for item in read_all(kind, text, first, context):
        if not isinstance(item, Reset):
            yield item
