"""The worker as a process, against a server with scripted bytes and times."""

from __future__ import annotations

import ast
import json
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

from console.bench.answer import Answer, Counted, Refused, count
from console.bench.job import Done, Job, Progress, Ready, read_record
from tests.bench import working
from tests.bench.scripted import END, HEAD, Script, Scripted, answered, event, paced, piece, sent

WORKER = Path(str(files("console.bench").joinpath("worker.py")))
DONE = b"data: [DONE]\n\n"


def said(text: str, tokens: int | None = None, finish: str | None = None) -> bytes:
    """A chunk of /v1/completions."""
    usage = None if tokens is None else {"prompt_tokens": 3, "completion_tokens": tokens}
    return event({"choices": [{"text": text, "finish_reason": finish}], "usage": usage})


def usage(tokens: int) -> bytes:
    return event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": tokens}})


def test_it_is_one_file_of_standard_library_for_python_3_9() -> None:
    tree = ast.parse(WORKER.read_text(), feature_version=(3, 9))
    found = {
        (node.module or "").partition(".")[0]
        if isinstance(node, ast.ImportFrom)
        else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert found <= sys.stdlib_module_names
    assert len(WORKER.read_text().splitlines()) <= 300


def test_a_plain_stream_is_stamped_and_counted() -> None:
    pieces = [said(letter) for letter in "abcdefgh"]
    script = paced([*pieces, said("i", finish="length"), usage(9) + DONE], 0.02)
    with Scripted(script) as server:
        ready, *_, run, done = working.work(working.job(server.url, "completions", 9))
        body = json.loads(server.requests[0].partition(b"\r\n\r\n")[2])
    assert isinstance(ready, Ready)
    assert done == Done(cancelled=False)
    assert isinstance(run, Answer)
    assert (run.status, run.text(), run.finish) == ("ok", "abcdefghi", "length")
    assert count(run, 9) == Counted(9, ("requested length",))
    gaps_ms = [(b.t_ns - a.t_ns) / 1e6 for a, b in pairwise(run.bearing())]
    assert statistics.median(gaps_ms) == pytest.approx(20, abs=6)
    assert (body["temperature"], body["top_p"], body["seed"]) == (0.0, 1.0, 1)
    assert (body["max_tokens"], body["ignore_eos"], body["stream"]) == (9, True, True)
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}


def test_several_tokens_a_chunk_are_counted_from_usage_not_from_chunks() -> None:
    script = sent(said("a", 1), said("bcd", 4), said("ef", 6, "length"), usage(6), DONE)
    with Scripted(script) as server:
        run = working.answer(working.job(server.url, "completions", 6))
    assert count(run, 6) == Counted(6, ("running count", "requested length"))
    assert [chunk.count for chunk in run.bearing()] == [1, 4, 6]


def test_a_character_split_over_two_reads_stays_whole() -> None:
    body = piece(said("naïve ✓ 世界", 4, "length"))
    cut = body.index("世".encode()) + 1
    script: Script = [HEAD, body[:cut], 0.05, body[cut:], piece(DONE), END]
    with Scripted(script) as server:
        run = working.answer(working.job(server.url, "completions", 4))
    assert run.text() == "naïve ✓ 世界"
    assert count(run, 4) == Counted(4, ("requested length",))
    assert run.chunks[0].t_ns >= 50e6  # stamped when its last byte came


def test_an_event_over_two_chunks_and_two_events_in_one() -> None:
    late = said("b", 2)
    both = said("c", 3) + said("d", 4, "length")
    script: Script = [HEAD, piece(said("a", 1)), piece(late[:20]), 0.05, piece(late[20:])]
    with Scripted([*script, 0.02, piece(both), 0.02, piece(DONE), END]) as server:
        run = working.answer(working.job(server.url, "completions", 4))
    assert run.text() == "abcd"
    a, b, c, d = run.chunks
    assert b.t_ns - a.t_ns >= 45e6
    assert c.t_ns == d.t_ns > b.t_ns
    assert run.coalesced == 0.25
    assert count(run, 4) == Counted(4, ("running count", "requested length"))


