"""A session as one page of evidence in Markdown: what was found, and what it rests on.

Figures, verdicts, environments, provenance, what was done, the log lines that matter. Every text
of the session is quoted so that no markup of it is ever obeyed; what is not known is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from statistics import fmean, median

from console.model.markdown import fenced, quoted
from console.model.text import Clean, plain
from console.session.journal import Journal
from console.session.matter import lines_that_matter
from console.session.words import position
from console.stream.fact import Completeness, Pairs
from console.stream.run_events import VerdictReached
from console.stream.server_events import EnvRead
from console.stream.state import Act, Bench, Server, State

_FORMULA = "decode tok/s = (tokens − tokens of the first chunk) / (last chunk − first chunk)"


def evidence(journal: Journal, grave: Callable[[str], bool]) -> Iterator[str]:
    """The page, line by line.

    Args:
        grave: whether a log line reports an error, by the grammar of the engines.
    """
    state = journal.state_before(len(journal.index))
    yield from _head(journal, state)
    yield from _section("Verdict", _verdicts(state))
    yield from _section("Figures", _figures(state))
    yield from _section("Environments", _environments(state))
    yield from _section("Provenance", _provenance(state))
    yield from _section("What was done", _done(state))
    yield from _section("Log lines that matter", _logs(journal, grave))


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"\n## {title}\n"
    held = False
    for line in lines:
        held = True
        yield line
    if not held:
        yield "Nothing of this is in the session."


def _head(journal: Journal, state: State) -> Iterator[str]:
    opened = state.session.opened
    yield f"# Evidence: {_text(opened.fleet if opened else journal.path)}\n"
    if opened is not None:
        if opened.origin != "live":
            yield f"**This session is {_text(opened.origin)}, not recorded live.**\n"
        yield f"- began {_text(opened.utc)}, recorded by {_text(opened.writer)}"
    yield f"- length {position(journal.length_us)}, {len(journal.index):,} blocks"
    whole = "closed in order" if journal.closed else "**not closed: it was cut or still runs**"
    yield f"- {whole}"
    for loss in journal.losses():
        yield f"- **{_text(loss)}**"


def _verdicts(state: State) -> Iterator[str]:
    for verdict in state.verdicts:
        yield f"**{_text(verdict.verdict)}** {_text(verdict.text)}\n"
        yield f"- {_text(verdict.speculative)} against {_text(verdict.baseline)}{_ratio(verdict)}"
        for reason in verdict.reasons:
            yield f"- {_text(reason)}"
        yield ""


def _ratio(verdict: VerdictReached) -> str:
    if verdict.ratio is None:
        return ""
    told = f": {(verdict.ratio - 1) * 100:+.1f} %"
    if verdict.low is None or verdict.high is None:
        return told
    return (
        f"{told}, 95 % interval {(verdict.low - 1) * 100:+.1f} to {(verdict.high - 1) * 100:+.1f} %"
    )


def _figures(state: State) -> Iterator[str]:
    benches = [bench for bench in state.benches.values() if bench.started is not None]
    if benches:
        yield "| benchmark | server | arm | mean decode tok/s | each run | median TTFT ms | valid |"
        yield "|---|---|---|---|---|---|---|"
        yield from map(_bench, benches)
        yield f"\n{_FORMULA}"
    for assumed in state.assumptions.values():
        yield (
            f"\nAssumed, not measured: {_text(assumed.name)} {assumed.decode_tok_s:.1f} tok/s, "
            f"{_text(assumed.source)}."
        )


def _bench(bench: Bench) -> str:
    assert bench.started is not None
    runs = [run for run in bench.runs if not run.warm_up]
    rates = [run.decode_tok_s for run in runs if run.decode_tok_s is not None and not run.void]
    first = [run.ttft_us / 1e3 for run in runs if run.ttft_us is not None and not run.void]
    void = sum(bool(run.void) for run in runs)
    finished = bench.finished
    valid = "not finished" if finished is None else "yes" if finished.valid else "**no**"
    why = f": {_text(finished.why)}" if finished is not None and finished.why else ""
    each = ", ".join(f"{rate:.1f}" for rate in rates) + (f"; {void} void" if void else "")
    cells = (
        _text(bench.started.bench),
        _text(bench.started.server),
        bench.started.arm.value,
        f"{fmean(rates):.2f}" if rates else "–",
        each or "–",
        f"{median(first):.0f}" if first else "–",
        valid + why,
    )
    return f"| {' | '.join(cells)} |"


def _environments(state: State) -> Iterator[str]:
    for name, server in state.servers.items():
        for read in server.envs.values():
            yield f"### {_text(name)}, from {_text(read.source)}\n"
            yield _read(read)
            if read.values:
                yield from _fenced(sorted(f"{key}={value}" for key, value in read.values))
            yield ""
        drift = server.drift
        if drift is not None:
            yield f"{_text(name)} drifted: {_text(drift.why)}\n"
            yield from (f"- lost {_text(pair)}" for pair in drift.lost)
            yield from (f"- changed {_text(key)}: {_text(value)}" for key, value in drift.changed)
            yield ""


def _read(read: EnvRead) -> str:
    why = f" ({_text(read.why)})" if read.why else ""
    match read.completeness:
        case Completeness.WHOLE:
            return f"Read whole{why}: what is absent is unset." + (
                "" if read.values else " Nothing is set."
            )
        case Completeness.PARTLY:
            return f"Read partly{why}: what is absent may still be set."
        case Completeness.UNREADABLE:
            return f"Could not be read{why}."


def _provenance(state: State) -> Iterator[str]:
    for name, server in state.servers.items():
        yield from _server(name, server)
    for bench in state.benches.values():
        for taken in bench.circumstances.values():
            title = f"{_text(taken.bench)}: {_text(taken.group)} {_text(taken.digest)}"
            yield from _table(title, taken.values)
    for name, host in state.hosts.items():
        seen = host.machine
        link = host.link.link.value if host.link else "link unknown"
        kernel = f", kernel {_text(seen.kernel)}, boot {_text(seen.boot_id)}" if seen else ""
        yield f"- host {_text(name)}: {link}{kernel}"
        for gpu in host.gpus_listed.values():
            yield f"- GPU {gpu.gpu} of {_text(name)}: {_text(gpu.name)}"
        if host.no_gpus is not None:
            yield f"- GPUs of {_text(name)}: {_text(host.no_gpus.why)}"


def _server(name: str, server: Server) -> Iterator[str]:
    listed = server.listed
    arm = f"{listed.arm.value}, {_text(listed.url)}" if listed else "not listed"
    yield f"- server {_text(name)}: {arm}"
    if server.engine is not None:
        seen = server.engine
        yield f"  - {seen.engine.value} {_text(seen.version)}, model {_text(seen.model)}"
    if server.arm is not None:
        runs = server.arm.arm.value if server.arm.arm else "not this arm"
        yield f"  - runs as {runs}: {_text(server.arm.evidence)}"
    if server.args is not None:
        yield ""
        yield from _fenced([f"{key} = {value}" for key, value in server.args.args])
        yield ""


def _table(title: str, values: Pairs) -> Iterator[str]:
    yield f"\n{title}\n"
    yield from _fenced([f"{key} = {value}" for key, value in values])
    yield ""


def _done(state: State) -> Iterator[str]:
    done: list[tuple[int, str]] = []
    session = state.session
    done += [(marker.t_us, f"marked: {_text(marker.name)}") for marker in session.markers]
    done += [(note.t_us, f"noted: {_text(note.text)}") for note in session.notes]
    for step in session.steps:
        how = "passed" if step.exit == 0 else f"**failed with exit {step.exit}**"
        what = f"{_text(step.verb)} {_text(step.server)}".rstrip()
        done.append((step.t_us, f"step {_text(step.step)}, {what}: {how} {_text(step.text)}"))
    for act in state.acts.values():
        done += _act(act)
    yield from (f"- {position(t_us)} {said}" for t_us, said in sorted(done, key=itemgetter(0)))


def _act(act: Act) -> Iterator[tuple[int, str]]:
    if act.requested is not None:
        asked = act.requested
        said = f"**{_text(asked.verb)} {_text(asked.server)}**, asked by {_text(asked.who)}"
        yield asked.t_us, f"{said}, confirmed: {_text(asked.confirmed)}"
    if act.refused is not None:
        said = f"{_text(act.refused.verb)} {_text(act.refused.server)}"
        yield act.refused.t_us, f"**{said} refused**: {_text(act.refused.why)}"
    if act.finished is not None:
        yield act.finished.t_us, f"{_text(act.finished.outcome)}: {_text(act.finished.text)}"


def _logs(journal: Journal, grave: Callable[[str], bool]) -> Iterator[str]:
    for log, parts in lines_that_matter(journal, grave).items():
        yield f"### {_text(log)}\n"
        for part in parts:
            yield f"{position(part.t_us)}, {_text(part.why)}:\n"
            yield from _fenced(part.lines)
            yield ""


def _fenced(lines: Sequence[str]) -> list[str]:
    return fenced([plain(Clean(line)) for line in lines])


def _text(text: str) -> str:
    return quoted(plain(Clean(text)))
