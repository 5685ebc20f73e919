from __future__ import annotations

from itertools import pairwise

import pytest

from console.model.mask import Masks
from console.model.span import plain_text
from console.model.text import Clean, clean, plain
from console.render.opened import opened
from console.render.reading import (
    ACCESS,
    NOISE,
    POLLS,
    PRESETS,
    figures,
    gravity,
    is_noise,
    stamp_s,
    zoned,
)

MASKS = Masks()
POLL = Clean('INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK')
SERVED = Clean('INFO:     10.0.0.9:5 - "POST /v1/completions HTTP/1.1" 200 OK')
REFUSED = Clean('INFO:     10.0.0.9:5 - "GET /v1/models HTTP/1.1" 401 Unauthorized')
DECODE = Clean(
    "[2026-02-24 17:05:01 TP0] Decode batch. #running-req: 1, #token: 900, token usage: 0.00, "
    "cuda graph: True, gen throughput (token/s): 62.90, #queue-req: 0"
)


def test_presets_hide_more_and_more() -> None:
    sets = [hidden for _, hidden in PRESETS]
    assert all(less < more for less, more in pairwise(sets))
    assert [is_noise(POLL, hidden) for hidden in sets] == [False, True, True, True]
    assert [is_noise(SERVED, hidden) for hidden in sets] == [False, False, True, True]
    assert [is_noise(Clean("  "), hidden) for hidden in sets] == [False, False, False, True]
    assert is_noise(Clean("host:1:2 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>"), NOISE)


def test_a_refused_request_and_a_decode_line_are_never_noise() -> None:
    for hidden in (POLLS, ACCESS, NOISE):
        assert not is_noise(REFUSED, hidden)
        assert not is_noise(DECODE, hidden)


def test_how_grave_a_line_is() -> None:
    assert gravity(DECODE) == "info"
    assert gravity(
        Clean("[2026-02-24 17:05:01 TP5] torch.OutOfMemoryError: CUDA out of memory.")
    ) == ("error")
    assert gravity(Clean("(EngineCore pid=7) WARNING 02-24 17:05:01 [a.py:1] slow")) == "warning"
    assert gravity(Clean("")) == "info"


def test_stamps_are_seconds_and_say_whether_they_have_a_zone() -> None:
    first, later = stamp_s(DECODE), stamp_s(DECODE.replace("05:01", "06:02"))
    assert first is not None
    assert later is not None
    assert later - first == 61
    assert not zoned(DECODE)
    assert stamp_s("2026-02-24T17:05:01Z x") == first
    assert zoned("2026-02-24T17:05:01.123Z x")
    assert stamp_s("hello") is None


def test_an_opened_line_has_fields_meaning_and_remedy() -> None:
    line = clean(
        "[2026-02-24 17:05:01 TP5] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
        "738.00 MiB. GPU 5 has a total capacity of 23.99 GiB of which 61.19 MiB is free.",
        MASKS,
    )
    shown = "\n".join(plain_text(spans) for spans in opened(41, 65_000_000, "17:05:01 UTC", line))
    assert "Line 41 " in shown
    assert "came in at     00:01:05 of the session, 17:05:01 UTC" in shown
    assert "rank           TP5" in shown
    assert "CUDA out of memory on GPU 5 / TP5: wanted 738 MiB, 61.19 MiB free" in shown
    assert (
        "means          a GPU had no memory left for an allocation; the server ends by it" in shown
    )
    assert "remedy         See who else holds memory on that GPU first" in shown
    assert plain(line) in shown


def test_an_opened_decode_line_shows_every_field_it_carries() -> None:
    shown = [plain_text(spans) for spans in opened(1, 0, "", DECODE)]
    assert "running        1" in shown
    assert "tok/s          62.9" in shown
    assert not any(line.startswith("accept") for line in shown)


