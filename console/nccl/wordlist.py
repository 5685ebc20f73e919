"""How libnccl reads lists and words: ALGO and PROTO, debug levels, interfaces and adapters,
addresses, paths. Same contract as parse: what the library ends up with, per version."""

from __future__ import annotations

import re

from console.nccl.catalogue import Variable
from console.nccl.parse import DEFAULT, Outcome, Reading, read_integer
from console.nccl.version import Version

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%\w]+\]|[^:\[\]\s]+):[0-9]{1,5}")
_DEVICE = re.compile(r"[A-Za-z0-9_.@+-]{1,63}(:-?[0-9]*){0,3}")
_CPUSET = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")
_QUOTED = re.compile(r"([\"'“”‘’`]).*|.*([\"'“”‘’`])", re.DOTALL)
_TRUE_FALSE = frozenset({"1", "0", "t", "f", "true", "false"})
NETWORKS = frozenset({"ib", "socket"})


def list_words(value: str) -> list[str]:
    """Words of a list as strtok cuts them: empty ones vanish, blanks stay."""
    return [word for word in value.split(",") if word]


def read_list(variable: Variable, value: str, version: Version) -> Reading:
    """ALGO, PROTO, SYM_KERNEL. From 2.24 lists per function, and an unknown word is fatal;
    before, it is skipped. Case does not matter, blanks do."""
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty list counts as unset")
    known = {word.lower(): word for word in variable.values_in(version)}
    functions = {name.lower() for name in variable.functions}
    if version < (2, 24):
        return _old_list(value, known)
    seen_prefix = False
    for entry in filter(None, value.split(";")):
        prefix, colon, rest = entry.partition(":")
        if not colon:
            rest = entry
            if seen_prefix:
                return _fatal("only the first entry may lack a function name", value, known)
        elif functions and prefix.lower() not in functions:
            return _fatal(f"unknown function {prefix!r}", value, known)
        seen_prefix = True
        if not known:
            if any(word != word.strip() for word in list_words(rest)):
                return _fatal("blanks in the list", value, known)
            continue
        bad = [word for word in list_words(rest.removeprefix("^")) if word.lower() not in known]
        if bad:
            return _fatal(f"unknown word {bad[0]!r}", value, known)
    return Reading(Outcome.TAKEN, value)


def _fatal(why: str, value: str, known: dict[str, str]) -> Reading:
    return Reading(Outcome.FATAL, "", why + ": NCCL fails to start", _tidy(value, known))


def _old_list(value: str, known: dict[str, str]) -> Reading:
    words = list_words(value.removeprefix("^"))
    good = [known[word.lower()] for word in words if word.lower() in known]
    if len(good) == len(words):
        return Reading(Outcome.TAKEN, value)
    left = ",".join(good) or "nothing"
    return Reading(
        Outcome.IGNORED, left, "unknown words are skipped in this version", _tidy(value, known)
    )


def _tidy(value: str, known: dict[str, str]) -> str:
    """The list without quotes, blanks and comment, if every word is then known."""
    bare = re.sub(r"\s#.*", "", value).strip().strip("\"'“”").strip()
    words = [re.sub(r"\s", "", word) for word in re.split(r"[,，、]", bare)]
    if known and all(word.lower().removeprefix("^") in known for word in words):
        return ",".join(words)
    return ""


def read_debug(variable: Variable, value: str, version: Version) -> Reading:
    """NCCL_DEBUG: an unknown word means no logging at all. Blanks are trimmed from 2.30."""
    if value == "":
        return Reading(Outcome.EMPTY, "no logging", "empty: nothing is logged")
    word = value.strip() if version >= (2, 30) else value
    known = variable.values_in(version)
    if word.upper() in known:
        return Reading(Outcome.TAKEN, word.upper())
    tidy = re.sub(r"[\s#\"'].*", "", value.strip().strip("\"'")).upper()
    meant = tidy if tidy in known else ""
    if not meant and tidy in variable.values:
        meant = "WARN"
    why = "unknown to this version: nothing is logged"
    return Reading(Outcome.IGNORED, "no logging", why, meant or "INFO")


def read_subsystems(variable: Variable, value: str, version: Version) -> Reading:
    """Lists of log parts or levels. An unknown word is dropped without a line up to 2.29; from
    2.30 it makes the whole list fall back to the default (seen in 2.32.3)."""
    if value == "":
        return Reading(Outcome.EMPTY, "none", "an empty list")
    known = variable.values_in(version)
    words = list_words(value.removeprefix("^"))
    if version >= (2, 30):
        words = [word.strip() for word in words]
    bad = [word for word in words if word.upper() not in known]
    if not bad:
        return Reading(Outcome.TAKEN, value)
    left = ",".join(word.upper() for word in words if word not in bad) or "none"
    left = DEFAULT if version >= (2, 30) else left
    meant = _tidy(value, {word.lower(): word for word in known})
    return Reading(Outcome.IGNORED, left, f"unknown: {', '.join(map(repr, bad))}", meant)


def read_flag(variable: Variable, value: str, version: Version) -> Reading:
    """Switches that take words from 2.30 on and numbers before."""
    if version < (2, 30):
        return read_integer(variable, value, version)
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty value counts as unset")
    if value.strip().lower() in _TRUE_FALSE:
        return Reading(Outcome.TAKEN, value.strip())
    return Reading(Outcome.IGNORED, DEFAULT, "neither 1, T, TRUE nor 0, F, FALSE", "")


