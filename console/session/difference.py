"""Two sessions side by side: environments, arguments, versions, machines, figures.

Says what differs and what cannot be told; never that two nights are the same where one of them
was not seen whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from console.model.text import Clean, plain
from console.session.journal import Journal
from console.stream.fact import Completeness, Pairs
from console.stream.server_events import EnvRead
from console.stream.state import Bench, Server, State

UNKNOWN = "not known"
UNSET = "unset"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not alike.

    Attributes:
        topic: `environment`, `arguments`, `version`, `host`, `figures`, `verdict` or `servers`.
        subject: whose: a server (and source), a host.
        name: which variable, argument or figure.
        before, after: as each session has it.
        told: whether both sessions know; an unknown side is no proof of a difference.
    """

    topic: str
    subject: str
    name: str
    before: str
    after: str
    told: bool = True

    def __str__(self) -> str:
        unsure = "" if self.told else "  (one side was not seen)"
        return (
            f"{self.topic:<12} {self.subject}  {self.name}: {self.before} -> {self.after}{unsure}"
        )


def differences(before: Journal, after: Journal) -> list[Difference]:
    """What differs between two nights, in the order of the first; compared as each one ended."""
    a, b = (journal.state_before(len(journal.index)) for journal in (before, after))
    return [*_servers(a, b), *_hosts(a, b), *_figures(a, b), *_verdicts(a, b)]


def _servers(a: State, b: State) -> Iterator[Difference]:
    for name in dict.fromkeys([*a.servers, *b.servers]):
        if name not in a.servers or name not in b.servers:
            sides = ["seen" if name in state.servers else "not seen" for state in (a, b)]
            yield Difference("servers", name, "server", sides[0], sides[1])
            continue
        one, two = a.servers[name], b.servers[name]
        yield from _compared("version", name, _versions(one), _versions(two))
        yield from _arguments(name, one, two)
        for source in dict.fromkeys([*one.envs, *two.envs]):
            yield from _environment(name, source, one.envs.get(source), two.envs.get(source))


def _versions(server: Server) -> dict[str, str]:
    found: dict[str, str] = {}
    if server.listed is not None:
        found |= {"arm": server.listed.arm.value, "url": server.listed.url}
    if server.engine is not None:
        seen = server.engine
        found |= {"engine": seen.engine.value, "version": seen.version, "model": seen.model}
    if server.arm is not None and server.arm.arm is not None:
        found["arm"] = server.arm.arm.value
    return {name: plain(Clean(value)) for name, value in found.items()}


def _arguments(name: str, one: Server, two: Server) -> Iterator[Difference]:
    if one.args is not None and two.args is not None:
        yield from _pairs("arguments", name, one.args.args, two.args.args)
    elif one.args is not two.args:
        sides = [UNKNOWN if server.args is None else "known" for server in (one, two)]
        yield Difference("arguments", name, "all", sides[0], sides[1], False)


def _environment(
    name: str, source: str, one: EnvRead | None, two: EnvRead | None
) -> Iterator[Difference]:
    subject = f"{name} ({plain(Clean(source))})"
    readable = [read is not None and _readable(read) for read in (one, two)]
    if one is None or two is None or not all(readable):
        if any(readable):
            sides = [
                f"{len(read.values)} variables" if read is not None and _readable(read) else UNKNOWN
                for read in (one, two)
            ]
            yield Difference("environment", subject, "all", sides[0], sides[1], False)
        return
    whole = [read.completeness is Completeness.WHOLE for read in (one, two)]
    yield from _pairs("environment", subject, one.values, two.values, (whole[0], whole[1]))


def _readable(read: EnvRead) -> bool:
    return read.completeness is not Completeness.UNREADABLE


def _pairs(
    topic: str, subject: str, one: Pairs, two: Pairs, whole: tuple[bool, bool] = (True, True)
) -> Iterator[Difference]:
    a, b = ({plain(k): plain(v) for k, v in pairs} for pairs in (one, two))
    for name in sorted({*a, *b}):
        sides = []
        for values, all_seen in ((a, whole[0]), (b, whole[1])):
            sides.append(values.get(name, UNSET if all_seen else UNKNOWN))
        if sides[0] != sides[1]:
            yield Difference(topic, subject, name, sides[0], sides[1], UNKNOWN not in sides)


def _hosts(a: State, b: State) -> Iterator[Difference]:
    for name in dict.fromkeys([*a.hosts, *b.hosts]):
        yield from _compared("host", name, _machine(a, name), _machine(b, name))


def _machine(state: State, name: str) -> dict[str, str]:
    host = state.hosts.get(name)
    if host is None:
        return {}
    found = {f"GPU {gpu.gpu}": plain(gpu.name) for gpu in host.gpus_listed.values()}
    if host.machine is not None:
        found |= {"kernel": plain(host.machine.kernel), "boot": plain(host.machine.boot_id)}
    return found


def _figures(a: State, b: State) -> Iterator[Difference]:
    yield from _compared("figures", "decode tok/s", _rates(a), _rates(b))


def _rates(state: State) -> dict[str, str]:
    """The newest valid benchmark of each server: mean and number of its runs."""
    found: dict[str, str] = {}
    for bench in state.benches.values():
        rates = rates_of(bench)
        if bench.started is not None and bench.finished and bench.finished.valid and rates:
            name = f"{plain(bench.started.server)} {bench.started.arm.value}"
            found[name] = f"{fmean(rates):.2f} ({len(rates)} runs)"
    return found


def rates_of(bench: Bench) -> list[float]:
    """The decode rates of the runs that count."""
    return [
        run.decode_tok_s
        for run in bench.runs
        if run.decode_tok_s is not None and not run.warm_up and not run.void
    ]


def _verdicts(a: State, b: State) -> Iterator[Difference]:
    sides = [plain(state.verdicts[-1].verdict) if state.verdicts else "none" for state in (a, b)]
    if sides[0] != sides[1]:
        yield Difference("verdict", "newest", "verdict", sides[0], sides[1])


def _compared(
    topic: str, subject: str, one: Mapping[str, str], two: Mapping[str, str]
) -> Iterator[Difference]:
    for name in dict.fromkeys([*one, *two]):
        sides = one.get(name, UNKNOWN), two.get(name, UNKNOWN)
        if sides[0] != sides[1]:
            yield Difference(topic, subject, name, *sides, UNKNOWN not in sides)
