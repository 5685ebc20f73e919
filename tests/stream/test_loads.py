"""Earlier loads between events and the estimate that uses them."""

from __future__ import annotations

from console.engines.eta import Earlier
from console.model.text import Clean
from console.stream.loads import earlier_loads, kinds, last_load_s, load_known
from console.stream.session_events import HistoryKnown

NAME = Clean("base")


def test_earlier_loads_come_newest_first_and_the_engine_s_own_times_last() -> None:
    own = load_known(NAME, "startup times", "startup times", (("weights", 9.0),))
    warm = load_known(NAME, "load 1", "warm", (("weights", 10.0), ("graphs", 2.0)))
    cold = load_known(NAME, "load 2", "cold", (("weights", 60.0),))
    other = HistoryKnown(NAME, Clean("baseline"), ((Clean("tok_s"), 62.9),), ())
    history: dict[str, HistoryKnown] = {known.topic: known for known in (own, warm, cold, other)}
    assert earlier_loads(history) == (
        Earlier("cold history", (("weights", 60.0),)),
        Earlier("warm history", (("weights", 10.0), ("graphs", 2.0))),
        Earlier("startup times", (("weights", 9.0),)),
    )


def test_what_the_last_load_took_is_in_the_time_of_the_clock() -> None:
    own = load_known(NAME, "startup times", "startup times", (("weights", 9.0),))
    warm = load_known(NAME, "load 1", "warm", (("weights", 10.0), ("graphs", 2.0)))
    assert last_load_s({}) is None
    assert last_load_s({own.topic: own, warm.topic: warm}) == 12.0
    assert last_load_s({own.topic: own, warm.topic: warm}, scale=10.0) == 1.2
    assert last_load_s({own.topic: own}, scale=10.0) == 9.0, "told by the server just as it passed"


def test_a_load_is_cold_when_its_weights_took_twice_the_quickest() -> None:
    loads = [(("weights", seconds),) for seconds in (20.0, 41.0, 39.0, 20.5)]
    assert kinds(loads) == ["warm", "cold", "warm", "warm"]
    assert kinds([(("http", 1.0),)]) == ["warm"]
    assert kinds([]) == []
