"""What GPUs did during runs: what voids one, and what goes into the circumstances."""

from __future__ import annotations

from console.bench.provenance import Unread
from console.model.text import Clean
from console.services.bench_load import GpuLoad
from console.stream.host_events import GpuSeen
from console.stream.state import State

STATE = State()


def seen(gpu: int, clock: float, gen: float, *throttle: str, host: str = "gpu8") -> GpuSeen:
    figures = (("clock_mhz", clock), ("pcie_gen", gen), ("temp_c", 40.0 + gpu))
    named = tuple((Clean(name), value) for name, value in figures)
    return GpuSeen(Clean(host), gpu, named, tuple(map(Clean, throttle)))


def test_only_what_was_read_during_a_run_counts() -> None:
    load = GpuLoad("gpu8")
    load.take(seen(0, 180, 1, "idle", "HW slowdown"), STATE)
    load.begin()
    for gpu in (0, 1):
        load.take(seen(gpu, 1800, 1), STATE)
        load.take(seen(gpu, 2430, 5), STATE)
    load.take(seen(0, 100, 1, "HW slowdown", host="gpu9"), STATE)
    assert load.end() == ()
    load.take(seen(0, 180, 1, "HW slowdown"), STATE)
    group = load.group()
    assert group is not None
    assert group.values == {
        "hw_slowdown": "not active",
        "hw_thermal": "not active",
        "power_brake": "not active",
        "sw_power_cap": "not active",
        "sm_clock": "2115",
        "temperature": "40",
        "pcie_gen": "5",
    }


def test_a_gpu_that_was_held_back_voids_the_run() -> None:
    load = GpuLoad("gpu8")
    load.begin()
    load.take(seen(3, 1200, 5, "HW thermal slowdown"), STATE)
    load.take(seen(1, 1200, 5, "HW thermal slowdown", "SW power cap"), STATE)
    assert load.end() == ("HW thermal slowdown on GPU 1, 3 during the run",)
    load.begin()
    assert load.end() == ()
    group = load.group()
    assert group is not None
    assert (group.values["hw_thermal"], group.values["sw_power_cap"]) == ("active", "active")


def test_a_link_that_stays_slow_is_told() -> None:
    load = GpuLoad("gpu8")
    load.begin()
    load.take(seen(0, 2430, 5), STATE)
    load.take(seen(1, 2430, 4), STATE)
    load.end()
    group = load.group()
    assert group is not None
    assert group.values["pcie_gen"] == "4"


def test_nothing_read_is_no_group() -> None:
    load = GpuLoad("gpu8")
    load.begin()
    assert load.end() == ()
    assert load.group() is None


def test_the_link_of_an_idle_gpu_is_none_under_load() -> None:
    def read(util: float, gen: float) -> GpuSeen:
        figures = ((Clean("util_pct"), util), (Clean("pcie_gen"), gen))
        return GpuSeen(Clean("gpu8"), 0, figures)

    load = GpuLoad("gpu8")
    load.begin()
    load.take(read(0, 1), STATE)
    load.end()
    group = load.group()
    assert group is not None
    assert group.values["pcie_gen"] == Unread("no reading while a GPU was at work")
    load.begin()
    load.take(read(97, 5), STATE)
    load.end()
    group = load.group()
    assert group is not None
    assert group.values["pcie_gen"] == "5"


def test_clocks_that_a_person_set_are_told() -> None:
    load = GpuLoad("gpu8")
    load.begin()
    load.take(seen(0, 1200, 5, "application clocks"), STATE)
    load.end()
    group = load.group()
    assert group is not None
    assert group.values["clock_setting"] == "active"
