"""Prompt sets: those that come along, people's own, and what is refused."""

from __future__ import annotations

import json
import random

import pytest

from console.bench.promptset import (
    DEPTHS,
    KINDS,
    Kind,
    Prompt,
    PromptSet,
    Unreadable,
    at_depth,
    fixed,
    fresh,
    read_jsonl,
    unfit_for_speculation,
)

DIGESTS = {
    "chat": "1cbbbbc5690bea23",
    "code": "73f94c693a2a7423",
    "maths": "7446a9ca43dcf010",
    "long-form": "3a8fa5914de6e2aa",
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_fixed_sets(kind: Kind) -> None:
    found = fixed(kind)
    assert len(found.prompts) == 5
    assert len({prompt.name for prompt in found.prompts}) == 5
    assert {prompt.kind for prompt in found.prompts} == {kind}
    assert all(isinstance(p.text, str) and len(p.text) > 200 for p in found.prompts)
    assert unfit_for_speculation(found.prompts) is None


def test_a_fixed_set_is_fixed() -> None:
    """Results of earlier sessions stay comparable only while the texts stay."""
    assert {kind: fixed(kind).digest() for kind in KINDS} == DIGESTS


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"text": "a b"}, "a b"),
        ({"prompt": "a b", "kind": "x"}, "a b"),
        ({"question": "q?"}, "q?"),
        ({"turns": ["first", "second"]}, "first"),
        ({"messages": [{"role": "user", "content": "hello"}]}, "hello"),
        ({"prompt": [5, 6, 7]}, (5, 6, 7)),
    ],
)
def test_own_files(row: dict[str, object], text: object) -> None:
    found = read_jsonl(json.dumps(row) + "\n\n", "mine")
    assert isinstance(found, PromptSet)
    assert [prompt.text for prompt in found.prompts] == [text]
    assert found.prompts[0].name == "mine-1"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 0, "no prompts in it"),
        ('{"text": "a"}\n{"text', 2, "not JSON"),
        ('{"text": "  "}', 1, "no prompt"),
        ("[1]", 1, "no prompt"),
        ('{"prompt": [1, true]}', 1, "no prompt"),
    ],
)
def test_files_that_cannot_be_used_say_where(text: str, line: int, why: str) -> None:
    found = read_jsonl(text, "mine")
    assert isinstance(found, Unreadable)
    assert found.line == line
    assert found.why.startswith(why)


def test_a_digest_depends_on_texts_and_order() -> None:
    one, two = Prompt("a", "k", "x"), Prompt("b", "k", "y")
    digests = {PromptSet("s", order).digest() for order in ((one, two), (two, one), (one,))}
    assert len(digests) == 3
    assert PromptSet("s", (one,)).digest() == PromptSet("t", (Prompt("c", "z", "x"),)).digest()


def scrambled() -> str:
    draw = random.Random(1)
    ranges = ((0x61, 26), (0x430, 32), (0x4E00, 900), (0x5D0, 22), (0xE01, 40), (0x3B1, 24))
    pieces = []
    for _ in range(200):
        start, size = draw.choice(ranges)
        pieces.append("".join(chr(start + draw.randrange(size)) for _ in range(3)))
    return "".join(pieces)


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        (Prompt("p", "chat", (1, 2)), "p is token ids"),
        (Prompt("p", "Random-512", "a b"), "p is declared random"),
        (Prompt("p", "chat", scrambled()), "p looks like random tokens"),
    ],
)
def test_random_tokens_are_refused(prompt: Prompt, why: str) -> None:
    found = unfit_for_speculation([prompt])
    assert found is not None
    assert found.startswith(why)


@pytest.mark.parametrize(
    "text",
    [
        "Übersetze bitte „Спасибо“ und „ありがとう“ ins Deutsche und erkläre die Herkunft. " * 3,
        "東京タワーについて、歴史と観光情報をカタカナとひらがなで詳しく説明してください。" * 3,
        "Найди корень уравнения x² + αx = 5 и объясни каждый шаг решения подробно. " * 3,
    ],
)
def test_many_languages_are_not_random(text: str) -> None:
    assert unfit_for_speculation([Prompt("p", "chat", text)]) is None


@pytest.mark.parametrize("tokens", DEPTHS.values())
def test_depth_is_filled_with_prose_and_ends_in_the_prompt(tokens: int) -> None:
    text = at_depth("Tell me a story.", tokens)
    assert text == at_depth("Tell me a story.", tokens)
    assert text.endswith("Tell me a story.")
    assert len(text) == pytest.approx(tokens * 4.2, rel=0.1)
    sentences = text.split(". ")
    assert len(sentences) == len(set(sentences))


def test_each_turn_of_a_prompt_begins_with_words_of_its_own() -> None:
    prompt = Prompt("p", "chat", "Hi")
    assert fresh(prompt, "note 3") == Prompt("p", "chat", "[note 3] Hi")
    ids = Prompt("p", "chat", (1, 2, 3))
    assert fresh(ids, "note 3") == ids
