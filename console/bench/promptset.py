"""The prompts: fixed sets by kind, people's own JSONL, filler for context depth.

Acceptance is a property of model, draft and prompt together, so a set is named and hashed and goes
into the circumstances. Random tokens must never reach a speculative arm: nothing can be drafted.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import pairwise
from typing import Literal, get_args

Kind = Literal["chat", "code", "maths", "long-form"]
KINDS: tuple[Kind, ...] = get_args(Kind)

DEPTHS = {"0.5k": 512, "8k": 8192, "32k": 32768}
CHARACTERS_PER_TOKEN = 4.2
SCRIPTS_OF_ONE_TEXT = 3
SWITCHES_OF_ONE_TEXT = 0.15
TEXT_KEYS = ("text", "prompt", "question", "turns", "messages")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt: a text, or token ids as given."""

    name: str
    kind: str
    text: str | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts in their fixed order under one name."""

    name: str
    prompts: tuple[Prompt, ...]

    def digest(self) -> str:
        """First 16 hex digits of SHA-256 over all texts in order, as they are sent first."""
        texts = json.dumps([fresh(prompt, "note 1").text for prompt in self.prompts])
        return hashlib.sha256(texts.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A prompt file that cannot be used: line (1-based, 0 for the whole file) and why."""

    line: int
    why: str


def fixed(kind: Kind) -> PromptSet:
    """The set of this kind that comes with the console."""
    raw = files("console.bench").joinpath("prompts", f"{kind}.jsonl").read_text("utf-8")
    found = read_jsonl(raw, kind)
    assert isinstance(found, PromptSet)
    return found


def read_jsonl(text: str, name: str) -> PromptSet | Unreadable:
    """One JSON object a line. The prompt is in `text`, `prompt`, `question`, `turns` (its first)
    or `messages` (its first), and may be a list of token ids; `id` and `kind` are optional."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            return Unreadable(number, f"not JSON: {error}")
        prompt = _prompt(row) if isinstance(row, dict) else None
        if prompt is None:
            return Unreadable(number, f"no prompt: none of {', '.join(TEXT_KEYS)} holds a text")
        found.append(
            Prompt(str(row.get("id", f"{name}-{number}")), str(row.get("kind", name)), prompt)
        )
    return PromptSet(name, tuple(found)) if found else Unreadable(0, "no prompts in it")


def _prompt(row: dict[str, object]) -> str | tuple[int, ...] | None:
    for key in TEXT_KEYS:
        match row.get(key):
            case str(text) if text.strip():
                return text
            case [str(text), *_] if text.strip():
                return text
            case [{"content": str(text)}, *_] if text.strip():
                return text
            case [_, *_] as ids:
                whole = tuple(i for i in ids if isinstance(i, int) and not isinstance(i, bool))
                if len(whole) == len(ids):
                    return whole
    return None


def unfit_for_speculation(prompts: Sequence[Prompt]) -> str | None:
    """Why these prompts may not go to a speculative arm, or None.

    Token ids and what is declared random are refused; so is text in which words change between
    three or more scripts, as decoded random ids of a multilingual vocabulary do. Random English
    words pass: no rule without a tokenizer tells them from a list of words.
    """
    for prompt in prompts:
        if not isinstance(prompt.text, str):
            return f"{prompt.name} is token ids: acceptance on them means nothing"
        if "random" in prompt.kind.lower():
            return f"{prompt.name} is declared random: acceptance on it means nothing"
        if _scrambled(prompt.text):
            return f"{prompt.name} looks like random tokens: acceptance on it means nothing"
    return None


def _scrambled(text: str) -> bool:
    scripts = [_script(c) for c in text if c.isalpha()]
    if len(scripts) < 20:
        return False
    switches = sum(1 for a, b in pairwise(scripts) if a != b)
    many = len(set(scripts)) > SCRIPTS_OF_ONE_TEXT
    return many and switches / len(scripts) > SWITCHES_OF_ONE_TEXT


def _script(character: str) -> str:
    """First word of the character's Unicode name: LATIN, CYRILLIC, CJK; Japanese is one."""
    word = unicodedata.name(character, "?").split(" ")[0]
    return "CJK" if word in {"HIRAGANA", "KATAKANA", "CJK"} else word


SUBJECTS = ("warden", "miller", "surveyor", "teacher", "ferryman", "gardener", "printer")
DEEDS = ("counted", "repaired", "described", "carried", "exchanged", "measured", "forgot")
THINGS = ("lanterns", "letters", "barrels of salt", "maps", "clay tiles", "ropes", "seed bags")
PLACES = ("the northern gate", "the old mill", "the harbour", "the school", "the upper meadow")


def at_depth(text: str, depth_tokens: int) -> str:
    """The prompt at the end of deterministic filler of about `depth_tokens` tokens in all.

    Plain prose that never repeats a sentence; how many tokens it really is, the server says.
    """
    room = int(depth_tokens * CHARACTERS_PER_TOKEN) - len(text)
    parts, size, number = [], 0, 0
    while size < room:
        parts.append(_sentence(number))
        size += len(parts[-1]) + 1
        number += 1
    if not parts:
        return text
    filler = " ".join(parts)
    return f"These are notes from an archive.\n\n{filler}\n\nNow, apart from the notes: {text}"


def fresh(prompt: Prompt, nonce: str) -> Prompt:
    """The prompt led by what no request before it began with, so that no prefix cache holds it and
    TTFT is that of a whole prefill. Both arms are given the same. Token ids stay as they are."""
    if not isinstance(prompt.text, str):
        return prompt
    return replace(prompt, text=f"[{nonce}] {prompt.text}")


def _sentence(number: int) -> str:
    subject = SUBJECTS[number % len(SUBJECTS)]
    deed = DEEDS[number // 3 % len(DEEDS)]
    thing = THINGS[number // 5 % len(THINGS)]
    place = PLACES[number // 2 % len(PLACES)]
    return f"On day {number + 1} the {subject} {deed} {number * 7 % 90 + 3} {thing} at {place}."