def test_a_terminator_split_over_two_reads_ends_the_run() -> None:
    held = threading.Event()
    script: Script = [HEAD, piece(said("a", 1, "length")), END[:2], 0.02, END[2:], held]
    with Scripted(script) as server:
        run = working.answer(working.job(server.url, "completions", 1))
        held.set()
    assert run.status == "ok"


@pytest.mark.parametrize(
    ("script", "asked", "why"),
    [
        (sent(said("a"), said("b", finish="length"), DONE), 2, "the server sent no token count"),
        (
            sent(said("a"), usage(1), said("b"), said("c", finish="length"), DONE),
            3,
            "the count of 1 came before the last text",
        ),
        (
            sent(said("a"), said("b", finish="length"), usage(102), DONE),
            102 + 100,
            "stopped by length, but 102 tokens are counted of 202",
        ),
        (
            sent(said("a", 1), said("b", 2), said("c", 3, "stop"), usage(103), DONE),
            500,
            "the last count rises by 100 without text, before by 1 at most",
        ),
        (
            sent(said("a"), said("b"), said("c"), said("d", finish="stop"), usage(3), DONE),
            500,
            "4 chunks bring text, but the count says 3 tokens",
        ),
        (
            sent(said("a"), said("b"), said("c", finish="stop"), usage(103), DONE),
            500,
            "the count says 103 tokens, the text has 3 bytes",
        ),
        (sent(said("ab", 600, "stop"), DONE), 500, "the count says 600 tokens, 500 were asked for"),
        (
            sent(said("a", 2), said("b", 1), DONE),
            500,
            "the server's count went down during the run",
        ),
        (sent(DONE), 5, "the response holds no token"),
    ],
)
def test_a_count_that_cannot_be_right_is_refused(script: list[bytes], asked: int, why: str) -> None:
    with Scripted(script) as server:
        run = working.answer(working.job(server.url, "completions", asked))
    assert count(run, asked) == Refused(why)


def test_an_error_in_mid_stream_keeps_what_came_and_refuses_the_count() -> None:
    failure = event({"error": {"message": "CUDA error", "code": 500}})
    with Scripted(sent(said("a", 1), said("b", 2), failure, DONE)) as server:
        run = working.answer(working.job(server.url, "completions", 9))
    assert run.status == "error"
    assert run.text() == "ab"
    refused = count(run, 9)
    assert isinstance(refused, Refused)
    assert "CUDA error" in refused.why


@pytest.mark.parametrize(
    "payload", [b"data: {oops\n\n", b'data: {"choices": 7}\n\n', b"data: []\n\n"]
)
def test_an_event_of_no_known_shape_is_an_error(payload: bytes) -> None:
    with Scripted(sent(said("a", 1), payload, DONE)) as server:
        run = working.answer(working.job(server.url, "completions", 9))
    assert run.status == "error"
    assert run.why in payload.decode()


def test_a_stall_ends_the_run_and_names_it() -> None:
    held = threading.Event()
    with Scripted([HEAD, piece(said("a", 1)), held]) as server:
        run = working.answer(working.job(server.url, "completions", 9, stall_s=0.2))
        held.set()
    assert (run.status, run.text()) == ("stalled", "a")
    assert isinstance(count(run, 9), Refused)


@pytest.mark.parametrize("script", [[HEAD, piece(said("a", 1))], [HEAD], []])
def test_a_connection_that_breaks_off_is_a_disconnect(script: list[bytes]) -> None:
    with Scripted(script) as server:
        run = working.answer(working.job(server.url, "completions", 9))
    assert run.status == "disconnected"


def test_a_port_without_a_listener_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    run = working.answer(working.job(f"http://127.0.0.1:{port}", "completions", 9))
    assert run.status == "unreachable"
    assert "refused" in run.why


