"""`spec-console schema NAME`: JSON Schemas of the files people write, and of sessions.

Made from the same tables that read those files, so that an editor offers what the console takes.
A schema says what may stand where; whether a name exists is for `script lint` and the reader.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from typing import get_args, get_origin, get_type_hints

from console.command.schema_output import output
from console.control.script import SCHEMA as SCRIPT
from console.control.script import OnFail
from console.control.step_guard import ANY, WINDOW
from console.model.exits import Exit
from console.model.fleet import Arm, Engine, Wire
from console.model.verb import Kind, Verb
from console.model.verbs import VERBS, script_verbs
from console.store.fleet import SCHEMA as FLEET
from console.store.theme import (
    ANSI_NAMES,
    ATTRIBUTES,
    CHART_KEYS,
    GROUND,
    ROLE_KEYS,
)
from console.store.theme import SCHEMA as THEME
from console.stream.codec import bare
from console.stream.events import KINDS
from console.stream.fact import Fact, Standing

Schema = dict[str, object]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SESSION = "session/1"
TEXT: Schema = {"type": "string"}
SOME_TEXT: Schema = {"type": "string", "minLength": 1}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}
DURATION: Schema = {"type": "string", "pattern": r"^\d+(\.\d+)?(ms|s|m|h)$"}
VARIABLE: Schema = {"type": "string", "pattern": r"^\$\{vars\.[a-z][a-z0-9_]*\}$"}
CONDITIONS: Schema = {"anyOf": [SOME_TEXT, {"type": "array", "items": SOME_TEXT, "minItems": 1}]}
FAIL_FAST: Schema = {
    "type": "array",
    "items": {"type": "string", "pattern": "^(process_exit|log:/.+/)$"},
}
NAME: Schema = {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,62}$"}
ID: Schema = {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,31}$"}
_STANDINGS = "|".join(standing.value for standing in Standing)
OF_KIND: Mapping[Kind, Schema] = {
    Kind.TEXT: SOME_TEXT,
    Kind.PATH: SOME_TEXT,
    Kind.NUMBER: {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 1_000_000}, VARIABLE]},
    Kind.DECIMAL: {"anyOf": [{"type": "number"}, VARIABLE]},
    Kind.DURATION: {"anyOf": [DURATION, VARIABLE]},
    Kind.CONDITIONS: CONDITIONS,
    Kind.COMMAND: NAME,
    Kind.ITEMS: {
        "type": "array",
        "minItems": 1,
        "items": {
            "anyOf": [
                {"type": ["string", "number"]},
                {
                    "type": "object",
                    "properties": {"name": SOME_TEXT},
                    "required": ["name"],
                    "additionalProperties": {"type": ["string", "number"]},
                },
            ]
        },
    },
    Kind.STEPS: {"type": "array", "minItems": 1, "items": {"type": "object"}},
    Kind.UNTIL: {"type": "string", "pattern": f"^(health|{_STANDINGS}|log:/.+/)$"},
}


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console schema", allow_abbrev=False)
    parser.add_argument("name", choices=list(SCHEMAS), help="which file")
    print(json.dumps(schema(parser.parse_args(argv).name), indent=2))
    return Exit.OK


def schema(name: str) -> Schema:
    """The schema of `fleet`, `script`, `theme`, `session` or of a line of `output`."""
    version, make = SCHEMAS[name]
    made = make()
    properties = made.get("properties")
    if isinstance(properties, dict):
        properties["schema"] = {"const": version}
    return {"$schema": DRAFT, "title": f"spec-console {version}", **made}


def _object(properties: Mapping[str, object], *required: str) -> Schema:
    """A table that holds these keys and no other."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _tables(properties: Mapping[str, object], *required: str) -> Schema:
    return {"type": "array", "items": _object(properties, *required)}


def _words(words: type[StrEnum]) -> Schema:
    return {"enum": [word.value for word in words]}


def _fleet() -> Schema:
    host = {
        "name": NAME,
        "ssh": TEXT,
        "local": {"const": True},
        "ssh_config": TEXT,
        "transport": _words(Wire),
        "enter": TEXTS,
        "read_only": FLAG,
    }
    either: Schema = {"oneOf": [{"required": ["ssh"]}, {"required": ["local"]}]}
    slot = {
        "name": NAME,
        "host": NAME,
        "gpus": {"type": "array", "items": {"type": "integer"}},
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    }
    recipe = _object({"argv": TEXTS, "cwd": TEXT, "env_file": TEXT}, "argv")
    server = {
        "name": NAME,
        "slot": NAME,
        "arm": _words(Arm),
        "engine": _words(Engine),
        "url": {"type": "string", "pattern": "^https?://"},
        "log": {"anyOf": [SOME_TEXT, _object({"argv": TEXTS}, "argv")]},
        "recipe": recipe,
        "api_key_env": TEXT,
        "api_key_file": TEXT,
        "ca_file": TEXT,
        "read_only": FLAG,
    }
    return _object(
        {
            "schema": TEXT,
            "name": TEXT,
            "host": {"type": "array", "items": {**_object(host, "name"), **either}},
            "slot": _tables(slot, "name", "host"),
            "command": _tables(
                {"name": NAME, "host": NAME, "argv": TEXTS, "read_only": FLAG},
                *("name", "host", "argv"),
            ),
            "server": {**_tables(server, "name", "slot", "arm", "url"), "minItems": 1},
        },
        *("schema", "server"),
    )


