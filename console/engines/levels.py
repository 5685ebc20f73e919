"""Level words of loggers, as severities.

A pure table: Python's and Rust's words, their first letters, and syslog's numbers.
"""

from __future__ import annotations

from console.engines.facts import Severity

LEVEL = r"(?:DEBUG|TRACE|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"

LEVELS: dict[str, Severity] = {
    "DEBUG": "debug",
    "TRACE": "debug",
    "INFO": "info",
    "NOTICE": "info",
    "WARN": "warning",
    "WARNING": "warning",
    "ERROR": "error",
    "CRITICAL": "error",
    "FATAL": "error",
    "D": "debug",
    "I": "info",
    "W": "warning",
    "E": "error",
    "F": "error",
}

# Only what is worse than ordinary: a unit's whole output has priority 6, its errors too.
PRIORITIES: dict[str, Severity] = {
    "0": "error",
    "1": "error",
    "2": "error",
    "3": "error",
    "4": "warning",
}
