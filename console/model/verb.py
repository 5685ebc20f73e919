"""The table of verbs: everything a key, a palette entry, a subcommand or a script step can do.

Specs only; handlers live in control. Single words are script verbs; dotted names only move the
screen or the player and never enter a script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

REFERENCE = re.compile(r"\$\{([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)\}")
"""How a script refers to a variable, to the run, or to a result of a step before."""


class Need(StrEnum):
    """What a verb needs to be allowed."""

    NOTHING = "nothing"
    LIVE = "live"
    """A live feed: refused in a replay."""
    REPLAY = "replay"
    """A player: refused while live."""
    UNLOCK = "unlock"
    """It changes a host: refused while read-only and in a replay."""


class Kind(StrEnum):
    """What a field of a script step holds."""

    TEXT = "text"
    PATH = "path"
    NUMBER = "number"
    DECIMAL = "decimal"
    DURATION = "duration"
    CONDITIONS = "conditions"
    UNTIL = "until"
    COMMAND = "command"
    ITEMS = "items"
    STEPS = "steps"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a verb in a script."""

    name: str
    kind: Kind
    help: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb.

    Attributes:
        id: also the id of its key binding.
        title: as the palette and the footer show it.
        key: default keys, comma separated; empty for none.
        script: its fields in a script; None when it is no script verb.
        sole: the field that a bare value stands for (`marker = "text"`).
        per_server: it runs once for each targeted server.
        gives: names of the results a later `${step.name}` may use.
        on_screen: a person may ask for it; others make sense only among the steps of a script.
    """

    id: str
    title: str
    help: str
    key: str = ""
    need: Need = Need.NOTHING
    script: tuple[Field, ...] | None = None
    sole: str = ""
    per_server: bool = False
    gives: tuple[str, ...] = ()
    on_screen: bool = True


_GRACE = Field("grace", Kind.DURATION, "from TERM to the launcher until its survivors are told")
_KILL = Field("kill_after", Kind.DURATION, "KILL is allowed so long after TERM; else never")
_START = (
    Field("env", Kind.TEXT, 'variables over the recipe\'s: "NAME=VALUE -NAME"'),
    Field("args", Kind.TEXT, "arguments behind the recipe's, where the last of a name counts"),
    Field("recipe", Kind.TEXT, "what adopt kept on the host, in place of the recipe"),
    Field("see", Kind.TEXT, '"ranks" keeps their environment readable, "nccl" has NCCL tell'),
    Field("ready_within", Kind.DURATION, "a load that takes longer is warned about, 900 s"),
    Field("on_fail", Kind.TEXT, '"rollback" launches what ran before once this fails'),
    Field(
        "method", Kind.TEXT, '"tmux" starts it in a window of tmux; in the background if left out'
    ),
)

VERBS: dict[str, Verb] = {
    verb.id: verb
    for verb in (
        Verb(
            "health",
            "Ask health now",
            "Ask the health path of a server once.",
            key="h",
            script=(
                Field("path", Kind.PATH, "path to ask, /health when left out"),
                Field("expect", Kind.NUMBER, "status code expected, 200 when left out"),
            ),
            per_server=True,
            gives=("code", "wait_us", "failure", "standing"),
        ),
        Verb(
            "generate",
            "Ask for a token",
            "Have a server make one token now: the proof that no health path is.",
            key="G",
            need=Need.LIVE,
            script=(),
            per_server=True,
            gives=("path", "wait_us", "failure", "standing"),
        ),
        Verb(
            "topology",
            "Read the topology",
            "How the GPUs of a server's host are joined, and which read each other's memory.",
            key="O",
            script=(),
            per_server=True,
            gives=("gpus", "worst", "nvlink", "apart"),
        ),
        Verb(
            "tail",
            "Show the log's end",
            "Show the last lines of a server's log.",
            script=(
                Field("lines", Kind.NUMBER, "how many lines, 10 when left out"),
                Field("source", Kind.TEXT, "which log: server when left out"),
            ),
            per_server=True,
            gives=("lines", "count", "last"),
        ),
        Verb(
            "wait",
            "Wait",
            "Wait until a condition holds.",
            script=(
                Field("until", Kind.UNTIL, "health, a standing, or log:/re/", required=True),
                Field("expect", Kind.NUMBER, "status code awaited, 200 when left out"),
                Field("every", Kind.DURATION, "how often to look"),
            ),
            per_server=True,
            gives=("waited_us", "code", "standing", "line"),
            on_screen=False,
        ),
        Verb(
            "assert",
            "Assert",
            "Check conditions; the script fails when one does not hold.",
            script=(Field("that", Kind.CONDITIONS, "comparisons, all must hold", required=True),),
            sole="that",
            on_screen=False,
        ),
        Verb(
            "marker",
            "Put a marker",
            "Mark this moment in the session.",
            key="m",
            need=Need.LIVE,
            script=(Field("name", Kind.TEXT, "what to call it", required=True),),
            sole="name",
        ),
        Verb(
            "note",
            "Write a note",
            "Write something down in the session.",
            need=Need.LIVE,
            script=(Field("text", Kind.TEXT, "what to write", required=True),),
            sole="text",
        ),
        Verb(
            "save",
            "Save the session",
            "Copy the session so far to a file.",
            key="S",
            script=(Field("file", Kind.PATH, "where to write it", required=True),),
            sole="file",
            gives=("file", "bytes"),
        ),
        Verb(
            "bench",
            "Measure",
            "Measure a server's decode rate: one request at a time, its circumstances beside it.",
            key="b",
            need=Need.LIVE,
            script=(
                Field("protocol", Kind.TEXT, "look, story, quick or confirmed; story if left out"),
                Field("runs", Kind.NUMBER, "runs that count, the protocol's when left out"),
                Field("tokens", Kind.NUMBER, "new tokens of each run, 500 when left out"),
                Field("prompts", Kind.TEXT, "chat, code, maths, long-form, or a file"),
                Field("depth", Kind.TEXT, "0.5k, 8k, 32k or as is"),
                Field("api", Kind.TEXT, "how it is asked: own (its engine's), completions or chat"),
                Field("within", Kind.DECIMAL, "add runs until the interval is this narrow: 0.01"),
                Field("arm", Kind.TEXT, "baseline or speculative, the fleet's when left out"),
                Field("against", Kind.TEXT, "another server: by turns, in one slot by launches"),
                Field("launches", Kind.NUMBER, "of each arm; more than one are acts: --apply"),
            ),
            per_server=True,
            gives=(
                "bench",
                "valid",
                "decode_tok_s",
                "low",
                "high",
                "runs",
                "ttft_us",
                "accept_len",
                "departed",
            ),
        ),
        Verb(
            "bench.stop",
            "End the benchmark",
            "End it now; what was measured is kept.",
            "B",
            Need.LIVE,
        ),
        Verb(
            "compare",
            "Compare the arms",
            "The verdict on two benchmarks: may they be compared, and what came out.",
            key="c",
            script=(
                Field("baseline", Kind.TEXT, "a benchmark, a server or an assumption"),
                Field("speculative", Kind.TEXT, "a benchmark or a server"),
                Field("expect", Kind.TEXT, "the verdict expected, such as NOT COMPARABLE"),
                Field("what_if", Kind.TEXT, "projections: restored=90 length=2.5 verify=27 …"),
            ),
            gives=("verdict", "line", "ratio", "low", "high"),
        ),
        Verb(
            "assume",
            "State a figure",
            "Write down a rate that somebody believes: drawn dotted, never a baseline.",
            need=Need.LIVE,
            script=(
                Field("tok_s", Kind.DECIMAL, "tokens a second"),
                Field("file", Kind.PATH, "results of another tool instead"),
                Field("name", Kind.TEXT, "what to call it, believed when left out"),
                Field("source", Kind.TEXT, "where it comes from"),
            ),
            gives=("tok_s",),
        ),
        Verb(
            "env",
            "Read the environment",
            "Read what a server really runs with, and check it.",
            key="e",
            script=(
                Field("read", Kind.TEXT, "effect, or one source: launcher, tracker, rank 0, …"),
                Field("match", Kind.TEXT, "which names, NCCL_* when left out"),
                Field("same_as", Kind.TEXT, "profile, server or ${plan.env} that must hold"),
            ),
            per_server=True,
            gives=("env", "count", "whole", "source", "missing", "drift"),
        ),
        Verb(
            "plan",
            "Import variables",
            "Read NCCL's variables from a document; nothing in it is run.",
            key="I",
            script=(
                Field("file", Kind.PATH, "the document", required=True),
                Field("match", Kind.TEXT, "which names, NCCL_* when left out"),
                Field("format", Kind.TEXT, "its kind, told by its name and text when left out"),
            ),
            sole="file",
            gives=("env", "count", "errors"),
        ),
        Verb(
            "profile",
            "Keep a profile",
            "Keep variables as a named set beside the fleet; the server is wanted to have them.",
            need=Need.LIVE,
            script=(
                Field("name", Kind.TEXT, "name of the profile", required=True),
                Field("env", Kind.TEXT, "NAME=VALUE words, or ${plan.env}", required=True),
                Field("note", Kind.TEXT, "what they are for"),
                Field("origin", Kind.TEXT, "where they come from"),
                Field("replace", Kind.TEXT, "anything: in place of the one of that name"),
            ),
            per_server=True,
            gives=("profile", "count"),
        ),
        Verb(
            "probe",
            "Time all-reduces",
            "Time all-reduces at decode sizes under profiles, on GPUs that no server uses.",
            need=Need.LIVE,
            script=(
                Field("what", Kind.TEXT, "allreduce", required=True),
                Field("profiles", Kind.TEXT, "their names, the wanted one when left out"),
                Field("hidden", Kind.NUMBER, "the model's hidden size, its own when left out"),
                Field("tokens", Kind.NUMBER, "most tokens of a step, the recipe's when left out"),
                Field("seconds", Kind.DECIMAL, "measured for each profile, 15 when left out"),
                Field("limit", Kind.DECIMAL, "seconds after which a profile is ended, 60"),
                Field("python", Kind.TEXT, "the interpreter, the recipe's when left out"),
            ),
            sole="what",
            per_server=True,
            gives=("fastest", "mean_us", "backend", "timed", "failed"),
        ),
        Verb(
            "environment.edit",
            "Edit variables",
            "Edit what a server is wanted to run with, NCCL's findings beside it.",
            "E",
            need=Need.LIVE,
        ),
        Verb(
            "environment.profiles",
            "Profiles",
            "The sets of variables beside the fleet, by name.",
            on_screen=False,
        ),
        Verb(
            "environment.fabric",
            "Peer access",
            "What a host says of its IOMMU, of ACS and of peer access between its GPUs.",
            need=Need.LIVE,
            on_screen=False,
        ),
        Verb(
            "unlock",
            "Unlock",
            "Permit changes on hosts until half an hour passes without one.",
            "U",
            need=Need.LIVE,
        ),
        Verb("lock", "Lock", "Read-only again, whatever was permitted.", need=Need.LIVE),
        Verb(
            "adopt",
            "Adopt what runs",
            "Keep how a running server was started, on its host, to launch it again.",
            need=Need.UNLOCK,
            script=(),
            per_server=True,
            gives=("act", "outcome", "pid", "recipe", "log"),
        ),
        Verb(
            "envfile",
            "Write the env file",
            "Put a profile's variables into an environment file on the host; the old one is kept.",
            need=Need.UNLOCK,
            script=(
                Field("file", Kind.TEXT, "path on the host, the recipe's env_file if left out"),
                Field("profile", Kind.TEXT, "its name, the wanted one when left out"),
                Field("env", Kind.TEXT, "NAME=VALUE words in place of a profile"),
            ),
            per_server=True,
            gives=("act", "file", "kept", "count"),
        ),
        Verb(
            "run",
            "Run a command",
            "Run a command that the fleet file names, as it stands there.",
            need=Need.LIVE,
            script=(
                Field("command", Kind.COMMAND, "its name in the fleet file", required=True),
                Field("expect", Kind.NUMBER, "exit code expected, 0 when left out"),
            ),
            sole="command",
            gives=("code", "count", "last"),
        ),
        Verb(
            "repeat",
            "Repeat",
            "Run steps for each item of a list, then the configuration again that ran before.",
            need=Need.LIVE,
            script=(
                Field("over", Kind.ITEMS, "names, or tables of texts and numbers", required=True),
                Field("step", Kind.STEPS, "the steps; ${each.KEY} is of the item", required=True),
                Field("on_fail", Kind.TEXT, '"stop" ends it with the first item that fails'),
            ),
            gives=("rounds", "passed", "failed", "best", "best_tok_s"),
            on_screen=False,
        ),
        *(
            Verb(
                verb,
                title,
                help_,
                "r" if verb == "restart" else "",
                need=Need.UNLOCK,
                script=(*fields, _GRACE, _KILL) if stops else fields,
                per_server=True,
                gives=("act", "outcome", "pid", "ready_us", "log"),
            )
            for verb, title, help_, fields, stops in (
                ("launch", "Launch", "Start a server from its recipe.", _START, False),
                ("stop", "Stop", "End a server and see that it is gone.", (), True),
                ("swap", "Swap arms", "End the slot's other arm, start this one.", _START, True),
                ("restart", "Restart", "End a server and start it again.", _START, True),
            )
        ),
        Verb("replay.toggle", "Play or pause", "Play or pause the replay.", "space", Need.REPLAY),
        Verb(
            "replay.faster",
            "Faster",
            "Double the replay's speed.",
            "greater_than_sign",
            Need.REPLAY,
        ),
        Verb("replay.slower", "Slower", "Halve the replay's speed.", "less_than_sign", Need.REPLAY),
        Verb("replay.forward", "Forward", "Ten seconds on.", "right", Need.REPLAY),
        Verb("replay.back", "Back", "Ten seconds back.", "left", Need.REPLAY),
        Verb("replay.next", "Next event", "One event on.", "full_stop", Need.REPLAY),
        Verb("replay.previous", "Previous event", "One event back.", "comma", Need.REPLAY),
        Verb("replay.start", "To the start", "Go to the start.", "home", Need.REPLAY),
        Verb("replay.end", "To the end", "Go to the end.", "end", Need.REPLAY),
        Verb("replay.goto", "Go to time", "Go to a time of the session.", "g", Need.REPLAY),
        *(
            Verb(f"replay.{way}_{what}", f"{title} {what}", f"{help_}.", key, Need.REPLAY)
            for what, next_key, previous_key, whole in (
                ("poll", "ctrl+right", "ctrl+left", "poll of a server or GPU"),
                ("marker", "ctrl+down", "ctrl+up", "marker"),
                ("act", "ctrl+pagedown", "ctrl+pageup", "act"),
                ("error", "x", "X", "error"),
            )
            for way, title, key, help_ in (
                ("next", "Next", next_key, f"On to the next {whole}"),
                ("previous", "Previous", previous_key, f"Back to the {whole} before"),
            )
        ),
        Verb(
            "replay.find",
            "Find in the session",
            "Go to the next event with a text.",
            "ctrl+f",
            Need.REPLAY,
        ),
        Verb(
            "replay.idle", "Skip idle stretches", "Leap on where nothing happens.", "i", Need.REPLAY
        ),
        Verb("servers.up", "Server above", "Select the server above.", "up,k"),
        Verb("servers.down", "Server below", "Select the server below.", "down,j"),
        Verb("logs.follow", "Follow the log", "Go to the newest line and stay there.", "f"),
        Verb("logs.pause", "Pause the log", "Hold the log still; lines go on arriving.", "p"),
        Verb(
            "logs.page_up", "Log page up", "A page back, in the log or the focused pane.", "pageup"
        ),
        Verb(
            "logs.page_down",
            "Log page down",
            "A page on, in the log or the focused pane.",
            "pagedown",
        ),
        Verb(
            "logs.line_up",
            "Line above",
            "Point at the log line above; elsewhere a line back.",
            "shift+up,K",
        ),
        Verb(
            "logs.line_down",
            "Line below",
            "Point at the log line below; elsewhere a line on.",
            "shift+down,J",
        ),
        Verb("logs.left", "Log left", "Scroll the log left.", "shift+left,H"),
        Verb("logs.right", "Log right", "Scroll the log right.", "shift+right,L"),
        *(
            Verb(f"mode.{mode}", title, help_, str(number))
            for number, (mode, title, help_) in enumerate(
                (
                    ("dash", "Dashboard", "Servers, what was measured, the log."),
                    ("logs", "Logs", "The log on the whole screen."),
                    ("environment", "Environment", "What a server runs with, and what it lacks."),
                    ("bench", "Benchmarks", "Runs, circumstances and the verdict."),
                    ("session", "Session", "What was marked, done, noticed and lost."),
                ),
                1,
            )
        ),
        Verb(
            "logs.open", "Open the line", "What a log line says, and what a failure means.", "enter"
        ),
        Verb("logs.filter", "Filter", "Show only log lines with a pattern.", "slash"),
        Verb("logs.exclude", "Exclude", "Hide log lines with a pattern.", "exclamation_mark"),
        Verb("logs.highlight", "Highlight", "Mark and count a pattern, hide nothing.", "asterisk"),
        Verb("logs.next_match", "Next match", "To the next log line that matches.", "n"),
        Verb("logs.previous_match", "Previous match", "To the match before.", "N"),
        Verb("logs.case", "Case", "Let upper and lower case differ in patterns, or not.", "C"),
        Verb("logs.word", "Whole words", "Let patterns find whole words only, or not.", "W"),
        Verb("logs.clear", "Show all lines", "End filter, highlight and preset.", "backspace"),
        Verb(
            "logs.quiet", "Hide noise", "Hide health polls, then access lines, then all noise.", "u"
        ),
        Verb("logs.fold", "Fold", "Fold tracebacks and repeats, or show every line.", "F"),
        Verb("logs.wrap", "Wrap", "Let long lines go on in further rows, or cut them.", "w"),
        Verb("logs.zone", "Times", "Lead log lines with their time in one zone, or not.", "Z"),
        Verb("logs.time", "Log to time", "To the first log line of a time.", "t"),
        Verb("logs.next_error", "Next log error", "To the next error.", "right_square_bracket"),
        Verb(
            "logs.previous_error", "Log error before", "To the error before.", "left_square_bracket"
        ),
        Verb("logs.next_marker", "Log to marker", "To the next marker.", "right_curly_bracket"),
        Verb(
            "logs.previous_marker", "Log marker before", "To the one before.", "left_curly_bracket"
        ),
        Verb("logs.select", "Select lines", "Begin a selection of log lines, or end it.", "v"),
        Verb("logs.copy", "Copy lines", "Copy the selected lines, or the one pointed at.", "y"),
        Verb("logs.save", "Save lines", "Write log lines to a new file.", "s"),
        Verb("logs.layout", "Lay out logs", "One log, all merged, or side by side.", "ampersand"),
        Verb("view.maximise", "Maximise", "Give the focused pane the whole screen.", "z"),
        Verb(
            "view.detail",
            "Detail",
            "Load, figures, GPUs and arguments of a server in place of its log.",
            "D",
        ),
        Verb("view.next", "Next pane", "Move to the next pane.", "tab"),
        Verb("view.previous", "Previous pane", "Move to the pane before.", "shift+tab"),
        Verb("view.help", "Help", "What the keys do.", "question_mark"),
        Verb("view.palette", "Palette", "Search everything this console can do.", "ctrl+p"),
        Verb("view.theme", "Theme", "Choose a theme.", "T"),
        Verb("view.mouse", "Mouse", "Take the mouse, or leave it to the terminal.", "M"),
        Verb("view.suspend", "Suspend", "Back to the shell; fg comes back here.", "ctrl+z"),
        Verb("view.quit", "Quit", "Leave the console.", "q,ctrl+q"),
    )
}


def script_verbs() -> tuple[str, ...]:
    """The names a script step may use."""
    return tuple(verb.id for verb in VERBS.values() if verb.script is not None)
