"""How libnccl reads one value, per version: numbers, distance names, switches, thread counts.
Lists and words are in wordlist. Says what the library ends up with; check turns that into
findings. Sources: param.cc, topo.cc, paths.cc, tuning.cc of 2.3.5 to 2.31, and the binaries of
2.21.5, 2.27.7, 2.31.2 and 2.32.3 called on a machine without GPUs."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum

from console.nccl.catalogue import Variable
from console.nccl.version import Version

NUMERIC_LEVELS = ("LOC", "PIX", "PXB", "PHB", "SYS", "SYS")
"""Old numbers of P2P_LEVEL and NET_GDR_LEVEL, by index; greater ones mean the last."""
UNDOCUMENTED_LEVELS = frozenset({"NVB", "C2C", "P2C", "PXN"})
DEFAULT = "default"

_INT64 = (-(2**63), 2**63 - 1)
_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SUFFIX = re.compile(r"\s*([kmg])(i?b)?\s*", re.IGNORECASE)
_YES = frozenset({"true", "yes", "on", "enable", "enabled", "y", "t"})
_NO = frozenset({"false", "no", "off", "disable", "disabled", "n", "f"})
_NO_MEANING = re.compile(r"\s*(?:[#;,\"'\r].*|\s.*)?", re.DOTALL)


class Outcome(Enum):
    """What became of a value."""

    TAKEN = "taken as written"
    TAIL = "taken, what follows the number is dropped"
    CLAMPED = "limited"
    ODD = "taken, but outside what the variable means"
    EMPTY = "empty: the default"
    CHANGED = "read as something else"
    IGNORED = "ignored without a line"
    REFUSED = "refused with a line, default kept"
    FATAL = "refused, start fails"


@dataclass(frozen=True, slots=True)
class Reading:
    """`reads_as` is the value in NCCL's hands (`default` where its own is kept)."""

    outcome: Outcome
    reads_as: str
    why: str = ""
    meant: str = ""


def leading_integer(value: str) -> tuple[int | None, str]:
    """(number, tail) as strtoll with base 0 reads them: 0x is hex, a leading 0 octal. None where
    no digit is found."""
    found = _NUMBER.match(value)
    if found is None:
        return None, value
    digits = found[2]
    if digits[:2] in ("0x", "0X"):
        number = _digits(digits[2:], 16)
    else:
        number = _digits(digits, 8 if digits[0] == "0" else 10)
    return -number if found[1] == "-" else number, value[found.end() :]


def _digits(text: str, base: int) -> int:
    """int(text, base), but anything beyond 64 bits is simply too large."""
    return int(text, base) if len(text) <= 64 else 2**64


def read_integer(variable: Variable, value: str, version: Version) -> Reading:
    """A 64-bit parameter: 16M is 16, 020 is 16, a word 0 up to 2.31 and refused in 2.32."""
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty value counts as unset")
    number, tail = leading_integer(value)
    if number is None:
        return _word_as_number(value, version)
    if not _INT64[0] <= number <= _INT64[1]:
        return Reading(Outcome.REFUSED, DEFAULT, "beyond 64 bits, the default is kept")
    digits = value.strip().lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdecimal():
        plain = re.match(r"[0-9]+", digits)
        if plain is not None and _digits(plain[0], 10) != abs(number):
            meant = plain[0].lstrip("0")
            return Reading(Outcome.CHANGED, str(number), "a leading 0 makes it octal", meant)
    if tail:
        return _with_tail(number, value, tail)
    return in_range(variable, number, version)


def _word_as_number(value: str, version: Version) -> Reading:
    word = unicodedata.normalize("NFKC", value).strip(" \t\n\v\f\r\"'“”‘’").lower()
    meant = "1" if word in _YES else "0" if word in _NO else ""
    if not meant and leading_integer(word)[0] is not None:
        meant = word
    if version >= (2, 32):
        return Reading(Outcome.REFUSED, DEFAULT, "no number: refused with one ATTN line", meant)
    if word in _NO and value.strip() == value:
        return Reading(Outcome.ODD, "0", "a word counts as 0; 2.32 refuses it", "0")
    return Reading(Outcome.CHANGED, "0", "no number: a word counts as 0", meant)


def _with_tail(number: int, value: str, tail: str) -> Reading:
    """Something follows the digits. It is dropped; the question is whether it meant anything."""
    unit = _SUFFIX.fullmatch(tail)
    if unit is not None:
        meant = str(number * _UNITS[unit[1].lower()])
        return Reading(Outcome.CHANGED, str(number), f"{tail.strip()} is dropped", meant)
    exact = _as_decimal(value)
    if exact is not None and exact != number:
        meant = f"{exact:.0f}" if exact.is_integer() else ""
        return Reading(Outcome.CHANGED, str(number), f"{tail!r} is dropped", meant)
    if not tail.strip():
        return Reading(Outcome.TAIL, str(number), "the blank after it is dropped", str(number))
    harmless = exact is not None or (
        _NO_MEANING.fullmatch(tail) is not None and not re.match(r"\s*,\s*[0-9]", tail)
    )
    outcome = Outcome.TAIL if harmless else Outcome.CHANGED
    return Reading(outcome, str(number), f"{tail!r} is dropped", str(number))


