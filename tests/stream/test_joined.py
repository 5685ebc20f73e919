"""How GPUs are joined, as the same lines for a screen and a script."""

from __future__ import annotations

from console.model.text import Clean
from console.stream.host_events import GpusJoined
from console.stream.joined import apart, by_nvlink, legend_lines, matrix_lines, worst


def pairs(**words: str) -> tuple[tuple[Clean, Clean], ...]:
    return tuple((Clean(name[1:].replace("_", "-")), Clean(word)) for name, word in words.items())


BOX = GpusJoined(
    Clean("gpu8"),
    pairs(p0_1="PIX", p0_10="SYS", p1_10="SYS"),
    pairs(p0_1="OK", p0_10="CNS", p1_10="CNS"),
)


def test_both_matrices_in_the_order_of_gpus() -> None:
    assert matrix_lines(BOX) == [
        "links GPU0  GPU1  GPU10",
        "GPU0  X     PIX   SYS",
        "GPU1  PIX   X     SYS",
        "GPU10 SYS   SYS   X",
        "peers GPU0  GPU1  GPU10",
        "GPU0  X     OK    CNS",
        "GPU1  OK    X     CNS",
        "GPU10 CNS   CNS   X",
    ]
    assert legend_lines(BOX)[0] == "PIX: over one PCIe switch"
    assert (worst(BOX), by_nvlink(BOX), apart(BOX)) == (
        "SYS",
        False,
        (("0-10", "CNS"), ("1-10", "CNS")),
    )


def test_without_a_peer_matrix_and_with_a_pair_that_is_missing() -> None:
    box = GpusJoined(Clean("gpu8"), pairs(p0_1="NV18", p1_2="NV18"))
    assert matrix_lines(box) == [
        "links GPU0  GPU1  GPU2",
        "GPU0  X     NV18  ?",
        "GPU1  NV18  X     NV18",
        "GPU2  ?     NV18  X",
    ]
    assert (by_nvlink(box), worst(box), apart(box)) == (True, "NV18", ())


def test_what_is_no_number_names_no_gpu() -> None:
    links = tuple((Clean(pair), Clean("PIX")) for pair in ("¹-0", "0-" + "9" * 5000, "", "-"))
    assert matrix_lines(GpusJoined(Clean("gpu8"), links)) == ["links GPU0", "GPU0  X"]
