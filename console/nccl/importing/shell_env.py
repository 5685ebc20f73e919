"""Options and words by which commands hand variables on: docker -e, mpirun -x, srun --export,
env, sudo and their kin. Yields what each such word sets; interprets no command by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.nccl.catalogue import lookup
from console.nccl.finding import Severity
from console.nccl.importing.found import (
    NAME,
    PLACEHOLDER,
    TEMPLATE,
    Context,
    Elsewhere,
    Found,
    Item,
    Problem,
    State,
    lost,
    refused,
)
from console.nccl.importing.shell_text import Piece, Word

_ASSIGNED = re.compile(r"(?:APPTAINERENV_|SINGULARITYENV_)?(NCCL_[A-Za-z0-9_]+)(\+?=)")
ANY_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
_LIST_ENTRY = re.compile(r"(?:'[^']*'|\"[^\"]*\"|[^,'\"])+")
_FLAG_JOINED = re.compile(
    r"(-[ex]|--?[A-Za-z][A-Za-z0-9_.-]*=|(?:-p|--property=)?Environment=)(?=NCCL_)"
)
ENV_FLAGS = frozenset(
    {"-e", "--env", "-x", "--setenv", "--env-add", "--set-env", "--env-vars", "--envs", "-E"}
    | {"--environment", "--container-env", "--env-var", "--genv", "-genv", "-env"}
)
PAIR_FLAGS = frozenset({"-genv", "--genv", "-env"})
FILE_FLAGS = frozenset({"--env-file", "--envfile", "--export-file", "--env_file"})
UNSET_FLAGS = frozenset({"-u", "--unset", "--env-rm", "--unsetenv"})

_DOCKERS = frozenset({"docker", "podman", "nerdctl", "sudo-docker"})
_DOCKER_ALONE = re.compile(
    r"-[diqPt]+|--(rm|privileged|init|detach|interactive|tty|publish-all|read-only|quiet"
    r"|no-healthcheck|oom-kill-disable|sig-proxy|replace|tls-verify)|--[a-z0-9-]+=.*|-[eupvwl].+"
)


def assigned(word: Word) -> tuple[str, Word] | None:
    """(name, value) of a word NCCL_X=value, None for any other word."""
    if not word.pieces or word.pieces[0].kind == "expansion":
        return None
    found = _ASSIGNED.match(word.text)
    if found is None:
        return None
    value = word.after(found.end())
    if found[2] == "+=":
        value.pieces.insert(0, Piece("$" + found[1], "expansion"))
    return found[1], value


def place(name: str, value: Word, context: Context, *, conditional: bool = False) -> Found:
    """What a value word sets: the text, or what stands unresolved in it."""
    text = value.text
    bare = not value.quoted and text.startswith("<")
    hole = (context.loose or bare) and PLACEHOLDER.fullmatch(text) is not None
    hole = hole or text == "{}"
    home = context.dialect == "sh" and text.startswith("~") and value.pieces[0].kind == "plain"
    unresolved = not value.resolved or home or hole or TEMPLATE.search(text) is not None
    return Found(
        name,
        State.UNRESOLVED if unresolved else State.SET,
        (value.line,),
        value="" if unresolved else text,
        raw=text if unresolved else "",
        default=value.default() if unresolved and not hole and not home else None,
        scope=context.scope,
        target=context.target,
        via=context.via,
        conditional=conditional or context.conditional,
    )


def from_caller(name: str, line: int, context: Context) -> Found:
    """Only a name is handed on: the value is the caller's."""
    return Found(name, State.UNRESOLVED, (line,), scope=context.scope, from_caller=True)


def exported_list(value: Word, context: Context, *, bare: bool = True) -> Iterator[Item]:
    """NAME=value entries between commas, as srun --export, qsub -v and apptainer --env cut
    them: a comma inside a value ends it unless quoted."""
    last: tuple[str, str] | None = None
    whole = value.text
    if len(whole) > 1 and whole[0] == whole[-1] and whole[0] in "'\"":
        whole = whole[1:-1]
    for entry in _LIST_ENTRY.finditer(whole):
        text = entry[0].strip()
        name, equals, rest = text.partition("=")
        if equals:
            last = (name, rest)
            if NAME.fullmatch(name):
                quoted = len(rest) > 1 and rest[0] == rest[-1] and rest[0] in "'\""
                plain = rest[1:-1] if quoted else rest
                kind = "expansion" if "$" in plain else "plain"
                yield place(name, Word(value.line, [Piece(plain, kind)]), context)
        elif NAME.fullmatch(text):
            yield from_caller(text, value.line, context)
            last = None
        elif bare and last is not None and NAME.fullmatch(last[0]) and _is_value(last[0], text):
            why = f"the list splits at commas: {text} is taken for a variable to pass on"
            yield Problem(Severity.ERROR, (last[0],), (value.line,), why, reads_as=last[1])


def _is_value(name: str, text: str) -> bool:
    """Whether a stray list entry looks like the rest of the value before it."""
    variable = lookup(name)
    known = {word.lower() for word in variable.values} if variable is not None else set()
    return text.lower() in known or not re.fullmatch(r"[A-Z_][A-Z0-9_]*", text)