def test_an_http_error_is_kept_with_code_and_body() -> None:
    with Scripted(answered(401, b'{"error":"Unauthorized"}')) as server:
        run = working.answer(working.job(server.url, "sglang", 9))
    assert (run.status, run.http) == ("http", 401)
    assert run.why == '401 {"error":"Unauthorized"}'


def test_a_stream_without_chunked_coding_ends_with_the_connection() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    with Scripted([head, said("a", 1), 0.02, said("b", 2, "length"), DONE]) as server:
        run = working.answer(working.job(server.url, "completions", 2))
    assert count(run, 2) == Counted(2, ("running count", "requested length"))


def test_reasoning_and_role_chunks_of_a_chat() -> None:
    def delta(**fields: object) -> bytes:
        return event({"choices": [{"delta": fields, "finish_reason": None}]})

    script = sent(
        delta(role="assistant", content=""),
        delta(reasoning_content="hm"),
        delta(content="yes"),
        event({"choices": [{"delta": {}, "finish_reason": "length"}]}),
        usage(2) + DONE,
    )
    with Scripted(script) as server:
        run = working.answer(working.job(server.url, "chat", 2))
        body = json.loads(server.requests[0].partition(b"\r\n\r\n")[2])
    assert [chunk.text for chunk in run.bearing()] == ["hm", "yes"]
    assert count(run, 2) == Counted(2, ("requested length",))
    assert body["messages"] == [{"role": "user", "content": "Hi"}]


def test_llama_cpp_counts_from_timings_and_ids() -> None:
    def part(content: str, ids: list[int], so_far: int) -> bytes:
        return event({"content": content, "tokens": ids, "stop": False, "tokens_predicted": so_far})

    timings = {"predicted_n": 3, "prompt_n": 2, "cache_n": 1, "draft_n": 4, "draft_n_accepted": 1}
    last = {"content": "", "tokens": [], "stop": True, "stop_type": "limit"}
    final = event({**last, "tokens_predicted": 3, "tokens_evaluated": 3, "timings": timings})
    script = sent(part("a", [5], 1), part("b", [6], 2), part("c", [7], 3), final)
    with Scripted(script) as server:
        run = working.answer(working.job(server.url, "llamacpp", 3))
    assert count(run, 3) == Counted(3, ("running count", "token ids", "requested length"))
    assert (run.prompt_tokens(), run.cached_tokens()) == (3, 1)
    assert run.timings["draft_n_accepted"] == 1


def test_token_ids_that_contradict_the_count_are_refused() -> None:
    part = {"content": "ab", "tokens": [5, 6], "stop": False, "tokens_predicted": 3}
    final = {"content": "", "stop": True, "stop_type": "eos", "tokens_predicted": 3}
    with Scripted(sent(event(part), event(final))) as server:
        run = working.answer(working.job(server.url, "llamacpp", 9))
    assert count(run, 9) == Refused("2 token ids, but the count says 3")


