"""`spec-console completions SHELL`: completion of every option and subcommand, for three shells.

Made from the argument parsers themselves, so that it cannot fall behind them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from console.model.exits import Exit

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "spec-console"
_FILES = ("FILE", "SESSION", "SCRIPT", "NEW", "BEFORE", "AFTER", "PATH", "SCHEMA")


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its names, its help, what its value is."""

    names: tuple[str, ...]
    help: str
    takes: bool
    files: bool
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """What may follow `spec-console` and these words."""

    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    words: tuple[tuple[str, str], ...]
    files: bool


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = argparse.ArgumentParser(
        prog=f"{PROGRAM} completions",
        description='Print a completion script. bash: eval "$(spec-console completions bash)"; '
        "zsh: the same, after compinit; fish: spec-console completions fish | source.",
        allow_abbrev=False,
    )
    made.add_argument("shell", choices=SHELLS)
    return made


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    shell = parser().parse_args(argv).shell
    known = list(collect())
    match shell:
        case "bash":
            print(bash(known))
        case "zsh":
            print(f"autoload -Uz bashcompinit && bashcompinit\n{bash(known)}")
        case _:
            print(fish(known))
    return Exit.OK


def collect() -> Iterator[Words]:
    """The program, every subcommand, and every verb of those that have verbs."""
    cli = import_module("console.cli")
    commands: dict[str, str] = cli.COMMANDS
    yield _words((), "", cli.parser(), tuple(commands.items()))
    for name, told in commands.items():
        module = import_module(f"console.command.{name}")
        made = _parser_of(module.main, ["--help"])
        verbs = _verbs(module, made)
        yield _words((name,), told, made, tuple(verbs.items()))
        for verb, help_ in verbs.items():
            yield _words((name, verb), help_, _parser_of(module.main, [verb, "--help"]), ())


def _verbs(module: ModuleType, made: argparse.ArgumentParser) -> dict[str, str]:
    """The choices of a subcommand that are subcommands themselves, with what they do."""
    told: Mapping[str, object] = getattr(module, "VERBS", {})
    choices = [c for a in made._actions if not a.option_strings for c in a.choices or ()]
    return {c: text for c in choices if isinstance(text := told.get(c), str)}


class _Found(Exception):
    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def _parser_of(main: object, argv: list[str]) -> argparse.ArgumentParser:
    """The parser that a subcommand makes: caught where it is about to parse."""
    assert callable(main)
    with _caught():
        try:
            main(argv)
        except _Found as found:
            return found.parser
    raise AssertionError("a subcommand without a parser")


@contextmanager
def _caught() -> Iterator[None]:
    def parse(self: argparse.ArgumentParser, *_args: object, **_kwargs: object) -> NoReturn:
        raise _Found(self)

    kept = argparse.ArgumentParser.parse_args
    argparse.ArgumentParser.parse_args = parse  # type: ignore[method-assign]
    try:
        yield
    finally:
        argparse.ArgumentParser.parse_args = kept  # type: ignore[method-assign]


def _words(
    path: tuple[str, ...],
    help_: str,
    parser: argparse.ArgumentParser,
    below: tuple[tuple[str, str], ...],
) -> Words:
    options, words, files = [], list(below), False
    for action in parser._actions:
        choices = tuple(str(choice) for choice in action.choices or ())
        place = str(action.metavar or action.dest).upper()
        if action.option_strings:
            takes = action.nargs != 0
            options.append(
                Option(
                    tuple(action.option_strings),
                    _plain(action.help),
                    takes,
                    place in _FILES,
                    choices,
                )
            )
        elif choices and not below:
            words += [(choice, _plain(action.help)) for choice in choices]
        files = files or (not action.option_strings and place in _FILES)
    return Words(path, help_, tuple(options), tuple(words), files)


def _plain(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").replace("'", "").strip()


def bash(known: Sequence[Words]) -> str:
    """The script for bash; zsh reads it too."""
    cases = "\n".join(
        f"    '{' '.join(words.path)}') words='{' '.join(word for word, _ in words.words)}'; "
        f"options='{' '.join(name for option in words.options for name in option.names)}'; "
        f"files={int(words.files)} ;;"
        for words in known
    )
    values = "\n".join(
        f"    '{' '.join((*words.path, name))}') words='{' '.join(option.choices)}'; "
        f"files={int(option.files)}; value=1 ;;"
        for words in known
        for option in words.options
        if option.takes
        for name in option.names
    )
    subs = " ".join("/".join(words.path) for words in known if words.path)
    return f"""_spec_console() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
  local path= words= options= files=0 value=0 word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{path:+$path/}}${{COMP_WORDS[i]}}
    case " {subs} " in *" $word "*) path=$word ;; esac
  done
  path=${{path/\\// }}
  [[ $prev == -* ]] && case "${{path:+$path }}$prev" in
{values}
  esac
  if ((!value)); then
    case "$path" in
{cases}
    esac
    [[ $cur == -* ]] && words=$options files=0
  fi
  COMPREPLY=()
  while IFS= read -r word; do
    [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
  done < <(compgen -W "$words" -- "$cur")
  if ((files)); then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
  fi
}}
complete -o filenames -F _spec_console {PROGRAM}"""


def fish(known: Sequence[Words]) -> str:
    """The script for fish."""
    lines = [f"complete -c {PROGRAM} -f"]
    for words in known:
        when = _fish_when(words, known)
        for word, told in words.words:
            lines.append(f"complete -c {PROGRAM} -n '{when}' -a '{word}' -d '{_plain(told)}'")
        for option in words.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = " -r" if option.takes else ""
            value += f" -a '{' '.join(option.choices)}'" if option.choices else ""
            value += " -F" if option.files else ""
            lines.append(
                f"complete -c {PROGRAM} -n '{when}' {names}{value} -d '{_plain(option.help)}'"
            )
        if words.files:
            lines.append(f"complete -c {PROGRAM} -n '{when}' -F")
    return "\n".join(lines)


def _fish_when(words: Words, known: Sequence[Words]) -> str:
    if not words.path:
        return "__fish_use_subcommand"
    when = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in words.path)
    below = [each.path[-1] for each in known if each.path[:-1] == words.path and each.path]
    return when + (f"; and not __fish_seen_subcommand_from {' '.join(below)}" if below else "")
