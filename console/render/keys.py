"""Keys as people know them: `↑`, `⇞`, `^p`, from the names the verb table uses."""

from __future__ import annotations

_NAMES = {
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "space": "space",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "full_stop": ".",
    "comma": ",",
    "question_mark": "?",
    "slash": "/",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "enter": "↵",
    "escape": "esc",
    "backspace": "⌫",
    "exclamation_mark": "!",
    "asterisk": "*",
    "ampersand": "&",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
}


def key_name(key: str) -> str:
    """One key: `ctrl+p` as `^p`, `shift+up` as `shift ↑`."""
    *modifiers, last = key.split("+")
    name = _NAMES.get(last, last)
    if modifiers == ["ctrl"]:
        return f"^{name}"
    return " ".join([*modifiers, name])


def key_names(keys: str) -> str:
    """All keys of a verb, `up,k` as `↑ k`; empty for none."""
    return " ".join(key_name(key) for key in keys.split(",") if key)