def _as_decimal(value: str) -> float | None:
    bare = value.strip(" \t\n\v\f\r")
    if not re.fullmatch(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,2})?", bare):
        return None
    return float(bare)


def in_range(variable: Variable, number: int, version: Version) -> Reading:
    """What becomes of a clean number: limits, known numbers, the library's own `decide`."""
    text = str(number)
    if number == variable.auto_number:
        return Reading(Outcome.TAKEN, text, "the number for NCCL's own choice")
    if variable.parser == "threads":
        return _threads(variable, number)
    if variable.parser == "power" and (number <= 0 or number & (number - 1)):
        return Reading(Outcome.REFUSED, DEFAULT, "no power of two: a warning, the default")
    highest = variable.max
    if variable.unit in ("channels", "CTAs") and highest == 64 and version < (2, 25):
        highest = 32
    if highest is not None and number > highest:
        if variable.unit in ("channels", "CTAs"):
            return Reading(Outcome.CLAMPED, str(highest), f"{highest} is the most", str(highest))
        return Reading(Outcome.ODD, text, f"above {highest}")
    if variable.min is not None and number < variable.min:
        return Reading(Outcome.ODD, text, f"below {variable.min}")
    if variable.kind == "switch" and number not in (0, 1):
        return Reading(Outcome.ODD, text, "a switch: 0 or 1", "1")
    known = variable.values_in(version)
    if variable.kind == "integer" and known and text not in known and variable.max is None:
        return Reading(Outcome.ODD, text, "known are " + ", ".join(known))
    if variable.low is not None and number < variable.low:
        return Reading(Outcome.ODD, text, f"below {variable.low} {variable.unit}")
    return Reading(Outcome.TAKEN, text)


def _threads(variable: Variable, number: int) -> Reading:
    low, high = variable.min or 0, variable.max or 0
    step = variable.multiple_of or 1
    if number <= 0:
        return Reading(Outcome.ODD, DEFAULT, "zero or less keeps the default")
    if number % step:
        return Reading(
            Outcome.CLAMPED, str(high), f"no multiple of {step}: the maximum is used", str(high)
        )
    if number > high:
        return Reading(Outcome.CLAMPED, str(high), f"{high} is the most", str(high))
    if number < low:
        return Reading(Outcome.CLAMPED, str(low), f"{low} is the least", str(low))
    return Reading(Outcome.TAKEN, str(number))


def read_level(variable: Variable, value: str, version: Version) -> Reading:
    """P2P_LEVEL and NET_GDR_LEVEL: an exact name in capitals, or an old digit; all else is
    ignored without a line."""
    if version < (2, 6):
        return read_integer(variable, value, version)
    if value == "":
        return Reading(Outcome.EMPTY, DEFAULT, "an empty value is ignored")
    names = [name for name in variable.values_in(version) if not name.isdecimal()]
    if value in names:
        why = "the user guide does not name it" if value in UNDOCUMENTED_LEVELS else ""
        return Reading(Outcome.TAKEN, value, why)
    if value[0] in "0123456789":
        number, tail = leading_integer(value)
        level = NUMERIC_LEVELS[min(number or 0, len(NUMERIC_LEVELS) - 1)]
        outcome = Outcome.ODD if tail or (number or 0) >= len(NUMERIC_LEVELS) else Outcome.TAKEN
        return Reading(outcome, level, f"an old number: {level}", level)
    tidy = value.strip().strip("\"'").upper()
    meant = tidy if tidy in names else {"NODE": "PHB", "NET": "SYS", "NVLINK": "NVL"}.get(tidy, "")
    return Reading(
        Outcome.IGNORED, DEFAULT, "no name NCCL knows (capitals, nothing around it)", meant
    )


def read_switch(_: Variable, value: str, __: Version) -> Reading:
    """P2P_DISABLE: only the number 1 acts."""
    if value == "":
        return Reading(Outcome.EMPTY, "0", "empty: not disabled")
    number, tail = leading_integer(value)
    if number == 1:
        return Reading(Outcome.TAIL if tail.strip() else Outcome.TAKEN, "1", "", "1")
    if number == 0 and not tail.strip():
        return Reading(Outcome.TAKEN, "0")
    if value.strip().lower() in _NO:
        return Reading(Outcome.ODD, "0", "only the number 1 acts, so it stays on", "0")
    return Reading(Outcome.IGNORED, "0", "only the number 1 acts", "1")


def read_leading(variable: Variable, value: str, version: Version) -> Reading:
    """COLLNET_ENABLE and RAS_TIMEOUT_FACTOR: a leading number in every version."""
    if variable.kind == "decimal" and version >= (2, 32):
        exact = _as_decimal(value)
        if exact is not None:
            return Reading(Outcome.TAKEN, value)
    return read_integer(variable, value, min(version, Version(2, 31)))