def test_an_opened_rate_is_called_unreliable_after_a_pause() -> None:
    def decode(at: str, rate: float) -> Clean:
        text = f"[2026-02-24 17:{at} TP0] Decode batch. #running-req: 1, #token: 9, "
        text += "token usage: 0.00, cuda graph: True, gen throughput (token/s): "
        return clean(f"{text}{rate}, #queue-req: 0", MASKS)

    before = [decode(f"05:{second:02}", 62.9) for second in range(0, 40, 2)]

    def told(line: Clean, before: list[Clean]) -> list[str]:
        shown = [plain_text(spans) for spans in opened(1, 0, "", line, before=before)]
        return [line for line in shown if line.startswith("rate ")]

    assert told(decode("05:40", 63.0), before) == []
    assert told(decode("06:20", 3.1), before) == [
        "rate           3.1 tok/s is unreliable: follows a pause of 42 s"
    ]
    assert told(decode("06:20", 3.1), []) == [
        "rate           3.1 tok/s is unreliable: first line seen"
    ]


def test_an_opened_line_shows_what_is_folded_under_it() -> None:
    head = Clean("Traceback (most recent call last):")
    under = [Clean("  File x"), Clean("torch.OutOfMemoryError: CUDA out of memory.")]
    shown = [plain_text(spans) for spans in opened(1, 0, "", head, under)]
    assert shown[-2:] == ["  File x", "torch.OutOfMemoryError: CUDA out of memory."]
    assert any(line.startswith("means ") for line in shown)


def test_a_long_field_goes_on_below_its_beginning() -> None:
    line = Clean("[2026-02-24 17:01:42 TP5] torch.OutOfMemoryError: CUDA out of memory.")
    shown = [plain_text(spans) for spans in opened(1, 0, "", line, room=44)]
    at = next(n for n, row in enumerate(shown) if row.startswith("means "))
    fields = shown[: shown.index("As written")]
    assert shown[at].split(maxsplit=1)[1].startswith("a GPU had no memory")
    assert shown[at + 1].startswith(" " * 15)
    assert shown[at + 1].strip()
    assert max(map(len, fields)) <= 44


def test_written_out_line_ends_are_lines_when_opened() -> None:
    shown = [plain_text(spans) for spans in opened(1, 0, "", Clean(r"GPU 0\nGPU 1"))]
    assert shown[-2:] == ["GPU 0", "GPU 1"]


def test_a_decode_line_comes_to_its_figures() -> None:
    drafted = DECODE.replace("cuda graph", "accept len: 2.33, accept rate: 0.44, cuda graph")
    assert figures(DECODE) == "62.9 tok/s"
    assert figures(Clean(drafted)) == "accept 2.33  62.9 tok/s"
    assert figures(SERVED) == ""
    assert figures(Clean("gen throughput (token/s): 62.94")) == ""


VLLM = (
    "INFO 11-02 10:02:23 [loggers.py:127] Engine 000: Avg prompt throughput: 21.3 tokens/s, Avg"
    " generation throughput: 1,055.1 tokens/s, Running: 14 reqs, Waiting: 3 reqs, GPU KV cache"
    " usage: 97.2%, Prefix cache hit rate: 12.5%"
)
VLLM_DRAFTS = (
    "(APIServer pid=34101) INFO 10-11 08:05:15 [metrics.py:128] SpecDecoding metrics: Mean"
    " acceptance length: 2.54, Accepted throughput: 23.30 tokens/s, Drafted throughput: 45.30"
    " tokens/s, Accepted: 233 tokens, Drafted: 453 tokens, Per-position acceptance rate: 0.762,"
    " 0.503, 0.278, Avg Draft acceptance rate: 51.4%"
)
LLAMA = "0.00.954.430 I slot print_timing: id  0 | task 0 | "
EVAL = (
    "       eval time =     809.33 ms /   300 tokens (    2.71 ms per token,   369.44 tokens per"
    " second)"
)
DRAFTS = "draft acceptance = 0.98881 (  265 accepted /   268 generated), mean len =  8.79"
PROMPT = (
    "prompt eval time =      19.74 ms /     7 tokens (    2.82 ms per token,   354.68 tokens per"
    " second)"
)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (VLLM, "1055.1 tok/s"),
        (VLLM_DRAFTS, "accept 2.54"),
        (LLAMA + EVAL, "369.4 tok/s"),
        (LLAMA + DRAFTS, "accept 8.79"),
        (LLAMA + PROMPT, ""),
    ],
)
def test_other_engines_lines_come_to_theirs(line: str, told: str) -> None:
    assert figures(Clean(line)) == told
