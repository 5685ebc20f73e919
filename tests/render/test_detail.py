"""The selected server in detail, as text: every section with and without its facts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.failure import Failure
from console.model.fleet import Arm, Engine
from console.model.palette import Role
from console.model.span import plain_text, width
from console.model.text import Clean
from console.render.detail import detail_lines
from console.render.gpus import gpu_lines
from console.render.loading import load_lines
from console.stream.events import Event
from console.stream.fact import Standing
from console.stream.fold import fold_all
from console.stream.host_events import GpuHeld, GpuListed, GpusAbsent, GpuSeen, GpusJoined
from console.stream.joined import matrix_lines
from console.stream.loads import load_known
from console.stream.server_events import (
    ArgsSeen,
    ArmSeen,
    EngineSeen,
    HealthSeen,
    LoadAdvanced,
    LoadEnded,
    MetricSeen,
    ServerListed,
    StandingChanged,
    TokenSeen,
)
from console.stream.state import State
from tests.stream.events import any_event

S = 1_000_000
FINE = "p50 and p95, as fine as its buckets"
BASE, SPEC, HOST = Clean("base"), Clean("spec"), Clean("gpu8")


def pairs(**values: str) -> tuple[tuple[Clean, Clean], ...]:
    return tuple((Clean(name), Clean(value)) for name, value in values.items())


def figures(**values: float) -> tuple[tuple[Clean, float], ...]:
    return tuple((Clean(name), value) for name, value in values.items())


def listed(name: Clean, arm: Arm) -> ServerListed:
    url = Clean("http://127.0.0.1:8000")
    return ServerListed(name, HOST, Clean("a"), 8000, arm, Engine.SGLANG, url)


LISTED: list[Event] = [listed(BASE, Arm.BASELINE), listed(SPEC, Arm.SPECULATIVE)]


def state(*events: Event) -> State:
    stamped = [replace(e, seq=n + 1, t_us=e.t_us) for n, e in enumerate([*LISTED, *events])]
    return fold_all(State(), stamped)


def text(found: State, name: str = "base", now_us: int = 10 * S, room: int = 100) -> list[str]:
    return [plain_text(line).rstrip() for line in detail_lines(found, name, now_us, room)]


def test_a_generating_server_in_full() -> None:
    found = state(
        StandingChanged(BASE, Standing.GENERATING, Clean("tokens in the last 10 s")),
        EngineSeen(BASE, Engine.SGLANG, Clean("0.5.23"), Clean("kimi"), Clean("/server_info")),
        ArmSeen(BASE, Clean("baseline (resolved arguments)"), Arm.BASELINE),
        HealthSeen(BASE, Clean("/health"), 1_002_000, 200, t_us=4 * S),
        TokenSeen(BASE, Clean("/metrics"), 62.94, 2.31, t_us=9 * S),
        MetricSeen(
            BASE,
            Clean("/metrics"),
            figures(
                running=1,
                queued=0,
                token_usage=0.034,
                cache_hit=0.5,
                ttft_p50_s=0.31,
                ttft_p95_s=0.5,
                itl_p50_s=0.0159,
                retracted_total=2,
            ),
            t_us=9 * S,
        ),
    )
    assert text(found) == [
        "standing       ◆ generating  tokens in the last 10 s",
        "engine         sglang 0.5.23  kimi  by /server_info",
        "arm            baseline  baseline (resolved arguments)",
        "last token     now  seen in /metrics",
        "health         /health 200 in 1.0 s, 6 s ago",
        "",
        "Figures",
        "decode         62.9 tok/s         Δ tokens / Δ time, now",
        "accept length  2.31               tokens a verify step, the bonus token counted",
        "requests       1+0                running + queued",
        "token usage    3.4%               share of the KV pool in use",
        "cache hit      50.0%              prompt tokens found in the prefix cache",
        f"TTFT           310 ms, 500 ms     time to first token, {FINE}",
        f"ITL            16 ms              time between tokens, {FINE}",
        "retracted      2                  requests taken back for want of KV",
        "read from      /metrics, now",
        "",
        "GPUs",
        "the host is not known",
        "",
        "Arguments",
        "not known yet",
    ]


def test_a_figure_that_is_not_exported_has_no_line() -> None:
    lines = text(state(MetricSeen(BASE, Clean("/v1/loads"), figures(running=1))))
    assert "requests       1+?                running + queued" in lines
    assert not any(line.startswith(("token usage", "cache hit", "TTFT", "ITL")) for line in lines)


@pytest.mark.parametrize(
    ("engine", "number", "meaning"),
    [
        (Engine.SGLANG, "0.5.9", "accept length / draft tokens, the bonus counted (up to 0.5.9)"),
        (Engine.SGLANG, "0.5.23", "correct drafts / proposed drafts (since 0.5.12)"),
        (Engine.SGLANG, "0.5.10", "one of two definitions; this version's is not known"),
        (Engine.SGLANG, "", "one of two definitions; this version's is not known"),
        (Engine.LLAMACPP, "b1", "as the engine reports it"),
    ],
)
def test_a_rate_of_acceptance_has_its_definition(engine: Engine, number: str, meaning: str) -> None:
    found = state(
        EngineSeen(BASE, engine, Clean(number), Clean("m"), Clean("e")),
        MetricSeen(BASE, Clean("/metrics"), figures(accept_rate=0.7)),
    )
    (line,) = [line for line in text(found) if line.startswith("accept rate")]
    assert line == f"accept rate    0.70               {meaning}"


def test_an_arm_is_listed_confirmed_or_contradicted() -> None:
    assert "arm            baseline  as listed; not confirmed" in text(state())
    other = state(ArmSeen(BASE, Clean("EAGLE3 (its log)"), Arm.SPECULATIVE))
    assert "arm            speculative  EAGLE3 (its log)  ! listed as baseline" in text(other)
    none = state(
        ArmSeen(SPEC, Clean("the slot runs baseline")),
        HealthSeen(SPEC, Clean("/health"), 5, 200),
        StandingChanged(SPEC, Standing.DOWN, Clean("not loaded: the slot runs baseline")),
    )
    lines = text(none, "spec")
    assert lines[:2] == [
        "standing       ○ not loaded  the slot runs baseline",
        "arm            not loaded  the slot runs baseline",
    ]
    assert not any(line.startswith("health") for line in lines)


def test_a_health_that_failed_says_how() -> None:
    found = state(HealthSeen(BASE, Clean("/health"), 500, None, Failure.REFUSED))
    assert "health         /health refused in 0.5 ms, 10 s ago" in text(found)


def loading(*events: Event, now_us: int = 5 * S, room: int = 80) -> list[str]:
    server = state(*events).servers["base"]
    return [plain_text(line).rstrip() for line in load_lines(server, now_us, room)]


def test_a_load_shows_phases_bar_and_whom_it_waits_for() -> None:
    slowest = Clean("target 3/8 ranks, waiting for TP6")
    load = LoadAdvanced(BASE, Clean("weights"), 74, 163, 360 * S, slowest, t_us=4 * S)
    assert loading(load) == [
        "✓ arguments  ✓ distributed  ▶ weights  kv cache  graphs  http  warm-up",
        "██████████████████░░░░░░░░░░░░░░░░░░░░░░ 74/163 45%   ~6 min left",
        "target 3/8 ranks, waiting for TP6",
    ]


def test_a_load_without_a_fraction_says_so_and_how_long_it_stands() -> None:
    load = LoadAdvanced(BASE, Clean("distributed (NCCL init)"), t_us=0)
    assert loading(load)[1:] == ["no fraction in its log"]
    assert loading(load)[0].startswith("✓ arguments  ▶ distributed (NCCL init)  weights")
    assert loading(load, now_us=90 * S)[1] == "last progress 90 s ago"
    assert loading(LoadAdvanced(BASE, Clean("compile"), 1, 4))[0] == "▶ compile"


def test_phases_are_those_of_this_server_s_last_load() -> None:
    known = load_known(BASE, "load 1", "warm", (("weights", 9.0), ("draft weights", 2.0)))
    load = LoadAdvanced(BASE, Clean("weights"))
    assert loading(known, load)[0] == "▶ weights  draft weights"


def test_how_a_load_ended() -> None:
    assert loading(LoadEnded(BASE, True, 372 * S)) == ["✓ loaded in 6 min"]
    failed = LoadEnded(
        BASE, False, 880 * S, Clean("cuda-oom"), Clean("CUDA out of memory"), 48_111, 9
    )
    assert loading(failed) == [
        "✗ CUDA out of memory  15 min after its start  log lines 48,112–48,120"
    ]
    assert loading(failed, LoadAdvanced(BASE, Clean("weights")))[0].startswith("✓ arguments")
    assert loading() == []


GPU = GpuListed(
    HOST,
    0,
    Clean("NVIDIA X"),
    pairs(memory_total_mib="97887", power_limit_w="600", pcie_gen_max="5", pcie_width_max="16"),
)


def gpus(*events: Event, room: int = 120) -> list[str]:
    found = state(*events).hosts.get("gpu8")
    return [plain_text(line).rstrip() for line in gpu_lines(found, room)]


def test_a_busy_gpu_whose_link_is_narrow_and_whose_clock_is_held_down() -> None:
    seen = GpuSeen(
        HOST,
        0,
        figures(
            util_pct=97,
            power_w=312.4,
            memory_used_mib=87_174,
            temp_c=61,
            clock_mhz=2430,
            pcie_gen=5,
            pcie_width=8,
        ),
        (Clean("idle"), Clean("SW power cap"), Clean("power_w reads ERR!")),
    )
    held = GpuHeld(HOST, 0, pairs(**{"91022": "name unknown, 11674 MiB", "7": "other, 5 MiB"}))
    head, line = gpus(GPU, seen, held, room=160)
    assert head == "GPU   UTIL  POWER        MEMORY              TEMP  SM CLOCK  PCIE"
    assert line == (
        "  0   97 %  312/600 W    87,174/97,887 MiB  61 °C  2430 MHz  5 x8 of 5 x16"
        "  ▼ SW power cap, power_w reads ERR!  91022 name unknown, 11674 MiB and 1 more"
    )
    busy = state(GPU, seen).hosts["gpu8"]
    warned = [span for span in gpu_lines(busy, 120)[1] if span.role is Role.WARNING]
    assert len(warned) == 1


def test_a_gpu_at_rest_lets_its_link_sleep_and_reports_what_it_can() -> None:
    seen = GpuSeen(HOST, 0, figures(util_pct=0, pcie_gen=1, pcie_width=16))
    assert gpus(GPU, seen)[1] == (
        "  0    0 %  –            –                      –         –  1 x16 (at rest)"
    )


@pytest.mark.parametrize(
    ("links", "peers", "told"),
    [
        (
            {"0-1": "NODE", "0-2": "SYS"},
            {"0-1": "OK"},
            (
                "joined by PCIe only, longest way SYS"
                " (over PCIe and the link between NUMA nodes); peer access works"
            ),
        ),
        (
            {"0-1": "NV4", "0-2": "PIX"},
            {"0-1": "OK", "0-2": "CNS", "1-2": "CNS"},
            (
                "joined by NVLink, longest way PIX (over one PCIe switch);"
                " no peer access 0-2 (CNS) and 1 more"
            ),
        ),
        ({"0-1": "NV4"}, {}, "joined by NVLink, longest way NV4 (4 NVLinks)"),
    ],
)
def test_how_gpus_are_joined(links: dict[str, str], peers: dict[str, str], told: str) -> None:
    seen = GpuSeen(HOST, 0, figures(util_pct=0))
    joined = GpusJoined(HOST, pairs(**links), pairs(**peers))
    lines = gpus(seen, joined, room=160)
    assert told in lines
    shown = joined if len(peers) > 1 else replace(joined, peers=())  # where peers are apart
    assert lines[lines.index(told) + 1 :] == matrix_lines(shown)


def test_why_there_is_no_gpu() -> None:
    absent = GpusAbsent(HOST, Clean("this host has no nvidia-smi"))
    assert gpus(absent) == ["this host has no nvidia-smi"]
    seen = GpuSeen(HOST, 0, figures(util_pct=0))
    assert len(gpus(absent, seen)) == 2
    assert gpus(GPU) == ["no reading of the GPUs yet"]
    assert gpus() == ["the host is not known"]


def test_arguments_of_both_arms_side_by_side() -> None:
    own = pairs(tp_size="8", speculative_algorithm="None", port="8000", mem="0.8")
    other = pairs(tp_size="8", speculative_algorithm="EAGLE3", port="8001", mem="0.8", steps="3")
    lines = text(state(ArgsSeen(BASE, own), ArgsSeen(SPEC, other)))
    at = lines.index("Arguments")
    assert [line.split() for line in lines[at + 1 :]] == [
        ["base", "spec"],
        ["speculative_algorithm", "None", "EAGLE3"],
        ["steps", "–", "3"],
    ]
    alike = text(state(ArgsSeen(BASE, own), ArgsSeen(SPEC, own)))
    assert alike[-1] == "no argument differs"
    alone = text(state(ArgsSeen(BASE, own)))
    assert alone[-3:] == [
        "tp_size                          8",
        "speculative_algorithm            None",
        "4 arguments; the other arm's are not known",
    ]


def test_no_server_is_no_detail() -> None:
    assert text(state(), "nobody") == ["no server is selected"]


@pytest.mark.parametrize("room", [20, 56, 116])
@given(events=st.lists(any_event(), max_size=10))
def test_any_state_fits_any_room(room: int, events: list[Event]) -> None:
    found = fold_all(State(), [replace(e, seq=n + 1) for n, e in enumerate(events)])
    for name in found.servers:
        for line in detail_lines(found, name, 2**53, room):
            assert width(plain_text(line)) <= max(room, 26)
