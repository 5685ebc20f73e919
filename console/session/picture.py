"""A session as one SVG picture: how each server stood over time, what was done, what was measured.

Drawn from the journal alone, with words beside every colour. Texts of the session are text nodes;
nothing in them is markup, a link or a script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from console.model.text import Clean, plain
from console.session.difference import rates_of
from console.session.journal import Journal
from console.session.landmarks import notches
from console.session.words import position
from console.stream.fact import Standing
from console.stream.server_events import StandingChanged
from console.stream.state import State

WIDTH = 960
MOST_BANDS = 2000
MOST_ROWS = 40
_LEFT, _RIGHT, _ROW = 190, 30, 26
_MOST_TEXT = 110
_FILLS = {
    Standing.GENERATING: "#2a7f3f",
    Standing.IDLE: "#7cb98b",
    Standing.ALIVE: "#7cb98b",
    Standing.REACHABLE: "#b9cfe4",
    Standing.STARTING: "#e2b84a",
    Standing.DRAINING: "#e2b84a",
    Standing.DEGRADED: "#d9822b",
    Standing.STALLED: "#c0392b",
    Standing.DOWN: "#6b6b6b",
    Standing.UNKNOWN: "#dddddd",
}
_SIGNS = {"error": "#c0392b", "marker": "#1f5fa8", "act": "#7a3fa0", "gap": "#8a8a8a"}


@dataclass(frozen=True, slots=True)
class _Band:
    """One server in one standing for a while."""

    server: str
    standing: Standing
    from_us: int
    to_us: int


def picture(journal: Journal) -> str:
    """The file's text."""
    state = journal.state_before(len(journal.index))
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": "sans-serif"})
    ground = SubElement(svg, "rect", {"width": str(WIDTH), "fill": "#ffffff"})
    y = _head(svg, journal, state)
    y = _timeline(svg, journal, y + 14)
    y = _rates(svg, state, y + 24)
    y = _verdict(svg, state, y + 10)
    for element in (svg, ground):
        element.set("height", str(y + 16))
    svg.set("width", str(WIDTH))
    svg.set("viewBox", f"0 0 {WIDTH} {y + 16}")
    indent(svg)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(svg, encoding="unicode")


def _head(svg: Element, journal: Journal, state: State) -> int:
    opened = state.session.opened
    name = opened.fleet if opened is not None else Clean(journal.path)
    _text(svg, 16, 30, name, size=18)
    told = [f"{position(journal.length_us)} long"]
    if opened is not None:
        told = [f"{opened.origin}, began {opened.utc}", *told, f"written by {opened.writer}"]
    _text(svg, 16, 50, "; ".join([*told, *journal.losses()]), fill="#555555")
    return 56


def _bands(journal: Journal) -> Iterator[_Band]:
    """How each server stood, in the order of the session; the first that fit a picture."""
    since: dict[str, tuple[Standing, int]] = {}
    drawn = 0
    for number in journal.index.of_kind("standing"):
        event = journal.event(number)
        if not isinstance(event, StandingChanged) or drawn >= MOST_BANDS:
            continue
        drawn += 1
        if event.server in since:
            yield _Band(event.server, *since[event.server], event.t_us)
        since[event.server] = event.standing, event.t_us
    for server, (standing, from_us) in since.items():
        yield _Band(server, standing, from_us, journal.length_us)


def _timeline(svg: Element, journal: Journal, top: int) -> int:
    bands = list(_bands(journal))
    servers = list(dict.fromkeys(band.server for band in bands))[:MOST_ROWS]
    length_us = max(1, journal.length_us)

    def x(t_us: int) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * min(1.0, t_us / length_us), 1)

    for row, server in enumerate(servers):
        y = top + row * _ROW
        _text(svg, 16, y + 15, server, most=22)
        for band in (band for band in bands if band.server == server):
            left, right = x(band.from_us), x(band.to_us)
            size = {"x": str(left), "y": str(y), "width": f"{right - left:.1f}", "height": "20"}
            box = SubElement(svg, "rect", {**size, "fill": _FILLS[band.standing]})
            span = f"{position(band.from_us)} to {position(band.to_us)}"
            SubElement(box, "title").text = f"{plain(Clean(server))} {band.standing.value}, {span}"
            if right - left > 8 * len(band.standing.value):
                dark = band.standing in (Standing.GENERATING, Standing.DOWN, Standing.STALLED)
                ink = "#ffffff" if dark else "#222222"
                _text(svg, left + 4, y + 14, band.standing.value, fill=ink, size=11)
    y = top + len(servers) * _ROW
    for t_us, kind in notches(journal)[:MOST_BANDS]:
        line = {"x1": str(x(t_us)), "x2": str(x(t_us)), "y1": str(y), "y2": str(y + 10)}
        SubElement(svg, "line", {**line, "stroke": _SIGNS[kind], "stroke-width": "2"})
    _text(svg, _LEFT, y + 24, position(0), size=11)
    _text(svg, WIDTH - _RIGHT - 78, y + 24, position(length_us), size=11)
    for place, (kind, colour) in enumerate(_SIGNS.items()):
        _text(svg, _LEFT + 160 + 80 * place, y + 24, f"| {kind}", fill=colour, size=11)
    return y + 30