def test_the_key_goes_into_a_header_and_the_path_below_a_prefix() -> None:
    with Scripted(sent(said("a", 1, "length"), DONE)) as server:
        made = working.job(server.url + "/proxy/", "chat", 1, headers={"Authorization": "Bearer k"})
        working.answer(made)
        head = server.requests[0].partition(b"\r\n\r\n")[0].decode()
    assert head.startswith("POST /proxy/v1/chat/completions HTTP/1.1\r\n")
    assert "Authorization: Bearer k" in head
    assert f"Host: {server.url.removeprefix('http://')}" in head


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself; its key lies beside it."""
    path = tmp_path / "server.pem"
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    argv += ["-nodes", "-days", "3650", "-subj", "/CN=rig"]
    argv += ["-addext", "subjectAltName=IP:127.0.0.1"]
    argv += ["-keyout", str(path.with_suffix(".key")), "-out", str(path)]
    subprocess.run(argv, check=True, capture_output=True)
    return path


@pytest.mark.rig
def test_https_is_spoken_with_whom_the_authorities_vouch_for(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    with Scripted(sent(said("a", 1), said("b", 2, "length"), DONE), tls=context) as server:
        trusted = working.job(server.url, "completions", 2, ca=certificate.read_text())
        run = working.answer(trusted)
        refused = working.answer(working.job(server.url, "completions", 2))
    assert count(run, 2) == Counted(2, ("running count", "requested length"))
    assert refused.status == "unreachable"
    assert "certificate verify failed" in refused.why


def test_a_header_cannot_smuggle_in_another() -> None:
    made = working.job("http://127.0.0.1:1", "chat", 1, headers={"X": "a\r\nY: b"})
    with pytest.raises(ValueError, match="line break"):
        made.line()


def held_job(server: Scripted, **fields: object) -> Job:
    return working.job(server.url, "completions", 9, runs=3, progress_s=0.0, **fields)


def test_progress_tells_bytes_and_the_servers_own_count() -> None:
    with Scripted(paced([said("a", 1), said("bc", 3, "length"), DONE], 0.05)) as server:
        records = working.work(held_job(server))
    told = [record for record in records if isinstance(record, Progress) and record.run == "run-1"]
    assert [progress.count for progress in told][-1] == 3
    sizes = [progress.bytes for progress in told]
    assert sizes == sorted(sizes)
    assert len(working.answers(records)) == 3


@pytest.mark.parametrize("way", ["close", "sigterm"])
def test_a_cancel_keeps_what_was_measured(way: str) -> None:
    held = threading.Event()
    with Scripted([HEAD, piece(said("a", 1)), held]) as server:
        child = working.start()
        assert child.stdin is not None
        child.stdin.write(held_job(server, cancel_on_close=True).line())
        child.stdin.flush()
        assert server.holding.wait(10)
        if way == "close":
            child.stdin.close()
        else:
            child.send_signal(signal.SIGTERM)
        assert child.stdout is not None
        lines = iter(child.stdout.readline, b"")
        records = [read_record(line.decode()) for line in _until_done(lines)]
        child.stdin.close()
        assert child.wait(10) == 0
        child.stdout.close()
        held.set()
    (run,) = working.answers(records)
    assert (run.run, run.status, run.text()) == ("run-1", "cancelled", "a")
    assert records[-1] == Done(cancelled=True)


def _until_done(lines: Iterator[bytes]) -> list[bytes]:
    found = []
    for line in lines:
        found.append(line)
        if b'"done"' in line:
            break
    return found


def test_it_says_how_long_it_was_kept_from_running() -> None:
    held = threading.Event()
    with Scripted([HEAD, piece(said("a", 1)), held, piece(said("b", 2, "length")), END]) as server:
        child = working.start()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(working.job(server.url, "completions", 2, progress_s=0.0).line())
        child.stdin.close()
        assert server.holding.wait(10)
        # Once it tells of what it has read, it is watching how it is kept from running.
        told = (read_record(line.decode()) for line in child.stdout)
        assert any(isinstance(one, Progress) and one.bytes for one in told)
        began = time.perf_counter_ns()
        child.send_signal(signal.SIGSTOP)
        held.wait(0.4)
        child.send_signal(signal.SIGCONT)
        stopped_ns = time.perf_counter_ns() - began
        held.set()
        records = [read_record(line.decode()) for line in child.stdout]
        child.stdout.close()
        child.wait(10)
        ended_ns = time.perf_counter_ns()
    (run,) = working.answers(records)
    assert stopped_ns - 50e6 <= run.stall_max_ns <= ended_ns - began
    assert 0 <= run.stall_p99_ns <= run.stall_max_ns


def test_it_runs_as_a_plain_file_too() -> None:
    with Scripted(sent(said("a", 1, "length"), DONE)) as server:
        line = working.job(server.url, "completions", 1).line()
        argv = [sys.executable, str(WORKER)]
        out = subprocess.run(argv, input=line, capture_output=True, timeout=20, check=True).stdout
    (run,) = working.answers([read_record(text) for text in out.decode().splitlines()])
    assert count(run, 1) == Counted(1, ("requested length",))
