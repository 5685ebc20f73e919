"""The verb `plan`: which variables a document asks for, a file here or one of a host.

Nothing that stands in a document is run. A host is only read, and within bounds; where several of
its files set variables, a person or a script has to name one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from console.control.environments import ALL, as_text
from console.control.port import Argument, Outcome
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.mask import Masks
from console.model.text import clean
from console.nccl.finding import Severity
from console.nccl.importing.found import Imported, conflicts
from console.nccl.importing.read import import_source
from console.nccl.review import review

if TYPE_CHECKING:
    from console.services.live import Watch

MOST_BYTES = 32 * 1024 * 1024
_ON_HOST = re.compile(r"([^/:]+):(/.*)", re.DOTALL)


async def plan_read(watch: Watch, given: Mapping[str, Argument], masks: Masks) -> Outcome:
    """As `plan_outcome`; `HOST:/PATH` is a file of a host of the fleet, or a folder of one.

    Of a folder in which several files set variables the outcome's lines say which, those that set
    most first: the place, two spaces, the names.
    """
    file = str(given.get("file", ""))
    place = _ON_HOST.fullmatch(file)
    if place is None or place[1] not in {host.name for host in watch.fleet.hosts}:
        return plan_outcome(given, masks)
    from console.services.settings_files import Bounds, find_settings

    host, path = place.groups()
    try:
        files = await find_settings(watch.wire(host), path, Bounds(), str(given.get("format", "")))
    except WireError as error:
        return Outcome(error.kind.exit, clean(f"{host}: {error.told}", masks))
    except ValueError as error:
        return Outcome(Exit.STEP, clean(str(error), masks))
    found = [one for one in files.imported if _values(one, given)]
    found.sort(key=lambda one: -len(_values(one, given)))
    if len(found) == 1:
        return _judged(found[0], f"{host}:{found[0].file}", given, masks)
    if not found:
        told = "; ".join((_nothing(file, given), *files.troubles))
        return Outcome(Exit.STEP, clean(told, masks))
    lines = [clean(f"{host}:{one.file}  {', '.join(_values(one, given))}", masks) for one in found]
    told = f"{len(found)} files set variables there: name one of them"
    return Outcome(Exit.STEP, clean(told, masks), lines=lines)


def plan_outcome(given: Mapping[str, Argument], masks: Masks) -> Outcome:
    """The variables a file here asks for; refused where it contradicts itself or NCCL."""
    path = Path(str(given.get("file", "")))
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES)
        imported = import_source(data, str(path), str(given.get("format", "")))
    except OSError as error:
        return Outcome(Exit.STEP, clean(f"{path}: {(error.strerror or '').lower()}", masks))
    except ValueError as error:
        return Outcome(Exit.STEP, clean(str(error), masks))
    return _judged(imported, str(path), given, masks)


def _judged(imported: Imported, place: str, given: Mapping[str, Argument], masks: Masks) -> Outcome:
    values = _values(imported, given)
    results: dict[str, str | int | float] = {"env": as_text(values), "count": len(values)}
    open_ones = [one for one in conflicts(imported) if one.winner is None and one.name in values]
    if open_ones:
        first = open_ones[0]
        places = ", ".join(str(line) for line in first.lines)
        said = f"{place}: {first.name} is set to {' and '.join(first.values)} (lines {places})"
        return Outcome(Exit.STEP, clean(said, masks), results)
    errors = [
        one
        for one in review(imported)
        if one.severity is Severity.ERROR and set(one.names) & {*values}
    ]
    results["errors"] = len(errors)
    if errors:
        said = f"{place}: {', '.join(errors[0].names)}: {errors[0].why}"
        return Outcome(Exit.ASSERTION, clean(said, masks), results)
    if not values:
        return Outcome(Exit.STEP, clean(_nothing(place, given), masks))
    lines = [clean(f"{name}={value}", masks) for name, value in values.items()]
    return Outcome(Exit.OK, clean(f"{len(values)} variables from {place}", masks), results, lines)


def _values(imported: Imported, given: Mapping[str, Argument]) -> dict[str, str]:
    pattern = str(given.get("match", ALL))
    return {n: v for n, v in imported.values().items() if fnmatchcase(n, pattern)}


def _nothing(place: str, given: Mapping[str, Argument]) -> str:
    return f"{place}: no variable {given.get('match', ALL)} is set there"
