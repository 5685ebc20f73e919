"""The report of a defect: a file only its owner reads, secrets masked, no control character in it.

Holds the way through the code and never a value of a variable. Whoever stops because of a defect
says where it lies.
"""

from __future__ import annotations

import os
import platform
import sys
import traceback
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from console.model.clock import UTC_NAME, utc_text
from console.model.mask import Masks
from console.model.text import clean, plain
from console.model.version import written_version
from console.store import whole
from console.store.folders import state_folder

MOST_LINES = 2000


def write_report(error: BaseException, masks: Masks, moment: datetime) -> Path:
    """Write the report of a defect into the state folder; where it lies.

    Raises:
        OSError: it cannot be written.
    """
    name = f"crash-{moment.strftime(UTC_NAME)}-{os.getpid()}.txt"
    path = state_folder() / name
    whole.create(path, (f"{shown(line, masks)}\n".encode() for line in _lines(error, moment)))
    return path


def told(error: BaseException, masks: Masks, moment: datetime) -> str:
    """What a person is told of a defect, in one line: what it was and where its report lies."""
    what = shown(f"{type(error).__name__}: {error}".partition("\n")[0], masks)
    try:
        where = f"report: {write_report(error, masks, moment)}"
    except OSError as wrong:
        where = f"no report could be written: {(wrong.strerror or str(wrong)).lower()}"
    return f"stopped because of a defect: {what}; {where}"


def shown(text: str, masks: Masks) -> str:
    """One line of it: secrets masked, nothing in it that a terminal would act on."""
    return plain(clean(text, masks))


def _lines(error: BaseException, moment: datetime) -> Iterator[str]:
    yield f"spec-console {written_version()} stopped because of a defect at {utc_text(moment)}"
    yield f"Python {platform.python_version()} on {platform.platform()}"
    yield f"TERM {os.environ.get('TERM', 'unset')}"
    yield f"arguments: {' '.join(sys.argv[1:]) or 'none'}"
    yield ""
    told = "".join(traceback.format_exception(error)).splitlines()
    yield from told[:MOST_LINES]
    if len(told) > MOST_LINES:
        yield f"{len(told) - MOST_LINES:,} more lines left out"
