"""A script's outcome as JUnit XML, which every CI reads: a step is a test case.

A failed expectation is a failure, whatever else went wrong an error, a step left out is skipped.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from console.model.exits import MEANINGS, Exit
from console.model.text import plain
from console.plain.ledger import Ended, Entry


def junit(ended: Ended) -> str:
    """The file's text."""
    failures = ended.count(Exit.ASSERTION)
    passed = ended.count(Exit.OK)
    left_out = sum(entry.outcome is None for entry in ended.entries)
    counts = {
        "tests": str(len(ended.entries)),
        "failures": str(failures),
        "errors": str(len(ended.entries) - failures - passed - left_out),
        "skipped": str(left_out),
        "time": _seconds(sum(entry.took_us for entry in ended.entries)),
    }
    suites = Element("testsuites", {"name": "spec-console", **counts})
    suite = SubElement(suites, "testsuite", {"name": ended.name, **counts})
    if ended.utc:
        suite.set("timestamp", ended.utc)
    properties = SubElement(suite, "properties")
    for name, value in (
        ("fleet", ended.fleet),
        ("exit", f"{ended.code.value} {MEANINGS[ended.code]}"),
        ("session", ended.session),
    ):
        SubElement(properties, "property", {"name": name, "value": value})
    for entry in ended.entries:
        _case(suite, ended.name, entry)
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode") + "\n"


def _case(suite: Element, script: str, entry: Entry) -> None:
    case = SubElement(
        suite,
        "testcase",
        {"classname": script, "name": entry.name, "time": _seconds(entry.took_us)},
    )
    if entry.outcome is None:
        SubElement(case, "skipped", {"message": entry.why})
        return
    said = plain(entry.outcome.text)
    if not entry.outcome.ok:
        word = "failure" if entry.outcome.exit is Exit.ASSERTION else "error"
        code = entry.outcome.exit
        kind = {"message": said, "type": f"exit {code.value}: {MEANINGS[code]}"}
        SubElement(case, word, kind).text = said
    lines = [said, *map(plain, entry.outcome.lines)]
    SubElement(case, "system-out").text = "\n".join(line for line in lines if line)


def _seconds(us: int) -> str:
    return f"{us / 1e6:.3f}"
