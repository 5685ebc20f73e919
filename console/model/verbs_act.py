"""Verbs that change something on a host, permit that, or run others. A pure table."""

from __future__ import annotations

from console.model.verb import Field, Kind, Need, Verb

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

ACT: tuple[Verb, ...] = (
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
        gives=("rounds", "passed", "failed", "best", "best_tok_s", "line"),
        on_screen=False,
    ),
    *(
        Verb(
            verb,
            title,
            help_,
            key,
            need=Need.UNLOCK,
            script=(*fields, _GRACE, _KILL) if stops else fields,
            per_server=True,
            gives=("act", "outcome", "pid", "ready_us", "log"),
        )
        for verb, title, help_, key, fields, stops in (
            ("launch", "Launch", "Start a server from its recipe.", "", _START, False),
            ("stop", "Stop", "End a server and see that it is gone.", "", (), True),
            ("swap", "Swap arms", "End the slot's other arm, start this one.", "a", _START, True),
            ("restart", "Restart", "End a server and start it again.", "r", _START, True),
        )
    ),
)
