"""The selected server in detail: what runs, how far its load is, its figures with their formulas,
the GPUs of its host, and how its arguments differ from the other arm's.

Pure text with roles from State and the time; a figure that is not exported has no line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.engines.arm import differences
from console.engines.rates import definition
from console.engines.versions import version
from console.model.fleet import Engine
from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.gpus import gpu_lines
from console.render.label import label
from console.render.loading import load_lines
from console.render.spans import fitted
from console.render.standings import arm_span, standing_spans
from console.render.units import UNKNOWN, age, count, duration
from console.stream.state import Server, State

_NAME = 14
_TELLING = (
    "model_path",
    "tp_size",
    "dp_size",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "attention_backend",
    "speculative_algorithm",
    "speculative_draft_model_path",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "speculative_config",
    "build_info",
    "total_slots",
)


def detail_lines(state: State, name: str, now_us: int, room: int) -> tuple[Spans, ...]:
    """Everything about one server, sections apart by an empty line, each line `room` cells."""
    server = state.servers.get(name)
    if server is None:
        return ((Span("no server is selected", Role.DIM),),)
    host = state.hosts.get(server.listed.host) if server.listed else None
    sections = (
        ("", what_lines(server, now_us, room)),
        ("Load", load_lines(server, now_us, room)),
        ("Figures", figure_lines(server, now_us, room)),
        ("GPUs", gpu_lines(host, room)),
        ("Arguments", argument_lines(state, name, room)),
    )
    found: list[Spans] = []
    for title, lines in sections:
        if not lines:
            continue
        if found:
            found.append(fitted((), room))
        if title:
            found.append(fitted((Span(title, Role.TITLE),), room))
        found.extend(lines)
    return tuple(found)


def what_lines(server: Server, now_us: int, room: int) -> tuple[Spans, ...]:
    """Standing and reason, engine and model, arm and by what it is known, last token, health."""
    why = label(server.standing.why) if server.standing else ""
    shown = standing_spans(server)
    if why and not any(why in span.text for span in shown):
        shown = (*shown, Span(f"  {why.removeprefix('not loaded: ')}", Role.DIM))
    lines = [_named("standing", shown)]
    engine = server.engine
    if engine is not None:
        text = f"{engine.engine.value} {label(engine.version)}".rstrip()
        model = f"  {label(engine.model)}" if engine.model else ""
        by = Span(f"  by {label(engine.evidence)}", Role.DIM)
        lines.append(_named("engine", (Span(text, Role.STRONG), Span(model), by)))
    lines.append(_named("arm", _arm(server)))
    token = server.token
    if token is not None:
        told = Span(f"  seen in {label(token.source)}", Role.DIM)
        lines.append(_named("last token", (Span(age(now_us - token.t_us)), told)))
    health = server.health
    loaded = server.arm is None or server.arm.arm is not None
    if health is not None and loaded:
        answer = str(health.code) if health.failure is None else health.failure.value
        took = f" in {duration(health.wait_us)}, {age(now_us - health.t_us)}"
        lines.append(
            _named("health", (Span(f"{label(health.path)} {answer}"), Span(took, Role.DIM)))
        )
    return tuple(fitted(line, room) for line in lines)


def _arm(server: Server) -> Spans:
    seen, listed = server.arm, server.listed
    if seen is None:
        if listed is None:
            return (Span(UNKNOWN, Role.DIM),)
        return (arm_span(listed.arm), Span("  as listed; not confirmed", Role.DIM))
    evidence = Span(f"  {label(seen.evidence)}", Role.DIM)
    if seen.arm is None:
        return (Span("not loaded", Role.DOWN), evidence)
    doubt = listed is not None and seen.arm is not listed.arm
    other = Span(f"  ! listed as {listed.arm.value}", Role.WARNING) if doubt and listed else None
    return (arm_span(seen.arm), evidence, *((other,) if other else ()))


def figure_lines(server: Server, now_us: int, room: int) -> tuple[Spans, ...]:
    """A line for each figure there is: name, value, what it means and how it is made."""
    found: list[Spans] = []
    token = server.token
    if token is not None and token.decode_tok_s is not None:
        how = "as its log prints it" if token.source == "log" else "Δ tokens / Δ time"
        value = f"{token.decode_tok_s:.1f} tok/s"
        found.append(_figure("decode", value, f"{how}, {age(now_us - token.t_us)}"))
    if token is not None and token.accept_len is not None:
        meaning = "tokens a verify step, the bonus token counted"
        found.append(_figure("accept length", f"{token.accept_len:.2f}", meaning))
    metric = server.metric
    if metric is None:
        return tuple(fitted(line, room) for line in found)
    figures = {str(name): value for name, value in metric.figures}
    if rate := figures.get("accept_rate"):
        found.append(_figure("accept rate", f"{rate:.2f}", _accept_rate(server)))
    found += _metric_lines(figures)
    source = f"{label(metric.source)}, {age(now_us - metric.t_us)}"
    found.append(_named("read from", (Span(source, Role.DIM),)))
    return tuple(fitted(line, room) for line in found)


def _accept_rate(server: Server) -> str:
    """What the engine's rate means: the word is one, the definition changed between versions."""
    engine = server.engine
    if engine is None or engine.engine is not Engine.SGLANG:
        return "as the engine reports it"
    known = definition((), version(engine.version))
    match known.rate if known is not None else None:
        case "len / draft tokens":
            return "accept length / draft tokens, the bonus counted (up to 0.5.9)"
        case "correct / proposed":
            return "correct drafts / proposed drafts (since 0.5.12)"
        case None:
            return "one of two definitions; this version's is not known"


