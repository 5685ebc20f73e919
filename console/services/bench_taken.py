"""The circumstances of one benchmark: taken at its start, looked at again after every run.

Owns what may not change while an arm is measured, since its runs would be two samples. It must
never take what could not be read again for a change.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from console.bench.plan import Plan
from console.bench.promptset import PromptSet
from console.bench.provenance import Group, Value
from console.model.clock import utc_text
from console.model.fleet import Engine
from console.model.mask import Masks
from console.model.text import Clean
from console.model.version import written_version
from console.services.bench_load import GpuLoad
from console.services.bench_run import DIALECTS, Requests
from console.services.circumstances import Groups, joined, look_at_host
from console.services.timing import Place
from console.stream.events import Event
from console.stream.measured import circumstances_taken
from console.transport.wire import Wire

_HELD = ("launch", "conf", "gpu")
_PASSING = frozenset({"taken_utc", "ecc_errors", "ecc_errors_uncorrected", "remapped_rows"})


@dataclass(slots=True)
class Taking:
    """`wire` leads to the server's host; `version` is the engine with its version, `said` what the
    server tells of itself, `environment` reads what is in effect in its processes."""

    bench: Clean
    version: str
    said: Groups
    requests: Requests
    wire: Wire
    masks: Masks
    environment: Callable[[], Awaitable[Group]]
    _taken: Groups = field(default_factory=dict)

    async def at_start(self, plan: Plan, place: Place, python: str) -> tuple[Event, ...]:
        """All groups, before the first request. `python`: the worker's."""
        probed = await self._host(self.said)
        taken = joined(probed, self.said) | {"env": await self.environment()}
        versions = taken.get("versions", Group({}))
        engine: dict[str, Value] = {"engine": self.version, "client": written_version()}
        where: dict[str, Value] = {"place": place.way, "python": python}
        taken["versions"] = Group({**versions.values, **engine}, versions.unread)
        taken["client"] = Group(where)
        taken["request"] = _request(plan, self.requests.engine)
        self._taken = taken
        return self.events(tuple(taken))

    async def _host(self, said: Groups | None = None) -> Groups:
        requests = self.requests
        utc, deadline_s = utc_text(requests.clock.utc()), requests.pace.read_deadline_s
        return await look_at_host(requests.server, self.wire, deadline_s, utc, said)

    async def changed(self) -> tuple[str, ...]:
        """Groups that are not as they were when the arm began; what cannot be read again says
        nothing. Arguments are asked for once: a process cannot change them."""
        now, found = await self._host(), []
        for name in _HELD:
            group, before = now.get(name), self._taken.get(name)
            if group is None or before is None or group.unread or before.unread:
                continue
            lasting = _lasting(group)
            if lasting != {key: before.values.get(key) for key in lasting}:
                self._taken[name] = Group({**before.values, **group.values})
                found.append(name)
        return tuple(found)

    def loaded(self, load: GpuLoad) -> tuple[str, ...]:
        """`load`, where the GPUs' load over the runs so far differs from what was said of it."""
        group = load.group()
        if group is None or group == self._taken.get("load"):
            return ()
        self._taken["load"] = group
        return ("load",)

    def events(self, names: tuple[str, ...]) -> tuple[Event, ...]:
        return tuple(
            circumstances_taken(self.bench, name, self._taken[name], self.masks) for name in names
        )


def _lasting(group: Group) -> dict[str, Value]:
    return {key: value for key, value in group.values.items() if key not in _PASSING}


def _request(plan: Plan, engine: Engine) -> Group:
    """What every run is asked for."""
    s = plan.sampling
    chosen = PromptSet(plan.prompts.name, plan.chosen)
    return Group(
        {
            "max_tokens": str(s.max_tokens),
            "ignore_eos": str(s.ignore_eos),
            "temperature": f"{s.temperature:g}",
            "top_p": f"{s.top_p:g}",
            "seed": str(s.seed),
            "prompt_set": plan.prompts.name,
            "prompt_hash": chosen.digest(),
            "depth": plan.depth,
            "concurrency": "1",
            "dialect": plan.dialect or DIALECTS.get(engine, "completions"),
        }
    )