def flags(words: list[Word], context: Context, command: str) -> Iterator[tuple[int, list[Item]]]:
    """(index, items) for every option word of a command that hands variables on. The index is
    that of the last word used up."""
    at = 0
    comma = command in ("apptainer", "singularity")
    while at < len(words):
        word = words[at]
        text = word.text
        follower = words[at + 1] if at + 1 < len(words) else None
        joined = _FLAG_JOINED.match(text)
        if text.startswith("--export=") or (text == "--export" and follower is not None):
            value = word.after(9) if text != "--export" else follower
            at += text == "--export"
            yield at, list(exported_list(value or word, context))
        elif command in ("qsub", "sbatch", "bsub") and text in ("-v", "-env") and follower:
            at += 1
            yield at, list(exported_list(follower, context))
        elif joined is not None and not text.startswith("--build-arg"):
            value = word.after(joined.end())
            yield at, list(_handed(value, context, comma=comma))
        elif follower is not None and text in UNSET_FLAGS and NAME.fullmatch(follower.text):
            at += 1
            yield at, [Found(follower.text, State.UNSET, (follower.line,), scope=context.scope)]
        elif follower is not None and text in FILE_FLAGS:
            at += 1
            yield at, [Elsewhere(follower.text, follower.line)]
        elif text.startswith(tuple(flag + "=" for flag in FILE_FLAGS)):
            yield at, [Elsewhere(text.partition("=")[2], word.line)]
        elif follower is not None and text.startswith("-"):
            used = _with_follower(text, words, at, context, comma)
            if used:
                at += 2 if text in PAIR_FLAGS else 1
                yield at, used
        at += 1


def _with_follower(
    flag: str, words: list[Word], at: int, context: Context, comma: bool
) -> list[Item]:
    """Items of an option whose value is the next word (or the next two)."""
    value = words[at + 1]
    name = NAME.fullmatch(value.text)
    if flag in PAIR_FLAGS and name is not None and at + 2 < len(words):
        return [place(value.text, words[at + 2], context)]
    if flag == "--build-arg":
        pair = assigned(value)
        return list(argument_only(pair)) if pair else []
    if flag in ENV_FLAGS and (torn := _torn(words, at)) is not None:
        return torn
    if name is not None and flag in ENV_FLAGS:
        return [from_caller(value.text, value.line, context)]
    if flag not in ENV_FLAGS and value.quoted and re.search(r"\s", value.text):
        return []
    return list(_handed(value, context, comma=comma)) if assigned(value) else []


def _torn(words: list[Word], at: int) -> list[Item] | None:
    """`-e NAME = VALUE` and `-e NAME:VALUE`, which hand on another name than was meant."""
    value = words[at + 1]
    colon = re.fullmatch(r"(NCCL_[A-Z0-9_]+):(\S+)", value.text)
    if colon is not None:
        why = f"a colon is no =: a variable called {value.text!r} is handed on"
        return list(refused(colon[1], colon[2], (value.line,), why))
    follower = words[at + 2].text if at + 2 < len(words) else ""
    if NAME.fullmatch(value.text) is None or not follower.startswith("="):
        return None
    text = follower[1:] or (words[at + 3].text if at + 3 < len(words) else "")
    why = f"blanks around =: {follower!r} is taken for the image or the program"
    return list(refused(value.text, text, (value.line,), why))


def argument_only(pair: tuple[str, Word]) -> Iterator[Item]:
    """A build argument: gone when the image is made."""
    name, value = pair
    why = "a build argument: not in the environment of the running container"
    yield lost(name, value.text, (value.line,), why)
    yield Problem(Severity.WARNING, (name,), (value.line,), why)


def _handed(value: Word, context: Context, *, comma: bool) -> Iterator[Item]:
    text = value.text
    if NAME.fullmatch(text):
        yield from_caller(text, value.line, context)
        return
    if comma and re.search(r",[A-Za-z_][A-Za-z0-9_]*=", text):
        cut = re.split(r",(?=[A-Za-z_][A-Za-z0-9_]*=)", text)
        for part in cut:
            pair = assigned(Word(value.line, [Piece(part, "plain")]))
            if pair is not None:
                kind = "expansion" if "$" in part and not value.resolved else "plain"
                yield place(pair[0], Word(value.line, [Piece(pair[1].text, kind)]), context)
        return
    pair = assigned(value)
    if pair is not None:
        yield place(pair[0], pair[1], context)


def image_at(name: str, words: list[Word]) -> int:
    """Index of the image among the words of docker run, else beyond the end."""
    texts = [word.text for word in words[:4]]
    verb = next((at for at, text in enumerate(texts) if text in ("run", "create", "exec")), None)
    if name not in _DOCKERS or verb is None:
        return len(words)
    at = verb + 1
    while at < len(words) and words[at].text.startswith("-"):
        at += 1 if _DOCKER_ALONE.fullmatch(words[at].text) else 2
    return min(at, len(words))
