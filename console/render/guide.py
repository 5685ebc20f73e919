"""What each pane is for, which keys are its own, and what its words and signs mean.

Data for the help; every pane that can be focused has a page here, by its id.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from console.render.standings import SHAPES
from console.stream.fact import Standing


@dataclass(frozen=True, slots=True)
class Page:
    """The help of one pane.

    Attributes:
        about: what the pane is, in sentences.
        verbs: ids, or beginnings of ids that end in a dot, of the verbs that act on it.
        words: signs and words with their meanings.
    """

    title: str
    about: str
    verbs: tuple[str, ...]
    words: tuple[tuple[str, str], ...] = ()


_STANDS = {
    Standing.UNKNOWN: "nothing could be asked yet, or nothing that was answered says how it is",
    Standing.DOWN: "nothing answers, its load failed, or the other arm has its slot",
    Standing.STARTING: "it loads: what it is doing, and how long it still needs",
    Standing.REACHABLE: "something answers, but not as a server that is well",
    Standing.ALIVE: "its health answers 200; whether it makes tokens is not known",
    Standing.GENERATING: "it makes tokens now",
    Standing.IDLE: "it is well and no request runs",
    Standing.DEGRADED: "it answers, slowly or with errors; the reason stands beside it",
    Standing.STALLED: "requests run and no token comes, or a load stands still",
    Standing.DRAINING: "it is ending and takes no more requests",
}
_SCROLL = ("logs.page_up", "logs.page_down", "logs.line_up", "logs.line_down")
_BENCH = ("bench", "bench.stop", "compare", "assume")
_ENV = ("env", "environment.edit", "plan", "profile")
_ACTS = ("adopt", "launch", "stop", "swap", "restart", "unlock", "lock")
_LOG = Page(
    "Log",
    "The log of the selected server as the server wrote it, followed by file and byte. Only the "
    "look is changed here: what is hidden or folded is counted and comes back.",
    ("logs.",),
    (
        ("following", "new lines come into view as they arrive"),
        ("scrolled, paused", "the view holds still; how much came since stands beside it"),
        ("▸ 41 lines", "a traceback, folded to its last line; ↵ opens it"),
        ("×3", "the same line, so often in a row"),
        ("── …", "the console's own words: a lost link, what is missing, what was read again"),
        ("≈", "when a line came in, where it carries no time of its own"),
        ("▪", "a selected line"),
    ),
)
_CHRONICLE = Page(
    "Session",
    "What was marked, done, noticed and lost, in the order in which it happened.",
    ("marker", "note", "save", *_SCROLL, "logs.follow"),
    (
        ("◆ marker", "a moment that somebody named"),
        ("✓ step, ✗ step", "what somebody or a script asked for, and how it ended"),
        ("lost", "events or lines that could not be recorded, with their number"),
    ),
)

PAGES: dict[str, Page] = {
    "servers": Page(
        "Servers",
        "Every server of the fleet. The selected one (▶) is whose log, detail and environment are "
        "shown, and whom a key asks, measures or changes.",
        ("servers.", "logs.open", "health", "generate", "topology", "view.detail", *_ACTS),
        (
            *((f"{shape} {now.value}", _STANDS[now]) for now, (shape, _) in SHAPES.items()),
            ("TOK/S", "decode tokens a second, seen in the last ten seconds"),
            ("LAST 2 MIN", "the same, ten seconds a bar, from zero"),
            ("ACCEPT", "tokens gained by one verify pass of the speculative arm"),
            ("R+Q", "requests running + waiting"),
            ("LAST TOKEN", "how long ago a token was seen, by log, metrics or benchmark"),
            ("NCCL ✗ 6 lost", "so many variables that it is wanted to have, or had, and lacks"),
            ("NCCL ≠, ✓", "other values than wanted; as wanted, or as in the last good run"),
            ("– and ?", "nothing there; not known"),
        ),
    ),
    "chart": Page(
        "Baseline and speculative",
        "Every run of the newest benchmark of each arm: decode tokens a second, one request at a "
        "time, counted from the server's usage.",
        (*_BENCH, "logs.open"),
        (
            ("●, ▲", "a run of the baseline, of the speculative arm"),
            ("┃, ║", "the interval of an arm's mean"),
            ("w, ·", "a warm-up: shown, never counted"),
            ("×", "a run that does not count; the page of benchmarks says why"),
            ("┄", "a figure that somebody believes: never a baseline"),
        ),
    ),
    "verdict": Page(
        "Verdict",
        "What comparing both arms came to, under which circumstances, and what to do next.",
        (*_BENCH, "logs.open", "mode.environment"),
        (
            ("FASTER, SLOWER", "the interval of the ratio lies above, below what is the same"),
            ("SAME", "the interval lies within what counts as no difference"),
            ("NOT COMPARABLE", "something else than the arm differs: it is named"),
            ("INVALID RUN", "a run was disturbed: it is said by what"),
            ("!", "true all the same, but to be known"),
            ("Next", "the key that leads on"),
        ),
    ),
    "log": _LOG,
    "merged": _LOG,
    "detail": Page(
        "Detail",
        "The selected server: its load, its figures with their formulas, its GPUs, and its "
        "arguments beside those of the other arm.",
        ("view.detail", "servers.", *_SCROLL),
    ),
    "truth": Page(
        "Who says what",
        "Each variable as every source has it, and what is in effect. A shell that is opened now "
        "proves nothing about a process that runs: these are read from the processes themselves.",
        (*_ENV, *_SCROLL),
        (
            ("WANTED", "the profile kept for this server, or an imported document"),
            ("RECIPE", "what its recipe launches it with"),
            ("LAUNCHER", "the process that was launched"),
            ("TRACKER", "a child that the launcher's environment was handed on to whole"),
            ("RANKS", "the processes that compute; their start is partly overwritten"),
            ("NCCL SAYS", "what the library itself wrote into the log"),
            ("✗ lost, ≠ differs", "wanted but unset; wanted otherwise"),
            ("+ extra", "set, though nobody wanted it"),
            ("engine", "the engine sets it by itself"),
            ("– or ?", "unset; could not be read, so not known to be unset"),
        ),
    ),
    "findings": Page(
        "Findings",
        "What NCCL would make of the wanted profile, else of what is in effect.",
        (*_ENV, *_SCROLL),
        (
            ("error", "NCCL refuses it, ignores it or reads it as something else"),
            ("warning", "it costs something or works against another variable"),
            ("note", "good to know"),
        ),
    ),
    "matter": Page(
        "Does it matter here?",
        "Whether these variables reach decode at all: which way its all-reduce goes, and the line "
        "of the log or the argument that proves it.",
        _ENV,
    ),
    "runs": Page(
        "Runs",
        "Every run of the newest benchmark of each arm.",
        (*_BENCH, *_SCROLL),
        (
            ("TOK/S", "(N - n1) / (tn - t1): tokens after the first chunk over their time"),
            ("TTFT", "time to first token"),
            ("ACCEPT", "tokens gained by one verify pass"),
        ),
    ),
    "beside": Page(
        "Cycle, history, circumstances",
        "What stands beside the verdict: a cycle of the draft, where speculation breaks even, "
        "former runs, and every circumstance that differs between the arms.",
        (*_BENCH, *_SCROLL),
        (
            ("projected", "worked out, not measured"),
            ("✗, !, ·", "it forbids a comparison; to be known; it differs as arms must"),
        ),
    ),
    "chronicle": _CHRONICLE,
}


def page_of(pane: str) -> Page | None:
    """The page of a pane by its id; `beside-2` is one of the logs side by side."""
    return _LOG if pane.startswith("beside-") else PAGES.get(pane)


def verbs_of(page: Page, known: Iterable[str]) -> list[str]:
    """Those of the known verbs that act on the page's pane, in the page's order."""
    known = tuple(known)
    return [
        verb
        for own in page.verbs
        for verb in known
        if verb == own or (own.endswith(".") and verb.startswith(own))
    ]
