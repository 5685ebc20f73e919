"""Servers whose answers went mad: real ones with parts exchanged, cut or spoiled make no defect."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

import pytest

from console.bench.worker import loads
from console.model.clock import Pace, SystemClock
from console.model.fleet import Arm, Engine, Server
from console.model.mask import Masks
from console.services.circumstances import server_says
from console.services.engine import find, found_events
from console.services.figures import Polls
from console.services.health import ask_once
from console.services.metrics import Poller
from console.services.probe import ask_token
from console.transport.http import Answer
from tests.engines.observing import CAPTURES

SERVER = Server("base", "slot", Arm.BASELINE, "http://127.0.0.1:8000")
NAMES = {
    Engine.SGLANG: {
        "/v1/models": "sglang-v1_models.json",
        "/model_info": "sglang-model_info.json",
        "/server_info": "sglang-ngram-server_info.json",
        "/v1/loads": "sglang-ngram-v1_loads.json",
        "/metrics": "sglang-ngram-metrics.txt",
    },
    Engine.LLAMACPP: {
        "/v1/models": "llamacpp-v1_models.json",
        "/props": "llamacpp-props.json",
        "/slots": "llamacpp-slots.json",
        "/metrics": "llamacpp-metrics.txt",
    },
}
TURNS = 150
JUNK: tuple[object, ...] = (
    None, True, -1, 0, 10**400, 1e308, "", "x" * 9000, "\x1b[31m", "9" * 5000, [], {}, [[]], [None],
    {"": None}, "\ud800", "nan",
)  # fmt: skip


class Mad:
    """An Http whose server answers every path with its own text, changed."""

    def __init__(self, bodies: dict[str, str], chance: random.Random) -> None:
        self._bodies = bodies
        self._chance = chance

    async def get(self, url: str, **how: Any) -> Answer:
        del how
        path = "/" + url.split("/", 3)[3].partition("?")[0]
        if path not in self._bodies:
            return Answer(404, 1)
        return Answer(200, 1, self._changed(self._bodies[path]).encode("utf-8", "surrogatepass"))

    async def post(self, url: str, body: bytes, **how: Any) -> Answer:
        del body
        return await self.get(url, **how)

    def _changed(self, text: str) -> str:
        chance = self._chance
        if text[:1] in "{[":
            found = json.loads(text)
            for _ in range(chance.choice((1, 1, 3, 20))):
                found = _exchanged(found, chance)
            text = json.dumps(found)
        else:
            rows = text.split("\n")
            for _ in range(20):
                row = chance.randrange(len(rows))
                words = rows[row].split(" ")
                words[chance.randrange(len(words))] = str(chance.choice(JUNK))
                rows[row] = " ".join(words)
            text = "\n".join(rows)
        return text[: chance.randrange(len(text) + 1)] if chance.random() < 0.1 else text


def _exchanged(node: Any, chance: random.Random) -> Any:
    """One part of it, somewhere, is junk."""
    if not isinstance(node, dict | list) or not node or chance.random() < 0.1:
        return deepcopy(chance.choice(JUNK))
    key = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
    node[key] = _exchanged(node[key], chance)
    return node


@pytest.mark.parametrize("engine", NAMES)
async def test_no_answer_of_a_server_is_a_defect(engine: Engine) -> None:
    bodies = {path: (CAPTURES / name).read_text() for path, name in NAMES[engine].items()}
    clock, pace, masks = SystemClock(), Pace(), Masks()
    seen = set()
    for turn in range(TURNS):
        http: Any = Mad(bodies, random.Random(turn))
        try:
            found = await find(SERVER.url, http, 5.0)
            seen.add(found.engine)
            list(found_events(found, [SERVER], masks))
            server_says(SERVER, found, masks)
            await ask_once(SERVER, http, pace, masks)
            if found.dialect is not None:
                await ask_token(SERVER, http, found.dialect, found.model, pace)
                polls = Polls(["base"], set(), masks)
                poller = Poller(SERVER, http, found.dialect, clock, pace, polls, lambda: None)
                for _ in range(3):
                    await poller.poll()
        except Exception as error:
            raise AssertionError(f"turn {turn}: {error!r}") from error
    assert engine in seen


def test_no_event_of_a_stream_is_a_defect() -> None:
    assert loads([b"[" * 100_000]) == [None]
    assert loads([b"{}", b"[" * 100_000, b'{"a": 1}']) == [{}, None, {"a": 1}]
