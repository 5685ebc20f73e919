"""Pretend tokens: how prompts are counted and what the simulated model says.

Not a tokenizer of any model. The same prompt always gives the same tokens, so that prefix caching
and greedy decoding look as they should.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator

_PIECE = re.compile(r"\s?\w{1,6}|\s?[^\w\s]|\s+")
_WORDS = re.findall(
    r"\S+",
    "the lab speaks in plain words that mean little and cost no GPU each token comes when its "
    "step is done so a clock sees what a clock would see on a real box with eight cards a draft "
    "guesses a few tokens ahead and the target checks them all at once what it keeps is kept "
    "what it drops is drawn again from one seed",
)
VOCABULARY = 163_840


def encode(text: str) -> list[int]:
    """Token ids of a prompt."""
    return [zlib.crc32(piece.encode()) % VOCABULARY for piece in _PIECE.findall(text)]


def reply(prompt: str) -> Iterator[tuple[int, str]]:
    """Id and text of each token of the answer to a prompt, without end."""
    pick = random.Random(f"reply/{prompt}")
    for word in ("(", "simulated", ")"):
        yield zlib.crc32(word.encode()) % VOCABULARY, word
    while True:
        word = " " + pick.choice(_WORDS)
        yield zlib.crc32(word.encode()) % VOCABULARY, word
