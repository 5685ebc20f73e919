"""The JSON Schema of one line that `--script FILE --json` writes to standard output."""

from __future__ import annotations

from console.model.exits import Exit
from console.model.verbs import script_verbs

Schema = dict[str, object]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_EXIT: Schema = {"enum": sorted(code.value for code in Exit)}


def output() -> Schema:
    """Each line is one of four events; `t_us` is the session's time, `utc` null before it is known.

    `results` holds what later steps may refer to, texts and numbers by name.
    """
    verb: Schema = {"enum": list(script_verbs())}
    step: Schema = {
        "step": _TEXT,
        "verb": verb,
        "server": {"type": "string", "description": "empty for a verb without one"},
        "exit": _EXIT,
        "text": _TEXT,
        "results": {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
    }
    lines: Schema = {"type": "array", "items": _TEXT, "description": "of tail, run and repeat"}
    counts: Schema = dict.fromkeys(("passed", "failed", "left_out"), _COUNT)
    end: Schema = {
        "exit": _EXIT,
        **counts,
        "session": {"type": "string", "description": "its file"},
    }
    progress: Schema = dict.fromkeys(("step", "server", "text"), _TEXT)
    return {
        "type": "object",
        "oneOf": [
            _event("step", step, lines=lines),
            _event("progress", progress),
            _event("left_out", {"step": _TEXT, "verb": verb, "why": _TEXT}),
            _event("end", end),
        ],
    }


def _event(name: str, required: Schema, **optional: object) -> Schema:
    stamp: Schema = {"t_us": _COUNT, "utc": {"type": ["string", "null"]}}
    whole = {"event": {"const": name}, **required, **stamp}
    return {
        "properties": {**whole, **optional},
        "required": list(whole),
        "additionalProperties": False,
    }
