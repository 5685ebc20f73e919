"""What a step was given, as its event keeps it: words a script would say again.

Variables are filled in, for a session knows none; references to other steps and to the run stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from console.control.arguments import Step
from console.control.port import Argument
from console.control.step_guard import GUARD
from console.model.mask import Masks
from console.model.text import clean
from console.model.verb import REFERENCE, Kind
from console.model.verbs import VERBS
from console.stream.fact import Pairs


def recorded(step: Step, variables: Mapping[str, str | int | float], masks: Masks) -> Pairs:
    """Names and values; each of several conditions has a number behind its name."""

    def filled(text: str) -> str:
        return REFERENCE.sub(
            lambda found: (
                str(variables[found[2]])
                if found[1] == "vars" and found[2] in variables
                else found[0]
            ),
            text,
        )

    return tuple((clean(name, masks), clean(filled(value), masks)) for name, value in _words(step))


def _words(step: Step) -> Iterator[tuple[str, str]]:
    yield from words(step.verb, step.arguments)
    yield from _numbered("when", [condition.text for condition in step.when])
    yield "timeout", f"{step.timeout_s:g}s"
    if step.always:
        yield "always", "true"


def words(verb: str, arguments: Mapping[str, Argument]) -> Iterator[tuple[str, str]]:
    """The arguments of a verb as texts; what is no field of it in a script is left out."""
    fields = {field.name: field.kind for field in VERBS[verb].script or ()}
    for name, value in arguments.items():
        match fields.get(name):
            case None if name.startswith(f"{GUARD}."):
                yield name, str(value)
            case None:
                continue
            case Kind.CONDITIONS:
                yield from _numbered(name, value)
            case Kind.DURATION:
                yield name, f"{value:g}s"
            case _:
                yield name, str(value)


def _numbered(name: str, texts: Argument) -> Iterator[tuple[str, str]]:
    assert not isinstance(texts, str | int | float)
    for number, text in enumerate(texts, 1):
        yield f"{name}.{number}", text
