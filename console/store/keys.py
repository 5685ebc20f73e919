"""Keys as a person writes them into a keymap, and the names the verb table has for them."""

from __future__ import annotations

import unicodedata

_NAMED = (
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"),
    *("space", "enter", "tab", "backspace", "escape"),
    *(f"f{number}" for number in range(1, 25)),
)
_MODIFIERS = ("ctrl", "shift", "alt")
_OWN = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
_RESERVED = ("ctrl+c",)
"""Never a verb's: whoever presses it wants to know how to leave."""


def known_keys() -> tuple[str, ...]:
    """Names of keys that are no characters."""
    return _NAMED


def keys_of(text: str) -> tuple[str, ...] | None:
    """The keys of `h`, `?`, `f1,ctrl+r` by the verb table's names; None for anything else."""
    written = [text] if text in (",", " ") else [part.strip() for part in text.split(",")]
    found = tuple(_key(part) for part in written)
    named = tuple(key for key in found if key is not None)
    return named if len(named) == len(found) else None


def _key(text: str) -> str | None:
    if len(text) == 1:
        return _character(text)
    *modifiers, last = text.split("+")
    if not set(modifiers) <= set(_MODIFIERS) or text in _RESERVED:
        return None
    if last in _NAMED or last in _character_names():
        return text
    if len(last) == 1 and last.isalnum() and last.isascii():
        return text
    return None


def _character(char: str) -> str | None:
    if char.isalnum():
        return char
    if char == " ":
        return "space"
    return _name(char) if char.isprintable() else None


def _name(char: str) -> str:
    name = unicodedata.name(char, "").lower().replace("-", "_").replace(" ", "_")
    return _OWN.get(name, name)


def _character_names() -> frozenset[str]:
    return frozenset(_name(chr(code)) for code in range(33, 127) if not chr(code).isalnum())
