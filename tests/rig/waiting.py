"""Waiting for a condition with a deadline, for tests.

A test states what must become true and by when; a fixed sleep never stands for a condition.
When the deadline passes, the error shows the last value seen. Never retries an exception:
a predicate that raises ends the wait.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

POLL_S = 0.005
SHOWN_CHARS = 4000


class DeadlineMissedError(AssertionError):
    """The condition did not come true in time; the text holds the last value."""


def until(
    predicate: Callable[[], T], deadline_s: float = 30.0, what: str = "", poll_s: float = POLL_S
) -> T:
    """Poll until `predicate()` is truthy and return that value.

    Raises DeadlineMissedError, naming `what` and the last value, after `deadline_s` seconds.
    """
    end = time.monotonic() + deadline_s
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() >= end:
            raise DeadlineMissedError(_missed(what, deadline_s, value))
        time.sleep(poll_s)


@overload
async def auntil(
    predicate: Callable[[], Awaitable[T]], deadline_s: float = 30.0, what: str = ""
) -> T: ...
@overload
async def auntil(predicate: Callable[[], T], deadline_s: float = 30.0, what: str = "") -> T: ...
async def auntil(
    predicate: Callable[[], T | Awaitable[T]], deadline_s: float = 30.0, what: str = ""
) -> T:
    """`until` for async tests: leaves the loop free between polls; the predicate may be async."""
    end = time.monotonic() + deadline_s
    while True:
        answer = predicate()
        value: T = await answer if inspect.isawaitable(answer) else answer
        if value:
            return value
        if time.monotonic() >= end:
            raise DeadlineMissedError(_missed(what, deadline_s, value))
        await asyncio.sleep(POLL_S)


def _missed(what: str, deadline_s: float, value: object) -> str:
    shown = value if isinstance(value, str) and value else repr(value)
    return (
        f"{what or 'condition'} not met within {deadline_s:g} s; last value: "
        + shown[-SHOWN_CHARS:]
    )
