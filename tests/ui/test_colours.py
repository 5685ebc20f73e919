"""Arms and states are told apart by eyes that lack a cone, in every theme with its own colours.

Every one of them also has a word and a shape; this keeps the colour from contradicting them.
"""

from __future__ import annotations

from itertools import combinations

import pytest

from console.model.palette import Role
from console.store.theme import load_theme, theme_names
from tests.ui.sight import EYES, distance

THEMES = [name for name in theme_names() if not load_theme(name).ansi]
ARMS = (Role.BASELINE, Role.SPECULATIVE)
WORDS = (Role.GOOD, Role.WARNING, Role.ERROR)
STATES = (Role.GENERATING, Role.STARTING, Role.DEGRADED, Role.STALLED)
QUIET = (Role.IDLE, Role.DOWN)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize(
    ("pairs", "least"),
    [
        (list(combinations(ARMS, 2)), 20),
        (list(combinations(WORDS, 2)), 12),
        (list(combinations(STATES, 2)), 10),
        ([(state, quiet) for state in STATES for quiet in QUIET], 10),
    ],
    ids=["arms", "words", "states", "states and quiet"],
)
def test_they_are_told_apart(
    name: str, eyes: str, pairs: list[tuple[Role, Role]], least: float
) -> None:
    pens = load_theme(name).pens
    for one, other in pairs:
        found = distance(pens[one].colour, pens[other].colour, eyes)
        assert found >= least, (one, other, round(found, 1))


def test_the_measure_itself() -> None:
    assert round(distance("#000000", "#ffffff", "all cones")) == 100
    assert distance("#123456", "#123456", "protan") == 0
    assert distance("#d04040", "#707000", "all cones") > 40
    assert distance("#d04040", "#8c7b2c", "deutan") < 15
