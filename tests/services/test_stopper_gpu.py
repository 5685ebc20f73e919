"""When a stopped server's GPU memory is free, held by somebody, or stuck."""

from __future__ import annotations

import pytest

from console.services.stopper_gpu import GpuMemory, still_held

FULL = GpuMemory(True, {0: 91_000, 1: 91_000}, {0: frozenset({7}), 1: frozenset({8})})


@pytest.mark.parametrize(
    ("used", "holders", "gpus", "texts", "stuck"),
    [
        ({0: 4, 1: 4}, {}, (), (), False),
        ({0: 900, 1: 4}, {}, (), (), False),
        ({0: 91_000, 1: 4}, {0: {7}}, (), ("process 7 holds memory on GPU 0",), False),
        (
            {0: 70_000, 1: 4},
            {},
            (),
            ("GPU 0 still holds 70,000 MiB and no process is shown",),
            True,
        ),
        ({0: 70_000, 1: 4}, {}, (1,), (), False),
        ({0: 70_000, 1: 4}, {0: {4242}}, (), (), False),
    ],
    ids=["free", "driver", "a-survivor", "wedged", "another-slots", "somebody-elses"],
)
def test_what_is_left_on_the_gpus(
    used: dict[int, int],
    holders: dict[int, set[int]],
    gpus: tuple[int, ...],
    texts: tuple[str, ...],
    stuck: bool,
) -> None:
    now = GpuMemory(True, used, {gpu: frozenset(pids) for gpu, pids in holders.items()})
    assert still_held(FULL, now, gpus, (7, 8)) == (texts, stuck)


@pytest.mark.parametrize(
    ("busy", "holders", "texts", "stuck"),
    [
        ({0: 99}, {}, ("GPU 0 is still 99 % busy and no process is shown",), True),
        ({0: 9}, {}, (), False),
        ({0: 99}, {0: {4242}}, (), False),
        ({0: 99}, {0: {7}}, ("process 7 holds memory on GPU 0",), False),
    ],
    ids=["wedged", "a-moment", "somebody-elses", "a-survivor"],
)
def test_a_gpu_that_works_for_nobody_is_wedged(
    busy: dict[int, int], holders: dict[int, set[int]], texts: tuple[str, ...], stuck: bool
) -> None:
    held = {gpu: frozenset(pids) for gpu, pids in holders.items()}
    now = GpuMemory(True, {0: 4, 1: 4}, held, busy)
    assert still_held(FULL, now, (), (7, 8)) == (texts, stuck)
    assert now.all_stuck((0,)) == (texts if stuck else ())
    assert now.all_stuck((1,)) == ()


def test_what_was_full_before_and_what_cannot_be_read_says_nothing() -> None:
    foreign = GpuMemory(True, {0: 180_000}, {})
    assert still_held(foreign, GpuMemory(True, {0: 80_000}, {}), (), (7,)) == ((), False)
    assert still_held(FULL, GpuMemory(), (), (7,)) == ((), False)
    assert still_held(GpuMemory(), FULL, (), (7,)) == ((), False)
