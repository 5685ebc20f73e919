"""What single commands do to variables: export, env, sudo, docker, ssh, echo into a file and so
on. Given a parsed command it yields items; it never runs one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from console.nccl.finding import Severity
from console.nccl.importing import shell_declare as declare
from console.nccl.importing.found import (
    NAME,
    PAIR,
    Context,
    Found,
    Item,
    Problem,
    State,
    lost,
    refused,
    restate,
)
from console.nccl.importing.prose import scan
from console.nccl.importing.shell_declare import Shell
from console.nccl.importing.shell_env import ANY_ASSIGNED, assigned, flags, image_at, place
from console.nccl.importing.shell_output import SHELLS, fed, printed
from console.nccl.importing.shell_syntax import Command
from console.nccl.importing.shell_text import Piece, Word
from console.nccl.importing.written import read_written

_SILENT = frozenset(
    {"[", "[[", "test", "grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "perl", ":", "true"}
    | {"false", "read", "case", "git", "which", "type", "man", "head", "tail", "less", "cut", "tr"}
    | {"sort", "wc", "logger", "return", "exit", "cd", "trap", "history", "vi", "vim", "nano"}
)
_PRINTERS = frozenset({"echo", "printf", "cat", "tee"})
_MAKERS = frozenset({"make", "gmake", "qsub", "env-update"})
_SUDO_WITH_VALUE = frozenset(
    {"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "-S"}
    | {"--user", "--group", "--chdir"}
)


_GLUED = re.compile(
    r"(export|declare|typeset|set|setenv|env)[\u00a0\u2000-\u200b\u202f\u3000]+"
    r"(NCCL_[A-Z0-9_]+)=?(.*)",
    re.DOTALL,
)
_JSON = re.compile(r"(?:^|=)\s*\{\s*\"")
_MAX_HOPS = 20
"""Commands that may start one another (env, sudo, nohup ...) within one line."""


def basename(word: Word) -> str:
    """The command's name without its folder."""
    return word.text.rsplit("/", 1)[-1]


def directive(words: list[Word], context: Context) -> Iterator[Item]:
    """Options of a batch directive (#SBATCH --export=...)."""
    for _, items in flags(words, context, "qsub"):
        yield from items


def interpret(
    shell: Shell, words: list[Word], command: Command, context: Context, scoped: Context
) -> Iterator[Item]:
    """Items of a command whose leading assignments are dealt with. `context` is the script's,
    `scoped` that of this one command."""
    if not words:
        yield from fed(shell, "", command, scoped)
        return
    if scoped.hops > _MAX_HOPS:
        return
    scoped = replace(scoped, hops=scoped.hops + 1)
    context = replace(context, hops=scoped.hops)
    name = basename(words[0])
    rest = words[1:]
    handler = _HANDLERS.get(name)
    glued = _GLUED.fullmatch(words[0].text)
    if glued is not None:
        why = (
            f"the blank after {glued[1]} is none to the shell: it looks for a program of that name"
        )
        yield from refused(glued[2], glued[3], (words[0].line,), why)
    elif name.lower() == "rem":
        text = " ".join(word.text for word in rest)
        yield from restate(scan(text, words[0].line), State.COMMENTED)
    elif handler is not None:
        yield from handler(shell, rest, replace(context, via=name), command)
    elif name in ("env", "sudo", "doas"):
        yield from _env(shell, name, rest, command, context, scoped)
    elif name in _PRINTERS:
        yield from printed(name, rest, command, context)
    elif words[0].text.startswith("$env:") or "SetEnvironmentVariable" in words[0].text:
        yield from _powershell(words, context)
    elif name in ("kubectl", "oc") and {"set", "env"} <= {word.text for word in rest}:
        yield from _set_env(rest, scoped)
    elif name not in _SILENT:
        yield from _program(shell, name, rest, command, scoped)


def _env(
    shell: Shell,
    name: str,
    words: list[Word],
    command: Command,
    context: Context,
    scoped: Context,
) -> Iterator[Item]:
    at = 0
    while at < len(words):
        text = words[at].text
        pair = assigned(words[at])
        follower = words[at + 1] if at + 1 < len(words) else None
        if pair is not None:
            yield place(pair[0], pair[1], scoped)
        elif name == "env" and text in ("-u", "--unset") and follower is not None:
            at += 1
            if NAME.fullmatch(follower.text):
                yield Found(follower.text, State.UNSET, (follower.line,), scope=scoped.scope)
        elif name == "env" and text.startswith(("-uNCCL_", "--unset=NCCL_")):
            yield Found(
                text[text.index("NCCL_") :], State.UNSET, (words[at].line,), scope=scoped.scope
            )
        elif name == "env" and text in ("-S", "--split-string") and follower is not None:
            at += 1
            yield from shell.nested("env " + follower.text, follower.line, scoped.deeper())
        elif name != "env" and text in _SUDO_WITH_VALUE:
            at += 1
        elif not text.startswith("-") and not ANY_ASSIGNED.match(text):
            yield from interpret(shell, words[at:], command, context, scoped)
            return
        at += 1


def _eval(shell: Shell, words: list[Word], context: Context, _: Command) -> Iterator[Item]:
    text = " ".join(word.text for word in words)
    if "NCCL_" in text:
        yield from shell.nested(text, words[0].line, context.deeper(via=""))


def _alias(shell: Shell, words: list[Word], context: Context, _: Command) -> Iterator[Item]:
    for word in words:
        body = word.text.partition("=")[2]
        if body:
            yield from shell.nested(body, word.line, context.deeper(loose=True))


