"""Waits end with the value, or with a deadline error that shows the last value."""

from __future__ import annotations

import asyncio
import time
from itertools import count

import pytest

from tests.rig.waiting import DeadlineMissedError, auntil, until


def test_until_returns_the_first_true_value() -> None:
    numbers = count()
    assert until(lambda: next(numbers) // 3) == 1
    assert next(numbers) == 4


def test_until_fails_in_time_with_the_last_value() -> None:
    start = time.monotonic()
    with pytest.raises(DeadlineMissedError) as caught:
        until(list[int], 0.05, "some rows")
    assert str(caught.value) == "some rows not met within 0.05 s; last value: []"
    assert 0.05 <= time.monotonic() - start < 1


async def test_auntil_leaves_the_loop_free_and_takes_both_kinds() -> None:
    done = asyncio.Event()
    asyncio.get_running_loop().call_soon(done.set)
    assert await auntil(done.is_set)

    async def answer() -> int:
        return 5

    assert await auntil(answer) == 5


async def test_auntil_fails_with_the_last_value() -> None:
    with pytest.raises(DeadlineMissedError) as caught:
        await auntil(lambda: 0, 0.02)
    assert str(caught.value) == "condition not met within 0.02 s; last value: 0"