def read_family(variable: Variable, value: str, _: Version) -> Reading:
    """SOCKET_FAMILY and IB_ADDR_FAMILY: exact; anything else is logged as set and ignored."""
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty value counts as unset")
    if value in variable.values:
        return Reading(Outcome.TAKEN, value)
    meant = "AF_INET6" if "6" in value else "AF_INET"
    return Reading(Outcome.IGNORED, DEFAULT, "the log says it is set, yet it is ignored", meant)


def read_policy(variable: Variable, value: str, version: Version) -> Reading:
    """CTA_POLICY: a number until 2.28, words joined by | from 2.29; unknown ones are skipped."""
    if version < (2, 29):
        return read_integer(variable, value, version)
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty value counts as unset")
    bad = [word for word in value.split("|") if word.strip().upper() not in variable.values]
    if not bad:
        return Reading(Outcome.TAKEN, value)
    return Reading(Outcome.REFUSED, DEFAULT, f"skipped with a line: {bad[0]!r}")


def read_word(variable: Variable, value: str, version: Version) -> Reading:
    """Closed sets of words; what is unknown falls back, mostly with a line at INFO."""
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty value counts as unset")
    known = variable.values_in(version)
    exact = variable.name == "NCCL_NET_MERGE_LEVEL"
    word = value if exact else value.upper()
    if not known or word in known:
        return Reading(Outcome.TAKEN, value)
    if variable.name == "NCCL_NETDEVS_POLICY" and re.fullmatch(r"MAX:[1-9][0-9]*", word):
        return Reading(Outcome.TAKEN, value)
    tidy = value.strip().strip("\"'").upper()
    fallback = "LOC" if exact else variable.default
    return Reading(Outcome.REFUSED, fallback, "an unknown word", tidy if tidy in known else "")


def read_devices(variable: Variable, value: str, _: Version) -> Reading:
    """Interfaces and adapters: ^ and = stand once, at the front; names are not trimmed."""
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty list counts as unset")
    if len(value) == 1 and variable.name == "NCCL_SOCKET_IFNAME":
        return Reading(Outcome.IGNORED, DEFAULT, "a single character is ignored")
    names = list_words(value.removeprefix("^").removeprefix("="))
    bad = [name for name in names if not _DEVICE.fullmatch(name)]
    if not bad and names:
        return Reading(Outcome.TAKEN, value)
    meant = value.strip().strip("\"'“”")
    if bad and bad[0][:1] in "^=":
        why, meant = "^ and = hold for the whole list and stand once, at the front", ""
        return Reading(Outcome.CHANGED, value, why)
    outcome = Outcome.FATAL if len(bad) == len(names) else Outcome.IGNORED
    named = f"no device is called {bad[0]!r}" if bad else "no device is named"
    return Reading(outcome, "", named, meant if meant != value else "")


def read_address(_: Variable, value: str, __: Version) -> Reading:
    """COMM_ID, RAS_ADDR: host:port; anything else is refused with a warning."""
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty value counts as unset")
    if _ADDRESS.fullmatch(value):
        return Reading(Outcome.TAKEN, value)
    return Reading(Outcome.FATAL, "", "not host:port: the call fails")


def read_network(_: Variable, value: str, __: Version) -> Reading:
    """NCCL_NET: must be a loaded network's name (case ignored), or nothing starts."""
    if value == "":
        return Reading(Outcome.FATAL, "", "no network has an empty name: NCCL fails to start")
    if _QUOTED.fullmatch(value) or value != value.strip():
        return Reading(Outcome.FATAL, "", "no network has that name", value.strip(" \t\r\"'“”"))
    if value.lower() in NETWORKS:
        return Reading(Outcome.TAKEN, value)
    return Reading(Outcome.TAKEN, value, "only if a network plugin of that name is loaded")


def read_path(variable: Variable, value: str, _: Version) -> Reading:
    """Files: no ~, no quotes, no variables."""
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty path counts as unset")
    if value.startswith("~"):
        return Reading(Outcome.IGNORED, value, "~ is not expanded: no such file")
    if _QUOTED.fullmatch(value):
        return Reading(
            Outcome.IGNORED, value, "the quotes belong to the path", value.strip("\"'“”")
        )
    if value != value.strip():
        return Reading(Outcome.IGNORED, value, "the blank belongs to the path", value.strip())
    return read_text(variable, value, _)


def read_text(variable: Variable, value: str, _: Version) -> Reading:
    """Free text: only quotes that arrived, and variables nobody expands, can be told."""
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty value counts as unset")
    if len(value) > 1 and value[0] in "\"'“‘`" and value[-1] in "\"'”’`":
        return Reading(Outcome.CHANGED, value, "the quotes belong to the value", value[1:-1])
    if re.search(r"\$[A-Za-z_{(]", value):
        return Reading(Outcome.ODD, value, "nobody expands $ here: the text itself is used")
    if variable.name == "NCCL_PROXY_CPUSET" and not _CPUSET.fullmatch(value):
        return Reading(Outcome.REFUSED, DEFAULT, "no list of processors")
    return Reading(Outcome.TAKEN, value)
