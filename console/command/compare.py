"""`spec-console compare A B`: the verdict on two recorded benchmarks, without a screen.

A and B are sessions, or SESSION#NAME with a benchmark, a server or an assumption in it. The words
are those of the screen.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from console.bench.arm import Summary
from console.bench.provenance import show
from console.bench.whatif import FORMS, BadQuestion
from console.control.arms import Chosen, NoArm, choose
from console.control.comparing import Compared, compare
from console.model.exits import Exit
from console.model.fleet import Arm
from console.model.mask import Masks
from console.model.text import plain
from console.session.files import NotASession
from console.session.journal import Journal
from console.stream.state import State

_OTHER = {Arm.BASELINE: Arm.SPECULATIVE, Arm.SPECULATIVE: Arm.BASELINE}


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console compare", allow_abbrev=False)
    parser.add_argument("baseline", metavar="A", help="SESSION or SESSION#NAME")
    parser.add_argument("speculative", metavar="B", help="SESSION or SESSION#NAME")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object")
    form.add_argument("--markdown", action="store_true", help="a section for a page")
    parser.add_argument(
        "--what-if", action="append", default=[], metavar="NAME=NUMBER",
        help="a projection, repeatable: " + "; ".join(f"{k}: {v}" for k, v in FORMS.items()),
    )  # fmt: skip
    options = parser.parse_args(argv)
    try:
        baseline, ours = _side(options.baseline, Arm.BASELINE)
        speculative, theirs = _side(options.speculative, Arm.SPECULATIVE)
    except (NotASession, NoArm) as error:
        print(f"spec-console: {error}", file=sys.stderr)
        return Exit.USAGE
    both = replace(ours, assumptions={**ours.assumptions, **theirs.assumptions})
    try:
        found = compare(baseline, speculative, both, Masks(), " ".join(options.what_if))
    except BadQuestion as error:
        print(f"spec-console: {error}", file=sys.stderr)
        return Exit.USAGE
    if options.json:
        print(json.dumps(as_json(found)))
    else:
        for line in markdown(found) if options.markdown else text_lines(found):
            print(line)
    return Exit.OK if found.verdict.word.decided else Exit.ASSERTION


def _side(name: str, side: Arm) -> tuple[Chosen, State]:
    """The arm a name on the command line means, and the State it is of."""
    path, arm = name, ""
    if "#" in name and not Path(name).is_file():
        path, _, arm = name.rpartition("#")
    journal = Journal(path)
    state = journal.state_before(len(journal.index))
    try:
        return choose(state, arm, side), state
    except NoArm as error:
        if not arm:
            try:
                return choose(state, "", _OTHER[side]), state
            except NoArm:
                raise NoArm(f"{path}: no benchmark in it") from error
        raise NoArm(f"{path}: {error}") from error


def text_lines(found: Compared) -> list[str]:
    """The verdict in its own words."""
    return [plain(found.event.text), *(plain(line) for line in found.event.reasons)]


def markdown(found: Compared) -> list[str]:
    """The same as a section, with both arms in a table."""
    head, *rest = text_lines(found)
    lines = [f"## {_escaped(head)}", ""]
    lines += ["| arm | runs | decode tok/s | 95 % interval | TTFT ms | tokens a pass |"]
    lines += ["|---|---|---|---|---|---|"]
    for side in (found.verdict.baseline, found.verdict.speculative):
        if side is not None:
            rate, length = side.rate, side.acceptance_length
            accepted = "–" if length is None else f"{length:.2f}"
            cells = (
                _escaped(side.name), str(side.runs), f"{rate.mid:.1f}",
                f"{rate.low:.1f} – {rate.high:.1f}", f"{side.ttft_ms:.0f}", accepted,
            )  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", *(f"- {_escaped(line)}" for line in rest)]


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in text)


def as_json(found: Compared) -> dict[str, object]:
    """The same for a program."""
    verdict = found.verdict
    ratio = verdict.ratio
    return {
        "verdict": verdict.word.value,
        "lines": text_lines(found),
        "ratio": None if ratio is None else [ratio.mid, ratio.low, ratio.high],
        "p": verdict.p,
        "baseline": _summary(verdict.baseline),
        "speculative": _summary(verdict.speculative),
        "differences": [
            {
                "group": d.group,
                "key": d.key,
                "baseline": show(d.baseline),
                "speculative": show(d.speculative),
                "severity": d.severity.value,
                "why": d.why,
            }
            for d in verdict.differences
        ],
    }


def _summary(side: Summary | None) -> dict[str, object] | None:
    if side is None:
        return None
    return {
        "name": side.name,
        "runs": side.runs,
        "launches": side.launches,
        "prompts": side.prompts,
        "decode_tok_s": [side.rate.mid, side.rate.low, side.rate.high],
        "pooled_tok_s": side.pooled_tok_s,
        "ttft_ms": side.ttft_ms,
        "depth_tokens": side.depth_tokens,
        "acceptance_length": side.acceptance_length,
        "cycle_ms": side.cycle_ms,
    }