def _script() -> Schema:
    own = {
        "id": ID,
        "name": TEXT,
        "target": NAME,
        "timeout": DURATION,
        "stall": DURATION,
        "progress": DURATION,
        "fail_fast": FAIL_FAST,
        "when": CONDITIONS,
        "always": FLAG,
        "guard": _guard(),
    }
    verbs = script_verbs()
    step = _object({**own, **{verb: _verb(VERBS[verb]) for verb in verbs}})
    step["oneOf"] = [{"required": [verb]} for verb in verbs]
    times = dict.fromkeys(("timeout", "every", "stall", "progress"), DURATION)
    defaults = _object({**times, "fail_fast": FAIL_FAST})
    value: Schema = {"type": ["string", "number"]}
    return _object(
        {
            "schema": TEXT,
            "name": TEXT,
            "targets": TEXTS,
            "timeout": DURATION,
            "on_fail": _words(OnFail),
            "defaults": defaults,
            "vars": {"type": "object", "additionalProperties": value},
            "step": {"type": "array", "items": step, "minItems": 1},
        },
        *("schema", "step"),
    )


def _guard() -> Schema:
    window: Schema = {"type": "string", "pattern": f"^({ANY}|{WINDOW})$"}
    described: dict[str, tuple[Schema, str]] = {
        "confirm": (NAME, "the server it is for, said once more"),
        "idle": (FLAG, "no request may run and none wait"),
        "max_running": (_INTEGER, "so many requests may run at most"),
        "window": (window, "time of the day, in the zone of the settings: HH:MM-HH:MM, or any"),
    }
    return _object(
        {name: {**kind, "description": help_} for name, (kind, help_) in described.items()}
    )


def _verb(verb: Verb) -> Schema:
    """Its table, or the bare value of its sole field."""
    spec = verb.script or ()
    described = {field.name: {**OF_KIND[field.kind], "description": field.help} for field in spec}
    table = _object(described, *(field.name for field in spec if field.required))
    sole = [described[verb.sole]] if verb.sole else []
    return {"description": verb.help, "anyOf": [*sole, table]}


def _theme() -> Schema:
    colour = rf"(#[0-9a-fA-F]{{6}}|{'|'.join(ANSI_NAMES)}|default)"
    pen: Schema = {"type": "string", "pattern": rf"^{colour}( ({'|'.join(ATTRIBUTES)}))*$"}
    sections: dict[str, list[str]] = {"colors": list(GROUND), "chart": list(CHART_KEYS)}
    for section, key in ROLE_KEYS.values():
        sections.setdefault(section, []).append(key)
    tables = {
        section: _object(dict.fromkeys(keys, pen), *keys) for section, keys in sections.items()
    }
    variables: Schema = {"type": "object", "additionalProperties": pen}
    properties = {"schema": TEXT, "dark": FLAG, "ansi": FLAG, **tables, "variables": variables}
    return _object(properties, "schema", *tables)


def _session() -> Schema:
    tables: dict[str, Schema] = {kind: _event(cls) for kind, cls in KINDS.items()}
    stamp = {"seq": _INTEGER, "t_us": _INTEGER}
    tables["seek"] = _object({**stamp, "facts": TEXTS}, "seq", "t_us", "facts")
    blocks = {kind: {"type": "array", "items": table} for kind, table in tables.items()}
    made = _object({"schema": TEXT, **blocks}, "schema")
    made["additionalProperties"] = True
    return made


_INTEGER: Schema = {"type": "integer", "minimum": 0}


def _event(cls: type[Fact]) -> Schema:
    """A block's table; unknown keys are left aside by every reader."""
    hints = get_type_hints(cls)
    own = fields(cls)
    properties: dict[str, object] = {field.name: _of(hints[field.name]) for field in own}
    stamp = ("seq", "t_us")
    required = [field.name for field in own if field.default is MISSING or field.name in stamp]
    return {**_object(properties, *required), "additionalProperties": True}


def _of(hint: object) -> Schema:
    hint = bare(hint)
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        if get_origin(inner) is tuple:
            return {"type": "object", "additionalProperties": _of(get_args(inner)[1])}
        return {"type": "array", "items": _of(inner)}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _words(hint)
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    assert isinstance(hint, type)
    return {"type": names[hint]}


SCHEMAS: Mapping[str, tuple[str, Callable[[], Schema]]] = {
    "fleet": (FLEET, _fleet),
    "script": (SCRIPT, _script),
    "theme": (THEME, _theme),
    "session": (SESSION, _session),
    "output": ("output/1", output),
}
