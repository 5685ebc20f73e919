"""nvidia-smi's answers from ordinary and from odd boxes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines.nvidia import (
    Gpu,
    NoGpus,
    is_header,
    parse_apps,
    parse_gpu,
    parse_gpus,
    parse_header,
    parse_table,
    query_fields,
)
from console.engines.throttle import throttle_reasons
from console.engines.topology import meaning, parse_matrix
from tests.engines.observing import CASES, expected

HELP = """List of valid properties to query for the switch "--query-gpu=":

"index"
Zero based index of the GPU.

"clocks_event_reasons.active" or "clocks_throttle_reasons.active"
Bitmask of active clock event reasons.

"memory.total"
Total installed GPU memory.

"power.draw"
The last measured power draw.
"""


def commands() -> list[str]:
    (path,) = CASES.glob("37-*.txt")
    return [part.partition("\n")[2] for part in path.read_text().split("$ ")[1:]]


def gpus(output: str) -> tuple[Gpu, ...]:
    found = parse_gpus(output)
    assert not isinstance(found, NoGpus)
    return found


def test_unified_memory_is_not_reported_and_never_zero() -> None:
    (gpu,) = gpus(commands()[0])
    want = expected("37")["gpus_1"][0]
    assert (gpu.index, gpu.get("util_pct"), gpu.get("power_w"), gpu.get("temp_c")) == (
        want["index"],
        want["util"],
        want["power_w"],
        want["temp_c"],
    )
    assert gpu.get("memory_used_mib") is None
    assert "mig" not in gpu.texts


def test_processes_keep_their_own_figures() -> None:
    apps = parse_apps(commands()[1].splitlines())
    assert [(a.pid, a.used_mib) for a in apps] == [(88120, 22408.0), (9020, None)]
    assert [a.name for a in apps] == ["sglang::scheduler", ""]
    (odd,) = parse_apps(["GPU-1, 7, python, -m, x, 5 MiB"])
    assert (odd.name, odd.used_mib) == ("python, -m, x", 5.0)


def test_columns_are_found_by_the_answers_header() -> None:
    found = gpus(commands()[2])
    want = expected("37")["throttle"]
    assert {str(g.index): list(g.throttle) for g in found} == want
    assert found[1].slowed == ("HW slowdown", "HW thermal slowdown")


def test_a_pasted_table_with_a_broken_fan() -> None:
    first, second = parse_table(commands()[3])
    assert first.broken == ("fan_pct",)
    assert (first.get("temp_c"), first.get("util_pct"), first.get("memory_used_mib")) == (
        41.0,
        97.0,
        21034.0,
    )
    assert first.get("power_w") is None
    assert second.texts["bus_id"] == "0000000F:01:00.0"
    assert second.get("memory_total_mib") is None
    assert second.get("power_w") == 4.0


def test_only_fields_that_the_driver_knows_are_asked_for() -> None:
    assert query_fields(HELP) == (
        "index",
        "memory.total",
        "power.draw",
        "clocks_event_reasons.active",
    )
    old = HELP.replace('"clocks_event_reasons.active" or ', "")
    assert query_fields(old, ("throttle",)) == ("index", "clocks_throttle_reasons.active")


def test_a_running_query_repeats_no_header_and_skips_cut_lines() -> None:
    header = parse_header("index, memory.used [MiB], power.draw [W], odd.field")
    assert header == ("index", "memory_used_mib", "power_w", "")
    assert is_header("index, memory.used [MiB]")
    assert not is_header("0, 512 MiB")
    reading = parse_gpu(header, "3, 512 MiB, 301.25 W, x")
    assert reading is not None
    assert (reading.index, reading.figures) == (3, {"memory_used_mib": 512.0, "power_w": 301.25})
    assert parse_gpu(header, "3, 512 MiB, 30") is None
    assert parse_gpu(header, "Unable to determine the device handle for GPU") is None


def test_an_error_cell_is_a_finding_about_that_field() -> None:
    header = parse_header("index, fan.speed [%], temperature.gpu")
    reading = parse_gpu(header, "0, ERR!, 41")
    assert reading is not None
    assert reading.broken == ("fan_pct",)
    assert reading.figures == {"temp_c": 41.0}


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("sh: 1: nvidia-smi: not found", "this host has no nvidia-smi"),
        ("No devices were found", "nvidia-smi finds no GPU"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "nvidia-smi is there, but the driver does not answer",
        ),
        ("", "nvidia-smi printed nothing"),
        (
            "Unable to determine the device handle for GPU0000:41:00.0: GPU is lost.  Reboot",
            "the GPU at 0000:41:00.0 is lost: a reset or a reboot is due",
        ),
        (
            "Failed to initialize NVML: Unknown Error",
            "nvidia-smi is there, but this process may not reach the GPUs (container or sandbox)",
        ),
        (
            "Failed to initialize NVML: Insufficient Permissions",
            "nvidia-smi is there, but this user may not ask the driver",
        ),
    ],
)
def test_a_host_without_gpus_says_so(output: str, why: str) -> None:
    assert parse_gpus(output) == NoGpus(why)


ODD_ROWS = (
    "timestamp, index, uuid, name, power.draw [W], utilization.gpu [%], mig.mode.current\n"
    "2026/11/03 09:14:02.123, 0, GPU-0, NVIDIA X, 88,50 W, [N/A], Enabled\n"
    '2026/11/03 09:14:02.123, 1, GPU-1, "NVIDIA X, Y", [Unknown Error], 7 %, [N/A]\n'
    "2026/11/03 09:14:02.123, 2, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost],"
    " [GPU is lost]\n"
)


def test_a_decimal_comma_a_slice_and_a_lost_gpu() -> None:
    cut, other, lost = gpus(ODD_ROWS)
    assert (cut.figures, cut.texts["mig"]) == ({"power_w": 88.5}, "Enabled")
    assert (other.texts["name"], other.figures, other.broken) == (
        "NVIDIA X, Y",
        {"util_pct": 7.0},
        (),
    )
    assert (lost.index, lost.texts, lost.figures, lost.broken) == (2, {}, {}, ("gpu",))


def test_reasons_asked_for_one_by_one() -> None:
    (gpu,) = gpus(
        "index, clocks_throttle_reasons.sw_power_cap, clocks_event_reasons.hw_thermal_slowdown,"
        " clocks_event_reasons.sync_boost\n0, Active, Active, Not Active\n"
    )
    assert gpu.throttle == ("SW power cap", "HW thermal slowdown")


def test_rows_without_index_and_uuid_are_counted() -> None:
    found = gpus("name, memory.used [MiB]\nNVIDIA X, 7 MiB\nNVIDIA X, 8 MiB\n")
    assert [(g.index, g.get("memory_used_mib")) for g in found] == [(0, 7.0), (1, 8.0)]


TABLE = """\
|   0  Tesla V100-SXM2...  On   | 00000000:61:00.0 Off |                    0 |
| N/A   36C    P0    42W / 300W |   2034MiB / 32510MiB |      3%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
|   1  Unknown Error            | 00000000:62:00.0 Off |                 ERR! |
|ERR!  ERR! ERR!    ERR! / ERR! |      Unknown Error   |    ERR!         ERR! |
|   2  NVIDIA A100-SXM4-80GB On | 00000000:07:00.0 Off |                   On |
| N/A   31C    P0    65W / 400W |     87MiB / 81920MiB |     N/A      Default |
|                               |                      |              Enabled |
| MIG devices:                                                                |
|  0    1   0   0  |              37MiB / 40192MiB  | 42      0 |  3   0    2 |
"""


def test_a_table_with_a_gpu_that_does_not_answer_and_with_slices() -> None:
    found = gpus(TABLE)
    assert [g.index for g in found] == [0, 1, 2]
    assert found[1].broken == ("fan_pct", "temp_c", "power_w", "power_limit_w", "util_pct")
    assert (found[2].get("memory_used_mib"), found[2].get("util_pct")) == (87.0, None)


def test_throttle_bits() -> None:
    assert throttle_reasons("0x0000000000000000") == ()
    assert throttle_reasons("0x0000000000000001") == ("idle",)
    assert throttle_reasons("0x1004") == ("SW power cap", "unknown (0x1000)")
    assert throttle_reasons("Active") == ()


TOPO = (
    "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tPHB\tSYS\tNODE\t0-31\t0\tN/A\n"
    "GPU1\tPHB\t X \tSYS\tNODE\t0-31\t0\tN/A\n"
    "GPU2\tSYS\tSYS\t X \tSYS\t32-63\t1\tN/A\n"
    "NIC0\tNODE\tNODE\tSYS\t X \t\t\t\n\n"
    "Legend:\n\n  X    = Self\n"
)
P2P = (
    " \tGPU0\tGPU1\tGPU2\t\n GPU0\tX\tOK\tCNS\t\n GPU1\tOK\tX\tCNS\t\n GPU2\tCNS\tCNS\tX\t\n\n"
    "Legend:\n\n  X    = Self\n  OK   = Status Ok\n"
)


def test_a_pcie_only_box() -> None:
    found = parse_matrix(TOPO)
    assert found is not None
    assert found.gpus == (0, 1, 2)
    assert (found.links[0, 1], found.links[0, 2]) == ("PHB", "SYS")
    assert (found.pcie_only, found.nvlink, found.worst) == (True, False, "SYS")
    assert (found.cpus[2], found.numa[2]) == ("32-63", "1")
    for underlined in ("\x1b[4m\tGPU0", "\t[4mGPU0"):
        assert parse_matrix(TOPO.replace("\tGPU0\tGPU1", f"{underlined}\tGPU1", 1)) == found
    spaced = parse_matrix(TOPO.replace("\t", "    "))
    assert spaced is not None
    assert (spaced.links, spaced.cpus) == (found.links, found.cpus)


def test_pairs_without_peer_access() -> None:
    found = parse_matrix(P2P)
    assert found is not None
    assert {pair: word for pair, word in found.links.items() if word == "CNS"} == dict.fromkeys(
        ((0, 2), (2, 0), (1, 2), (2, 1)), "CNS"
    )
    assert meaning("CNS") == "the chipset does not support peer access"
    assert meaning("NV18") == "18 NVLinks"


@given(st.text(max_size=200), st.text(max_size=80))
def test_no_text_raises(output: str, line: str) -> None:
    parse_gpus("index, memory.used [MiB]\n" + output)
    parse_table(output)
    parse_matrix("\tGPU0\tGPU1\n" + output)
    parse_apps(output.splitlines())
    assert parse_gpu(("index",), line) is None or line.strip()
