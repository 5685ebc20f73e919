"""Every variant of the decode and prefill lines, torn, interleaved and glued; and any text."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from console.engines.facts import (
    AccessSeen,
    ArgsSeen,
    BarSeen,
    DecodeSeen,
    FailureSeen,
    PhaseSeen,
    PrefillSeen,
    StartupTimesSeen,
)
from console.engines.grammar import general, parse_line
from console.engines.line import Line
from console.engines.severity import noise, severity
from tests.engines.observing import CAPTURES, observe

D1 = (
    "[2025-01-10 09:00:01 TP0] Decode batch. #running-req: 1, #token: 812, token usage: 0.01,"
    " gen throughput (token/s): 71.20, #queue-req: 0"
)
D1S = (
    "[2025-02-20 09:00:01 TP0] Decode batch. #running-req: 1, #token: 812, token usage: 0.01,"
    " accept len: 2.41, gen throughput (token/s): 133.70, #queue-req: 0"
)
D1X = (
    "[2025-03-20 09:00:01 TP0] Decode batch. #running-req: 4, #token: 3120, token usage: 0.02,"
    " accept len: 2.10, gen throughput (token/s): 210.45, largest-len: 0, #queue-req: 0, "
)
D2 = (
    "[2025-04-08 09:00:01 TP0] Decode batch. #running-req: 1, #token: 640, token usage: 0.00,"
    " gen throughput (token/s): 69.02, #queue-req: 0, "
)
D3 = (
    "[2025-05-30 09:00:01 TP0] Decode batch. #running-req: 1, #token: 955, token usage: 0.01,"
    " accept len: 2.88, cuda graph: True, gen throughput (token/s): 151.33, #queue-req: 0"
)
D4 = (
    "[2025-09-12 09:00:01 TP0] Decode batch. #running-req: 2, #full token: 1500, full token usage:"
    " 0.02, #swa token: 700, swa token usage: 0.05, accept len: 3.02, cuda graph: True, gen"
    " throughput (token/s): 262.90, #queue-req: 0, "
)
D5 = (
    "[2025-12-01 09:00:01 TP0] Decode batch [4120], #running-req: 1, #token: 1180, token usage:"
    " 0.01, accept len: 3.10, accept rate: 0.78, cuda graph: True, gen throughput (token/s):"
    " 188.61, #queue-req: 0, "
)
D6 = (
    "[2026-03-02 09:00:01 DP0 TP0 EP0] Decode batch, #running-req: 1, #token: 1180, token usage:"
    " 0.01, accept len: 3.10, accept rate: 0.70, cuda graph: True, gen throughput (token/s):"
    " 190.44, #queue-req: 0"
)
D8 = (
    "[2026-10-20 09:00:01.120] Decode batch, #running-req: 1, #token: 1180, token usage: 0.01,"
    " accept len: 3.10, block accept len: 2.90, accept rate: 0.70, cap len: 4.00, pre-allocated"
    " usage: 0.00, #prealloc-req: 0, #transfer-req: 0, #retracted-req: 0, musa graph: False, gen"
    " throughput (token/s): 190.44, #queue-req: 0, est. decode TFLOPS/s (per GPU): 1.25"
)
P1 = (
    "[2025-01-10 09:00:00 TP0] Prefill batch. #new-seq: 1, #new-token: 211, #cached-token: 64,"
    " cache hit rate: 12.40%, token usage: 0.00, #running-req: 0, #queue-req: 0"
)
P4 = (
    "[2025-09-12 09:00:00 TP0] Prefill batch. #new-seq: 1, #new-token: 211, #cached-token: 64,"
    " token usage: 0.00, #running-req: 0, #queue-req: 0, "
)
P6 = (
    "[2026-02-20 09:00:00 TP0] Prefill batch, #new-seq: 1, #new-token: 211, #cached-token: 64,"
    " token usage: 0.00, #running-req: 0, #queue-req: 0, input throughput (token/s): 940.12,"
    " cuda graph: False"
)
P7 = (
    "[2026-10-20 09:00:00 TP0] Prefill batch [7], #new-seq: 1, #new-token: 211, #cached-token: 64,"
    " token usage: 0.00, #running-req: 0, #queue-req: 0, #pending-token: 9, cuda graph: False,"
    " input throughput (token/s): 940.12"
)


def decoded(text: str) -> DecodeSeen:
    (line,) = parse_line(text)
    assert isinstance(line.fact, DecodeSeen)
    return line.fact


def prefilled(text: str) -> PrefillSeen:
    (line,) = parse_line(text)
    assert isinstance(line.fact, PrefillSeen)
    return line.fact


def test_decode_lines_of_every_version() -> None:
    assert decoded(D1) == DecodeSeen(1, 812, 0.01, None, None, 71.2, 0, None)
    assert decoded(D1S) == DecodeSeen(1, 812, 0.01, 2.41, None, 133.7, 0, None)
    assert decoded(D1X) == DecodeSeen(
        4, 3120, 0.02, 2.1, None, 210.45, 0, None, more=(("largest-len", "0"),)
    )
    assert decoded(D2) == DecodeSeen(1, 640, 0.0, None, None, 69.02, 0, None)
    assert decoded(D3) == DecodeSeen(1, 955, 0.01, 2.88, None, 151.33, 0, True)
    hybrid = decoded(D4)
    assert (hybrid.tokens, hybrid.usage, hybrid.tok_s) == (1500, 0.02, 262.9)
    assert dict(hybrid.more)["swa token usage"] == "0.05"
    assert decoded(D5) == DecodeSeen(1, 1180, 0.01, 3.1, 0.78, 188.61, 0, True, 4120)
    assert decoded(D6) == DecodeSeen(1, 1180, 0.01, 3.1, 0.7, 190.44, 0, True)
    newest = decoded(D8)
    assert (newest.accept_len, newest.accept_rate, newest.graph) == (3.1, 0.7, False)
    assert dict(newest.more)["block accept len"] == "2.90"
    assert dict(newest.more)["est. decode TFLOPS/s (per GPU)"] == "1.25"


def test_prefill_lines_of_every_version() -> None:
    assert prefilled(P1) == PrefillSeen(1, 211, 64, 0.0, 0, 0, hit_rate=12.4 / 100)
    assert prefilled(P4) == PrefillSeen(1, 211, 64, 0.0, 0, 0)
    assert prefilled(P6) == PrefillSeen(1, 211, 64, 0.0, 0, 0, graph=False, tok_s=940.12)
    assert prefilled(P7) == PrefillSeen(1, 211, 64, 0.0, 0, 0, 9, None, False, 940.12, 7)


def test_heads_keep_stamp_and_ranks_as_written() -> None:
    (line,) = parse_line(D6)
    assert (line.head.at, line.head.ranks, line.head.style) == (
        "2026-03-02 09:00:01",
        "DP0 TP0 EP0",
        "sglang",
    )
    assert line.text.startswith("Decode batch, #running-req: 1")


NUMBER = st.integers(0, 10**7).map(str)
DECIMAL = st.integers(0, 10**8).map(lambda n: f"{n / 100:.2f}")
DIMENSIONS = ("DP", "PP", "TP", "EP", "ATTN_CP", "MOE_DP")
RANKS = st.lists(st.tuples(st.sampled_from(DIMENSIONS), st.integers(0, 99)), max_size=4).map(
    lambda found: tuple(f" {name}{n}" for name, n in found)
)


@st.composite
def decode_lines(draw: st.DrawFn) -> tuple[str, DecodeSeen, str]:
    """A decode line of any variant, with its fact and rank words."""
    ranks = "".join(draw(RANKS))
    ms = draw(st.sampled_from(["", ".123"]))
    mark = draw(st.sampled_from([".", ",", " [77],"]))
    running, tokens, queue = draw(NUMBER), draw(NUMBER), draw(NUMBER)
    usage, speed = draw(DECIMAL), draw(DECIMAL)
    length, rate = draw(st.none() | DECIMAL), draw(st.none() | DECIMAL)
    graph = draw(st.sampled_from([None, "cuda", "cpu", "npu", "musa"]))
    used, extra = draw(st.booleans()), draw(st.booleans())
    fields = [f"#running-req: {running}", f"#token: {tokens}", f"token usage: {usage}"]
    if extra:
        fields += ["mamba num: 3", "mamba usage: 0.50"]
    if length is not None:
        fields.append(f"accept len: {length}")
    if rate is not None:
        fields.append(f"accept rate: {rate}")
    if graph:
        fields.append(f"{graph} graph: {used}")
    fields += [f"gen throughput (token/s): {speed}", f"#queue-req: {queue}"]
    tail = draw(st.sampled_from(["", ", "]))
    text = f"[2026-03-02 09:00:01{ms}{ranks}] Decode batch{mark} {', '.join(fields)}{tail}"
    fact = DecodeSeen(
        int(running),
        int(tokens),
        float(usage),
        None if length is None else float(length),
        None if rate is None else float(rate),
        float(speed),
        int(queue),
        used if graph else None,
        77 if "77" in mark else None,
        (("mamba num", "3"), ("mamba usage", "0.50")) if extra else (),
    )
    return text, fact, ranks.strip()


@given(decode_lines())
def test_any_decode_line_is_read_and_both_ways_agree(
    made: tuple[str, DecodeSeen, str],
) -> None:
    text, fact, ranks = made
    (line,) = parse_line(text)
    assert line.fact == fact
    assert line.head.ranks == ranks
    assert general(text) == (line,)


WRAPPERS = (
    "sglang-1  | ",
    "[pod/halcyon-0/sglang] 2026-09-04T11:02:11.412009112Z ",
    "2026-09-04T11:02:11.412009112Z stderr F ",
    "halcyon-0 sglang ",
    "Dez 02 03:11:08 gpu-a07 sglang[41822]: ",
    "12月 02 03:11:08 gpu-a07 sglang[41822]: ",
    "2026-12-02T03:11:07+0100 gpu-a07 sglang[41822]: ",
    "[1,3]<stderr>:",
    "3: ",
    "\x1b[36msglang-1  |\x1b[0m ",
)


@given(decode_lines(), st.sampled_from(WRAPPERS))
def test_wrappers_are_seen_through(made: tuple[str, DecodeSeen, str], wrapper: str) -> None:
    text, fact, ranks = made
    (line,) = parse_line(wrapper + text)
    assert (line.fact, line.head.ranks) == (fact, ranks)
    assert line.head.wrapper
    assert line.head.at.startswith("2026-03-02 09:00:01")


def test_json_logs_of_docker_and_journal_bytes() -> None:
    docker = '{"log":"' + D3 + '\\n","stream":"stderr","time":"2026-09-04T11:02:11Z"}'
    (line,) = parse_line(docker)
    assert isinstance(line.fact, DecodeSeen)
    assert line.head.outer == "2026-09-04T11:02:11Z"
    raw = list(("\x1b[33m" + D3).encode())
    (line,) = parse_line('{"MESSAGE":' + str(raw) + ',"SYSLOG_IDENTIFIER":"sglang"}')
    assert line.head.source == "sglang"


@given(st.lists(decode_lines(), min_size=2, max_size=4))
def test_lines_without_newlines_between_them(made: list[tuple[str, DecodeSeen, str]]) -> None:
    """Several processes write into one line: each head begins a piece."""
    lines = parse_line("".join(text for text, _, _ in made))
    assert [line.fact for line in lines] == [fact for _, fact, _ in made]


@given(decode_lines(), st.integers(0, 400))
def test_a_torn_line_gives_no_number_or_the_right_ones(
    made: tuple[str, DecodeSeen, str], cut: int
) -> None:
    """The first part of a line is either no decode fact, or lacks only what was optional."""
    text, fact, _ = made
    for line in parse_line(text[:cut]):
        if isinstance(line.fact, DecodeSeen):
            assert line.fact.tok_s == fact.tok_s
            assert str(fact.queue).startswith(str(line.fact.queue))


@given(decode_lines(), decode_lines(), st.data())
def test_a_line_torn_by_another_rank_keeps_the_other(
    first: tuple[str, DecodeSeen, str], second: tuple[str, DecodeSeen, str], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(40, len(first[0]) - 60))
    lines = parse_line(first[0][:cut] + second[0])
    assert lines[-1].fact == second[1]
    assert not isinstance(lines[0].fact, DecodeSeen)


def bar(label: str, done: int, total: int, *, completed: bool) -> str:
    pct = 100 * done // total
    middle = "% Completed |" if completed else "%|█████     |"
    return f"{label}: {pct:3d}{middle} {done}/{total} [00:{done % 60:02d}<00:09,  1.50s/it]"


@given(
    st.sampled_from(["Loading safetensors checkpoint shards", "Capturing batches (bs=8)"]),
    st.integers(1, 300),
    st.sampled_from(["\r", "", "\r\r"]),
    st.booleans(),
)
def test_bars_in_one_string_give_their_latest_state(
    label: str, total: int, glue: str, completed: bool
) -> None:
    text = glue + glue.join(bar(label, n, total, completed=completed) for n in range(total + 1))
    (line,) = parse_line(text)
    assert isinstance(line.fact, BarSeen)
    assert (line.fact.done, line.fact.total, line.fact.item_s) == (total, total, 1.5)
    assert line.fact.kind == ("shards" if "shards" in label else "graphs")
    assert line.text.startswith(f"{label}: 100%")
    assert line.text.count(label) == 1


def test_bars_side_by_side_stay_apart() -> None:
    text = bar("Fetching 4 files", 2, 4, completed=False) + bar(
        "Loading safetensors checkpoint shards", 3, 9, completed=True
    )
    assert [
        (x.fact.kind, x.fact.done) for x in parse_line(text) if isinstance(x.fact, BarSeen)
    ] == [
        ("download", 2.0),
        ("shards", 3.0),
    ]


def test_a_bar_with_byte_counts() -> None:
    (line,) = parse_line("model.safetensors:  20%|██  | 3.02G/15.1G [00:31<02:04, 97.4MB/s]")
    assert isinstance(line.fact, BarSeen)
    assert (line.fact.done, line.fact.total) == (3.02e9, 15.1e9)


QUOTED = (
    "Receive: obj=GenerateReqInput(text='[2026-08-03 12:00:03 TP0] Scheduler hit an exception:"
    " CUDA out of memory. Tried to allocate 1.00 GiB. Decode batch, #running-req: 1, #token: 1,"
    " token usage: 0.01, gen throughput (token/s): 1.00, #queue-req: 0')"
)


def test_a_prompt_cannot_bring_the_server_down() -> None:
    """What a client sent is quoted in request logs; it is no log line of the server."""
    heads = ("[2026-08-03 12:00:03] ", "2026-08-03 12:00:03 | INFO | t:1 - ", "sglang-1  | ", "")
    for head in heads:
        quoted = head + QUOTED
        lines = parse_line(quoted)
        assert len(lines) == 1
        assert not isinstance(lines[0].fact, FailureSeen | DecodeSeen)
        assert observe([quoted]).incident is None


def test_access_lines_with_and_without_heads() -> None:
    (line,) = parse_line('INFO:     10.0.0.7:51514 - "GET /v1/models?x=1 HTTP/1.1" 404 Not Found')
    assert line.fact == AccessSeen("GET", "/v1/models?x=1", 404, "10.0.0.7:51514")
    assert isinstance(line.fact, AccessSeen)
    assert line.fact.route == "/v1/models"


def test_capture_lines_old_and_new() -> None:
    def phase(text: str) -> PhaseSeen:
        (line,) = parse_line(f"[2026-11-02 07:15:38 TP0] {text}")
        assert isinstance(line.fact, PhaseSeen)
        return line.fact

    old = phase("Capture draft extend cuda graph end. Time elapsed: 1.25 s. mem usage=0.20 GB.")
    new = phase("Capture draft extend CUDA graph end. bs=[1, 2], elapsed=1.25 s, mem usage=0.20 GB")
    for fact in (old, new):
        assert (fact.phase, fact.edge, fact.part, fact.draft) == (
            "graphs",
            "end",
            "draft extend",
            True,
        )
        assert (fact.elapsed_s, fact.used_gb) == (1.25, 0.2)
    verify = phase("Capture target verify CUDA graph begin. backend=full, avail mem=3.10 GB")
    assert (verify.part, verify.draft, verify.avail_gb) == ("verify", False, 3.1)
    assert phase("Capture piecewise CUDA graph begin.").part == "prefill"


def test_startup_times_and_arguments_of_the_newest() -> None:
    (line,) = parse_line(
        "[2026-11-29 13:26:18] Engine startup timings (s): load_weight=0.08,"
        " kv_cache_allocation=0.79, scheduler_e2e=3.61, cuda_graph={prefill=0.00, decode=1.50}"
    )
    assert isinstance(line.fact, StartupTimesSeen)
    assert dict(line.fact.seconds)["decode"] == 1.5
    (line,) = parse_line(
        "[2026-11-20 18:40:02] server_args=ServerArgs(model_path='/m, \\'x\\'', tp_size=8,"
        " kind=<Kind.A: 1>, extra={'a': [1, 2], 'b': None}, cut='unended"
    )
    assert isinstance(line.fact, ArgsSeen)
    assert line.fact.args == {
        "model_path": "/m, 'x'",
        "tp_size": 8,
        "kind": "<Kind.A: 1>",
        "extra": {"a": [1, 2], "b": None},
        "cut": "'unended",
    }


ODD = st.text(alphabet=st.characters(), max_size=300)
PIECES = st.lists(
    st.sampled_from(
        [
            "[2026-01-01 00:00:00 TP0] ",
            "Decode batch, ",
            "#running-req: 1, ",
            "server_args={",
            "'a': ",
            "{" * 200,
            "(" * 200,
            '{"message": ',
            "(Worker_TP0 pid=1) ",
            "[rank1]:[E1104 06:18:22.118204551 X.cpp:1] ",
            " 50%|█ | 1/2 [00:01<00:01, 1.0it/s]",
            "CUDA out of memory. Tried to allocate ",
            "99999999999999999999999999 ",
            "\r",
            "\n",
            "\x1b[31m",
            "slot print_timing: id  0 | task 1 | eval time = ",
            "Dez 02 03:11:07 h x[1]: ",
            "[INFO] ",
            "[2026-01-01 00:00:00][TP0]",
            "<14>1 2026-12-02T03:11:07Z h x 1 - [",
            'time="1" level=warn msg="',
            "halcyon-0 sglang ",
            "12: ",
            "[    5.123456] ",
            '{"record": {"message": ',
            "(RayWorker pid=1) ",
            "Capturing batches:  5%",
            "SpecDecoding metrics: ",
            "1e999",
        ]
    )
    | ODD,
    max_size=8,
).map("".join)


@settings(max_examples=400)  # a few examples are 100 KB
@given(PIECES)
@example("[2026-01-01 00:00:00] server_args={" + "'a': {" * 5000)
@example("[2026-01-01 00:00:00] server_args=ServerArgs(a=" + "[" * 20000)
@example('{"message": ' + "[" * 100000 + "}")
@example("[2026-01-01 00:00:00] Decode batch, #running-req: " + "9" * 5000 + ", #queue-req: 1")
def test_arbitrary_text_never_raises(text: str) -> None:
    lines = parse_line(text)
    assert all(isinstance(line, Line) for line in lines)
    for line in lines:
        assert severity(line) in ("debug", "info", "warning", "error")
        noise(line)
    observe([text, text])


LONG = (
    "Capturing batches (bs=8): 1%|x| 1/9 [00:01<00:01, 1.0it/s]\r" * 1000,
    "[" * 65536,
    "a: " * 21000 + "5%|x| 1/2 [00:01<00:01]",
    "a.b-" * 16000 + " NCCL INFO x",
    "Capture " + "draft " * 10000 + "graph",
    "[11/03/2026-09:20:10] [TRT-LLM] [I] iter = 1," + "elapsed_time = 1s," * 3500,
    "[2026-01-14 21:44:31 TP0] Decode batch, " + "#a: 1, " * 9000,
    'time="1" ' + "level=x " * 9000,
    "[a]" * 22000,
    "a-" * 33000,
    "12: " + "A-" * 32000,
    "(w pid=1) " * 6600,
    "Model architectures " + "are " * 16000 + " trust_remote_code",
    "vllm " + "█" * 65000 + "version ",
    "SpecDecoding metrics: Mean acceptance length: 1.0, " + "Accepted: 1 tokens, " * 3000,
)


@pytest.mark.parametrize("text", LONG)
def test_no_line_of_64_kib_is_slow(text: str) -> None:
    """Processor time, so that other work on the machine does not count."""
    began = time.process_time()
    parse_line(text[:65536])
    assert time.process_time() - began < 0.25


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.log")), ids=lambda path: path.stem)
def test_a_number_without_end_is_no_defect_in_any_place_of_any_line(path: Path) -> None:
    kinds = dict.fromkeys(re.sub(r"\d+", "7", line) for line in path.read_text().splitlines())
    for line in kinds:
        for spot in [found.start() for found in re.finditer("7", line)][:12]:
            for digits in ("9" * 350, "9" * 4400):
                pieces = parse_line(line[:spot] + digits + line[spot + 1 :])
                assert pieces