def _metric_lines(figures: Mapping[str, float]) -> Iterable[Spans]:
    running, queued = figures.get("running"), figures.get("queued")
    if running is not None or queued is not None:
        parts = (UNKNOWN if one is None else count(round(one)) for one in (running, queued))
        yield _figure("requests", "+".join(parts), "running + queued")
    if (usage := figures.get("token_usage")) is not None:
        yield _figure("token usage", f"{usage:.1%}", "share of the KV pool in use")
    if (hit := figures.get("cache_hit")) is not None:
        yield _figure("cache hit", f"{hit:.1%}", "prompt tokens found in the prefix cache")
    for name, kind, meaning in (
        ("TTFT", "ttft", "time to first token"),
        ("ITL", "itl", "time between tokens"),
    ):
        middle, high = figures.get(f"{kind}_p50_s"), figures.get(f"{kind}_p95_s")
        if middle is not None:
            value = duration(round(middle * 1e6))
            if high is not None:
                value += f", {duration(round(high * 1e6))}"
            text = f"{meaning}, p50 and p95, as fine as its buckets"
            yield _figure(name, value, text)
    if retracted := figures.get("retracted_total") or figures.get("retracted"):
        yield _figure("retracted", count(round(retracted)), "requests taken back for want of KV")


def argument_lines(state: State, name: str, room: int) -> tuple[Spans, ...]:
    """How the slot's two arms differ; with one set of arguments only what tells most of it."""
    server = state.servers[name]
    if server.args is None:
        return (fitted((Span("not known yet", Role.DIM),), room),)
    own = {str(key): str(value) for key, value in server.args.args}
    other = _other(state, name)
    if other is None:
        shown = [key for key in _TELLING if key in own]
        lines = [_named(label(key), (Span(label(own[key])),), wide=32) for key in shown]
        lines.append((Span(f"{len(own)} arguments; the other arm's are not known", Role.DIM),))
        return tuple(fitted(line, room) for line in lines)
    found = differences(own, {str(k): str(v) for k, v in other[1]})
    head = _pair("", label(name), label(other[0]), room, Role.DIM)
    if not found:
        return (head, fitted((Span("no argument differs", Role.GOOD),), room))
    return (
        head,
        *(_pair(key, _text(a), _text(b), room, Role.TEXT) for key, a, b in found),
    )


def _other(state: State, name: str) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """The other server of the slot whose arguments are known."""
    listed = state.servers[name].listed
    for other, cell in state.servers.items():
        if other == name or cell.listed is None or listed is None or cell.args is None:
            continue
        if (cell.listed.host, cell.listed.slot) == (listed.host, listed.slot):
            return other, tuple((str(k), str(v)) for k, v in cell.args.args)
    return None


def _pair(key: str, left: str, right: str, room: int, role: Role) -> Spans:
    wide = max(8, (room - 38) // 2)
    cell = fitted((Span(key, Role.DIM),), 34)
    return fitted(
        (
            *cell,
            Span("  "),
            *fitted((Span(left, role),), wide),
            Span("  "),
            *fitted((Span(right, role),), wide),
        ),
        room,
    )


def _text(value: str | None) -> str:
    return "–" if value is None else label(value)


def _named(name: str, spans: Spans, wide: int = _NAME) -> Spans:
    return (*fitted((Span(name, Role.DIM),), wide), Span(" "), *spans)


def _figure(name: str, value: str, meaning: str) -> Spans:
    return _named(name, (*fitted((Span(value, Role.STRONG),), 18), Span(" " + meaning, Role.DIM)))
