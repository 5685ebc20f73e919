"""What runs on a host to find the Python that a server is launched with: one fixed POSIX sh line.

Owns that text and what it prints. It starts nothing, and reads the first line of one script and
the hidden size from one model's config.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from console.services.process_script import command

_LOOK = (
    r"""
export LC_ALL=C;
program=$1 model=$2;
if [ -n "$3" ]; then cd "$3" 2>/dev/null || echo "@note no folder $3"; fi;
if [ -z "$program" ]; then echo "@end"; exit 0; fi;
p=$(command -v "$program" 2>/dev/null);
case $p in
/*) ;;
?*) p=$(pwd)/$p;; esac;
case ${p##*/} in
"") echo "@none there is no $program on the host";;
python*|pypy*) echo "@python $p";;
*) q=; i=$(head -c 300 "$p" 2>/dev/null | tr -d "\000" | head -n 1);
case $i in "#!"*) for w in ${i#??}; do case $w in *python*) q=$w;; esac; done;; esac;
i=; if [ -n "$q" ]; then i=$(command -v "$q" 2>/dev/null); fi;
if [ -n "$i" ]; then echo "@python $i"; else echo "@none $p is no Python program"; fi;; esac;
if [ -n "$model" ] && [ -r "$model/config.json" ]; then
n=$(grep -oE "\"hidden_size\"[^0-9]*[0-9]+" "$model/config.json" 2>/dev/null
| sed "s/.*[^0-9]//" | sort -n | tail -n 1);
if [ -n "$n" ]; then echo "@hidden $n"; fi; fi;
echo "@end"
""",
)
_PASSED = frozenset({"env", "exec", "nohup", "setsid", "numactl", "taskset", "nice", "stdbuf"})
_TAKE_ONE = frozenset({"-u", "--unset", "-C", "--chdir", "-n", "-c", "-N", "-m", "-i", "-l"})
"""Options of those that take the next word."""

_MODEL = frozenset({"--model-path", "--model", "-m", "--model_path"})


def look_argv(argv: Sequence[str], python: str, cwd: str) -> list[str]:
    """The command that prints `@python PATH` or `@none WHY`, and `@hidden N` where the model of
    `argv` tells its size; `python` is taken in place of the recipe's program."""
    return command(_LOOK, [python or program_of(argv), model_of(argv), cwd])


def program_of(argv: Sequence[str]) -> str:
    """The program of a launch command: past `env`, assignments and what only starts another."""
    taken = False
    for word in argv:
        if taken or word.startswith("-") or "=" in word or PurePosixPath(word).name in _PASSED:
            taken = not taken and word in _TAKE_ONE
            continue
        return word
    return ""


def model_of(argv: Sequence[str]) -> str:
    """The model's folder, as the arguments name it; "" where they name none."""
    for at, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in _MODEL and not (name == "-m" and not equals and _is_module(argv, at)):
            return value if equals else argv[at + 1] if at + 1 < len(argv) else ""
    return ""


def _is_module(argv: Sequence[str], at: int) -> bool:
    """Whether `-m` here is Python's own."""
    return at > 0 and PurePosixPath(argv[at - 1]).name.startswith("python")