def _refusing(
    shell: Shell, words: list[Word], context: Context, command: Command
) -> Iterator[Item]:
    """exec, nohup, nice ...: they take NCCL_X=1 for the program's name."""
    at = 0
    while at < len(words) and (words[at].text.startswith("-") or words[at].text.isdecimal()):
        at += 1
    via = context.via
    context = replace(context, via="")
    scoped = replace(context, scope=context.scope or f"command at line {command.line}")
    while at < len(words) and (pair := assigned(words[at])) is not None:
        why = f"{via} takes it for the name of a program"
        yield from refused(pair[0], pair[1].text, (words[at].line,), why)
        at += 1
    yield from interpret(shell, words[at:], command, context, scoped) if words[at:] else ()


def _ssh(shell: Shell, words: list[Word], context: Context, command: Command) -> Iterator[Item]:
    """ssh HOST COMMAND...: the words are joined and read by the far shell."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if re.fullmatch(r"-[bcDEeFIiJLlmOopQRSWwP]", words[at].text) else 1
    remote = words[at + 1 :]
    pieces: list[Piece] = []
    for word in remote:
        pieces.extend([*word.pieces, Piece(" ", "plain")])
    text = "".join(piece.text for piece in pieces)
    if "NCCL_" in text and remote:
        yield from shell.nested(text, remote[0].line, context.deeper(via=""))
    yield from fed(shell, "ssh", command, context)


def _powershell(words: list[Word], context: Context) -> Iterator[Item]:
    text = " ".join(word.text for word in words)
    found = re.match(r"\$env:(NCCL_[A-Z0-9_]+)\s*=\s*(.*)", text)
    if found is not None:
        yield place(found[1], Word(words[0].line, [Piece(found[2], "plain")]), context)


def _program(
    shell: Shell, name: str, words: list[Word], command: Command, context: Context
) -> Iterator[Item]:
    """Any other program: options that hand variables on, shells and env further along."""
    image = image_at(name, words)
    torn = image < len(words) and words[image].text.startswith("=")
    taken = dict(flags(words[: image + 2 * torn], context, name))
    for items in taken.values():
        yield from items
    for at, word in enumerate(words):
        text = word.text
        inner = basename(word)
        if inner in ("env", "sudo") or (inner in SHELLS and at + 1 < len(words)):
            if any("NCCL_" in later.text for later in words[at + 1 :]) and at not in taken:
                yield from interpret(shell, words[at:], command, context, context)
                return
        elif at in taken or "NCCL_" not in text:
            continue
        elif _is_string(word):
            yield from _string(shell, name, words, at, context)
        elif (pair := assigned(word)) is not None:
            yield from _argument(name, pair, at, image, context)
    yield from fed(shell, name, command, context)


def _is_string(word: Word) -> bool:
    """A quoted argument that is more than one plain NAME=value."""
    inside = word.text if assigned(word) is None else word.text.partition("=")[2]
    if not word.quoted or not re.search(r"[\s;{]", inside):
        return False
    return assigned(word) is None or " " in inside


def _string(
    shell: Shell, name: str, words: list[Word], at: int, context: Context
) -> Iterator[Item]:
    """A quoted argument with settings in it: a command string, JSON, or options."""
    word = words[at]
    text = word.text
    if _JSON.search(text):
        json = text[text.index("{") :]
        yield from read_written(json, word.line, "x.json", context, open_text=not word.resolved)
        return
    if name.startswith("python") and "environ" in text:
        yield from read_written(text, word.line, "x.py", context, open_text=False)
        return
    if not PAIR.search(text):
        return
    runs = name in SHELLS or (at > 0 and re.fullmatch(r"-[a-z]*c", words[at - 1].text))
    inner = context.deeper(loose=context.loose or not runs)
    yield from shell.nested(text, word.line, inner)


def _argument(
    name: str,
    pair: tuple[str, Word],
    at: int,
    image: int,
    context: Context,
) -> Iterator[Item]:
    """NCCL_X=1 among a program's arguments."""
    keeps = name in _MAKERS or name in _SETTERS
    if keeps or context.loose:
        yield place(pair[0], pair[1], context)
        return
    why = f"an argument of {name}, not a variable of its environment"
    if at >= image:
        why = "stands after the image: it is given to the program, not to the container"
    yield lost(pair[0], pair[1].text, (pair[1].line,), why)
    yield Problem(Severity.WARNING, (pair[0],), (pair[1].line,), why)


def _set_env(words: list[Word], context: Context) -> Iterator[Item]:
    """kubectl set env: NAME=value sets, NAME- removes."""
    for word in words:
        pair = assigned(word)
        if pair is not None:
            yield place(pair[0], pair[1], context)
        elif NAME.fullmatch(word.text[:-1]) and word.text.endswith("-"):
            yield Found(word.text[:-1], State.UNSET, (word.line,), scope=context.scope)


_SETTERS = frozenset({"systemctl", "conda", "mamba", "launchctl", "tmux", "setx", "kubectl", "oc"})
Handler = Callable[[Shell, list[Word], Context, Command], Iterator[Item]]
_HANDLERS: dict[str, Handler] = {
    "export": declare.export,
    "declare": declare.declare,
    "typeset": declare.declare,
    "local": declare.declare,
    "readonly": declare.declare,
    "set": declare.set_,
    "setenv": declare.setenv,
    "setx": declare.setenv,
    "unset": declare.unset,
    "unsetenv": declare.unset,
    "eval": _eval,
    "alias": _alias,
    "ssh": _ssh,
    **dict.fromkeys(
        ("exec", "nohup", "nice", "ionice", "setsid", "stdbuf", "command", "timeout"), _refusing
    ),
}
