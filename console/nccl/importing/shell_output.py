"""Text that commands print into files or read from here-documents: only what goes into a file
or a shell counts, read by the grammar of where it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.nccl.importing.found import Context, Item
from console.nccl.importing.shell_declare import Shell
from console.nccl.importing.shell_syntax import Command
from console.nccl.importing.shell_text import Word
from console.nccl.importing.written import read_written

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "csh", "tcsh", "su"})


def printed(name: str, words: list[Word], command: Command, context: Context) -> Iterator[Item]:
    """echo, printf, cat, tee: only what goes into a file counts, read by that file's grammar."""
    target = command.target
    if name == "tee":
        target = next((w.text for w in words if not w.text.startswith("-")), target)
    if not target or target.startswith(("/dev/", "&")):
        if name == "cat" and command.after == "|" and command.fed:
            yield from _written(command, "", context)
        return
    yield from _written(command, target, context)
    args = [word for word in words if not re.fullmatch(r"-[neE]+", word.text)]
    text = _formatted([word.text for word in args]) if name == "printf" else ""
    if name == "echo":
        text = " ".join(word.text for word in args)
    if "NCCL_" in text and args:
        open_text = any(not word.resolved for word in args)
        text = text.replace("\\n", "\n")
        yield from read_written(text, args[0].line, target, context, open_text=open_text, flat=True)


def _written(command: Command, target: str, context: Context) -> Iterator[Item]:
    for body in command.fed:
        if "NCCL_" in body.body:
            open_text = not body.verbatim
            yield from read_written(body.body, body.line, target, context, open_text=open_text)


def fed(shell: Shell, name: str, command: Command, context: Context) -> Iterator[Item]:
    """Here-documents: a shell runs them, anything else may be told by the text itself."""
    for body in command.fed:
        if name in SHELLS or name == "ssh":
            yield from shell.nested(body.body, body.line, context.deeper())
        elif "NCCL_" in body.body:
            open_text = not body.verbatim
            yield from read_written(body.body, body.line, "", context, open_text=open_text)


def _formatted(texts: list[str]) -> str:
    """What printf makes of a format with %s and its arguments, the format used again and again."""
    if not texts:
        return ""
    form, rest = texts[0].replace("\\n", "\n"), texts[1:]
    slots = len(re.findall(r"%[sbdq]", form))
    if not slots:
        return form
    parts = []
    for at in range(0, max(len(rest), 1), slots):
        text = form
        for value in [*rest[at : at + slots], *[""] * slots][:slots]:
            text = re.sub(r"%[sbdq]", value.replace("\\", r"\\"), text, count=1)
        parts.append(text)
    return "".join(parts)
