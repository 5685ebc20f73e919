"""What can be set: every key with its sentence, its default and the variable that overrides it.

Knows no file and reads no environment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from console.model.clock import Pace
from console.model.zone import UTC_ZONE

LEAST_S, MOST_S = 0.01, 86_400.0


class When(StrEnum):
    """Whether something is done."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"


PLAIN = {
    "theme": "Theme of the screen: dark, light, high-contrast, colour-blind-safe, sixteen, or your "
    "own.",
    "mouse": "Take the mouse: clicks select, and the terminal's own selection needs shift.",
    "ascii": "Draw without box characters: yes, no, or auto (when the locale is not UTF-8).",
    "zone": "Time zone of the clock: UTC, local, or a name such as Europe/Berlin.",
}
"""The keys at the top of the file, each with its sentence."""

PACE = {
    "health_starting_s": "Seconds between two health requests while a server is not up.",
    "health_up_s": "Seconds between two health requests while a server is up.",
    "health_deadline_s": "Seconds until a health request counts as unanswered.",
    "metrics_s": "Seconds between two readings of a server's metrics.",
    "environ_s": "Seconds between two readings of a server's environment.",
    "gpu_s": "Seconds between two readings of a host's GPUs.",
    "gpu_apps_s": "Seconds between two lists of who holds GPU memory.",
    "fresh_s": "A token younger than this many seconds means that tokens are being made.",
    "token_stall_s": "Requests that run for this many seconds without a token have stalled.",
    "stall_s": "A load without progress for this many seconds has stalled.",
    "connect_deadline_s": "Seconds until an SSH connection counts as refused.",
    "read_deadline_s": "Seconds until a short command on a host is given up.",
    "keepalive_s": "Seconds between two signs of life of an SSH connection.",
    "keepalive_count": "Signs of life missed until the link counts as lost.",
    "reconnect_first_s": "Seconds before the first attempt to connect again.",
    "reconnect_most_s": "Seconds between attempts to connect again, at most.",
    "tail_look_s": "Seconds between two looks at a log's file.",
    "tail_batch_s": "Seconds for which lines of a log are collected before they are shown.",
    "watch_s": "Seconds between two conclusions from what time alone changes.",
    "screen_s": "Seconds between two looks of the screen; slow links want 0.5.",
    "record_flush_s": "Seconds until recorded events are written to the session file.",
    "record_sync_s": "Seconds between two times that the session file is forced to the disk.",
    "clock_pair_s": "Seconds between two UTC times in the session file.",
    "progress_s": "Seconds between two lines of progress of a waiting script.",
    "wait_deadline_s": "Seconds until a script's wait gives up, where the step names none.",
    "act_look_s": "Seconds between two looks at processes while a server is stopped or started.",
    "act_link_s": "Seconds that a change on a host waits for a lost link before it ends.",
    "act_settle_s": "A server that dies within this many seconds of being ready was never up.",
    "stop_grace_s": "Seconds from the polite end of a launcher until its survivors are told.",
    "kill_grace_s": "Seconds after the last signal until what is still there counts as stuck.",
    "lock_stale_s": "Seconds without a sign of its owner until a host's lock counts as stale.",
    "unlock_idle_s": "Seconds without a change until an unlocked console is read-only again.",
}
"""The keys of [pace], each with its sentence."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in effect.

    Attributes:
        zone: a name that `zone_is_known` knows.
        keymap: keys by verb, as the screen names them, comma separated.
        origins: where each key that is no default was set: `FILE:LINE` or a variable's name.
    """

    theme: str = "dark"
    mouse: bool = False
    ascii: When = When.AUTO
    zone: str = UTC_ZONE
    pace: Pace = field(default_factory=Pace)
    keymap: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)

    def all(self) -> dict[str, str]:
        """Every key with its value, as the file would say it."""
        found = {
            "theme": f'"{self.theme}"',
            "mouse": "true" if self.mouse else "false",
            "ascii": f'"{self.ascii}"',
            "zone": f'"{self.zone}"',
        }
        found |= {f"pace.{key}": f"{getattr(self.pace, key):g}" for key in PACE}
        return found | {f'keymap."{verb}"': f'"{keys}"' for verb, keys in self.keymap.items()}


def variable(key: str) -> str:
    """The variable that overrides a key: `pace.gpu_s` has SPEC_CONSOLE_PACE_GPU_S."""
    return "SPEC_CONSOLE_" + re.sub(r"\W", "_", key).upper()


def number_of(text: str) -> float | None:
    """The number a text says, whole when it has no point; None for anything else."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return None


def wrong_pace(key: str, value: object) -> str:
    """Why a value does not fit a key of [pace]; empty when it does."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "a number was expected"
    if not key.endswith("_s"):
        return "" if isinstance(value, int) and 1 <= value <= 1000 else "1 to 1000 was expected"
    if not LEAST_S <= value <= MOST_S:
        return f"{value:g} is outside {LEAST_S:g} to {MOST_S:g} seconds"
    return ""
