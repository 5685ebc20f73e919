"""What a look at a server says where it does not answer as it should."""

from __future__ import annotations

import pytest

from console.model.clock import SystemClock
from console.model.exits import Exit
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.services.checking import answers
from console.transport.http import Answer, AnswerError, Http
from console.transport.local import LocalWire

URL = "https://127.0.0.1:8000"


class Failing(Http):
    """Answers nothing but this failure."""

    def __init__(self, error: WireError) -> None:
        super().__init__(LocalWire(Host("here")), SystemClock())
        self._error = error

    async def get(self, url: str, *, deadline_s: float, most_bytes: int = 0) -> Answer:
        del url, deadline_s, most_bytes
        raise AnswerError(self._error, 1)


@pytest.mark.parametrize(
    ("error", "mend"),
    [
        (WireError(Failure.CERTIFICATE, "not trusted", ("name it with ca_file",)), "ca_file"),
        (WireError(Failure.REFUSED, "connection refused"), "is this its port"),
    ],
)
async def test_it_says_how_to_mend_what_failed(error: WireError, mend: str) -> None:
    http = Failing(error)
    check, found = await answers(URL, http, 5.0)
    assert (check.good, check.code, found) == (False, Exit.UNREACHABLE, None)
    assert mend in check.mend
    await http.close()
