"""A log line that is one JSON object: Docker's, journald's, and structured loggers' own.

Owns which keys hold message, level, time and process. What the message says is read elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from console.engines.levels import LEVELS, PRIORITIES
from console.engines.line import Head
from console.model.number import whole

_TEXT = ("message", "msg", "log", "MESSAGE", "event", "textPayload", "text")
_AT = (
    "time",
    "timestamp",
    "ts",
    "asctime",
    "@timestamp",
    "__REALTIME_TIMESTAMP",
    "_SOURCE_REALTIME_TIMESTAMP",
)
_LEVEL = ("level", "levelname", "severity", "lvl", "log.level", "levelName")
_PID = ("_PID", "process", "pid")
_MOST = 256 * 1024
WITHHELD = "[blob data]"


def json_line(head: Head, text: str) -> tuple[Head, str] | None:
    """Head and message of a whole line that is one JSON object with a message; else None.

    journald gives bytes as a list of numbers, and null for what it withholds.
    """
    if len(text) > _MOST or not text.rstrip().endswith("}"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    record = found.get("record")
    if isinstance(record, dict) and isinstance(record.get("message"), str):
        found = record  # loguru's form: the text beside it repeats all of it
    message = _message(found)
    if message is None:
        return None
    level = LEVELS.get(_level(found)) or PRIORITIES.get(str(found.get("PRIORITY")))
    source = _str(found.get("SYSLOG_IDENTIFIER")) or _str(found.get("_SYSTEMD_UNIT"))
    pid = next((n for key in _PID if (n := _number(found.get(key))) is not None), head.pid)
    return replace(
        head,
        outer=_at(found) or head.outer,
        wrapper=head.wrapper or "json",
        level=level or head.level,
        style="json" if level else head.style,
        source=source or head.source,
        process=source if source and "MESSAGE" in found else head.process,
        pid=pid,
    ), message.rstrip("\n")


def _message(found: Mapping[str, object]) -> str | None:
    for key in _TEXT:
        value = found.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(b, int) and 0 <= b < 256 for b in value):
            return bytes(value).decode("utf-8", "replace")
    return WITHHELD if "MESSAGE" in found and found["MESSAGE"] is None else None


def _level(found: Mapping[str, object]) -> str:
    for key in _LEVEL:
        value = found.get(key)
        if isinstance(value, dict):
            value = value.get("name")
        if isinstance(value, str):
            return value.upper()
    log = found.get("log")
    nested = log.get("level") if isinstance(log, dict) else None
    return nested.upper() if isinstance(nested, str) else ""


def _at(found: Mapping[str, object]) -> str:
    for key in _AT:
        value = found.get(key)
        if isinstance(value, dict):
            value = value.get("repr")
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
    return ""


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    if isinstance(value, dict):
        value = value.get("id")
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return whole(text)
