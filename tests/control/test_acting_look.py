"""What is shown before an act: command lines without their secrets."""

from __future__ import annotations

from console.control.acting_look import shown_words
from console.model.mask import MASKED, Masks


def test_the_word_after_a_secrets_option_is_masked_and_learned() -> None:
    masks = Masks()
    words = ("serve", "--api-key", "sk-0123456789abcdef", "--port", "8000", "--hf-token", "short")
    assert shown_words(words, masks) == (
        "serve", "--api-key", MASKED, "--port", "8000", "--hf-token", MASKED,
    )  # fmt: skip
    assert masks.mask("key sk-0123456789abcdef") == f"key {MASKED}"
    plain = ("--tokenizer-path", "/models/kimi", "--max-total-tokens", "4096")
    assert shown_words(plain, masks) == plain