def _rates(svg: Element, state: State, top: int) -> int:
    """Every run as a dot, the mean as a line; figures that somebody believes are dotted."""
    benches = [one for one in state.benches.values() if one.started is not None and rates_of(one)]
    believed = list(state.assumptions.values())
    if not benches and not believed:
        _text(svg, 16, top + 12, "Nothing was measured in this session.", fill="#555555")
        return top + 20
    runs = [rate for one in benches for rate in rates_of(one)]
    rates = [rate for rate in (*runs, *(one.decode_tok_s for one in believed)) if isfinite(rate)]
    most = 1.05 * max([*rates, 1.0])

    def x(rate: float) -> float:
        # Whatever a file claims stays on the picture.
        share = min(1.0, max(0.0, rate) / most) if isfinite(rate) else 0.0
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT - 120) * share, 1)

    _text(svg, 16, top + 12, "decode tok/s, each run a dot, the mean a line", fill="#555555")
    y = top + 22
    for bench in benches[-MOST_ROWS:]:
        assert bench.started is not None
        _text(svg, 16, y + 14, f"{bench.started.bench} {bench.started.server}", most=24)
        ink = "#1f5fa8" if bench.started.arm.value == "baseline" else "#c2571a"
        for rate in rates_of(bench):
            dot = {"cx": str(x(rate)), "cy": str(y + 9), "r": "3.5", "fill-opacity": "0.6"}
            SubElement(svg, "circle", {**dot, "fill": ink})
        mean = fmean(rates_of(bench))
        _rule(svg, x(mean), y, ink)
        valid = bench.finished is not None and bench.finished.valid
        said = f"{mean:.1f} {bench.started.arm.value}{'' if valid else ', not valid'}"
        _text(svg, x(max(rates_of(bench))) + 10, y + 14, said, fill=ink)
        y += _ROW
    for one in believed[-MOST_ROWS:]:
        _text(svg, 16, y + 14, one.name, most=24)
        _rule(svg, x(one.decode_tok_s), y, "#8a8a8a", dashed=True)
        said = f"{one.decode_tok_s:g} believed, not measured"
        _text(svg, x(one.decode_tok_s) - 8, y + 14, said, fill="#555555", anchor="end")
        y += _ROW
    return y


def _verdict(svg: Element, state: State, top: int) -> int:
    lines: Sequence[str] = ["No verdict was reached."]
    if state.verdicts:
        newest = state.verdicts[-1]
        lines = [newest.verdict, newest.text, *newest.reasons[:8]]
    for place, line in enumerate(lines):
        _text(svg, 16, top + 16 + 18 * place, line, size=15 if place == 0 else 12)
    return top + 18 * len(lines)


def _rule(svg: Element, x: float, y: int, colour: str, *, dashed: bool = False) -> None:
    ends = {"x1": str(x), "x2": str(x), "y1": str(y), "y2": str(y + 18), "stroke": colour}
    dashes = {"stroke-dasharray": "2 3"} if dashed else {}
    SubElement(svg, "line", {**ends, **dashes, "stroke-width": "2"})


def _text(
    svg: Element,
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    fill: str = "#222222",
    most: int = _MOST_TEXT,
    anchor: str = "start",
) -> None:
    shown = plain(Clean(text))
    shown = shown if len(shown) <= most else shown[: most - 1] + "…"
    place = {"x": f"{x:g}", "y": f"{y:g}", "font-size": str(size), "fill": fill}
    SubElement(svg, "text", {**place, "text-anchor": anchor}).text = shown
