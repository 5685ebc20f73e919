"""script.toml, `schema = "script/1"`: read and checked whole before anything runs.

Every mistake is found in one pass, with its place and the nearest valid word. A script is data:
references are looked up, never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from console.control.arguments import Arguments, Round, Step
from console.control.rounds import rounds
from console.control.step_guard import read_guard
from console.model.fleet import Fleet
from console.model.verb import Verb
from console.model.verbs import VERBS, script_verbs
from console.store.toml import Document, Table, load, nearest, one_of

SCHEMA = "script/1"

REPEAT = "repeat"
_OWN = (
    *(
        "id",
        "name",
        "target",
        "timeout",
        "stall",
        "progress",
        "fail_fast",
        "when",
        "always",
        "guard",
    ),
)
_ID = re.compile(r"[a-z][a-z0-9_]{0,31}")


class OnFail(StrEnum):
    """What a failed step does to those after it."""

    STOP = "stop"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script, checked.

    Attributes:
        timeout_s: of the whole script; 0 for none.
    """

    name: str
    file: str
    steps: tuple[Step, ...]
    on_fail: OnFail = OnFail.STOP
    every_s: float = 2.0
    progress_s: float = 10.0
    timeout_s: float = 0.0
    variables: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Defaults:
    """What a step has that says nothing else, and the servers it is for."""

    timeout_s: float
    stall_s: float
    progress_s: float
    fail_fast: tuple[str, ...]
    targets: tuple[str, ...]


def load_script(path: str | Path, fleet: Fleet, given: Mapping[str, str] | None = None) -> Script:
    """Read a script and check it against a fleet.

    Args:
        given: variables set on the command line, `--var name=value`.

    Raises:
        BadFile: with every mistake's place.
    """
    return _Check(load(path), fleet, given or {}).script()


class _Check:
    """One pass over a script."""

    def __init__(self, document: Document, fleet: Fleet, given: Mapping[str, str]) -> None:
        self.document = document
        self.fleet = fleet
        self.servers = [server.name for server in fleet.servers]
        self.given = given
        self.steps: dict[str, Step] = {}
        self.variables: dict[str, str | int | float] = {}

    def script(self) -> Script:
        top = self.document.top_of(SCHEMA)
        name = top.text("name", Path(self.document.file).stem)
        targets = self._targets(top)
        on_fail = top.choice("on_fail", OnFail, OnFail.STOP) or OnFail.STOP
        below = top.table("defaults") or Table(self.document, {}, ("defaults",))
        every_s = below.duration("every", 2.0)
        defaults = _Defaults(
            below.duration("timeout", 30.0),
            below.duration("stall", 0.0),
            below.duration("progress", 10.0),
            self._arguments().fail_fast(below),
            targets,
        )
        below.finish()
        timeout_s = top.duration("timeout", 0.0)
        self._variables(top)
        tables = top.tables("step")
        if not tables and "step" not in top.names():
            top.complain("", "no [[step]]: at least one was expected")
        steps = tuple(
            self._step(table, f"step{number}", defaults) for number, table in enumerate(tables, 1)
        )
        top.finish()
        # A mistake in a step that is repeated is one mistake.
        self.document.problems[:] = dict.fromkeys(self.document.problems)
        self.document.refuse()
        file, variables = self.document.file, self.variables
        times = (every_s, defaults.progress_s, timeout_s)
        return Script(name, file, steps, on_fail, *times, variables)

    def _arguments(self) -> Arguments:
        named = [command.name for command in self.fleet.commands]
        commands = named if self.fleet.path else None
        return Arguments(self.document, self.variables, self.steps, commands)

    def _targets(self, top: Table) -> tuple[str, ...]:
        named = top.texts("targets")
        for place, name in enumerate(named):
            if name not in self.servers:
                self._no_server(("targets", place), name)
        return named or (tuple(self.servers) if len(self.servers) == 1 else ())

    def _no_server(self, path: tuple[str | int, ...], name: str) -> None:
        hint = nearest(name, self.servers) or f" (known: {one_of(self.servers)})"
        self.document.complain(path, f'no server is named "{name}"{hint}')

    def _variables(self, top: Table) -> None:
        table = top.table("vars")
        for key in table.names() if table is not None else ():
            assert table is not None
            value = table.raw(key)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                self.variables[key] = value
            else:
                table.complain(key, f"vars.{key}: a text or a number was expected")
        for key, text in self.given.items():
            if key not in self.variables:
                hint = nearest(key, self.variables) or f" (known: {one_of(self.variables)})"
                self.document.complain(("vars",), f'--var {key}: no variable "{key}"{hint}')
            else:
                self.variables[key] = text

    def _step(self, table: Table, usual: str, defaults: _Defaults) -> Step:
        verb = self._verb(table)
        step_id = table.text("id", usual)
        if not _ID.fullmatch(step_id):
            table.complain("id", "id: lower-case letters, digits and underscore were expected")
        if step_id in self.steps or step_id in ("vars", "run", "each"):
            table.complain("id", f'id: "{step_id}" is taken')
        table.text("name")
        servers = self._step_servers(table, verb, defaults.targets)
        check = self._arguments()
        repeats = verb is not None and verb.id == REPEAT
        arguments = check.read(table, verb) if verb is not None else {}
        arguments.update(read_guard(table, verb, servers))
        when = check.conditions(table, "when") if "when" in table.names() else ()
        step = Step(
            step_id,
            verb.id if verb is not None else "",
            () if repeats else servers,
            arguments,
            table.duration("timeout", 0.0 if repeats else defaults.timeout_s),
            when,
            table.flag("always"),
            self.document.place(table.path)[0],
            table.duration("stall", defaults.stall_s),
            table.duration("progress", defaults.progress_s),
            check.fail_fast(table) or defaults.fail_fast,
        )
        if repeats:
            own = replace(defaults, targets=servers or defaults.targets)
            step = replace(step, rounds=self._rounds(table, step_id, own))
        self._finish(table)
        self.steps[step_id] = step
        return step

    def _rounds(self, table: Table, step_id: str, defaults: _Defaults) -> tuple[Round, ...]:
        """What a `repeat` runs, written out and checked round by round."""
        below = table.table(REPEAT)
        if below is None:
            return ()
        below.choice("on_fail", OnFail, OnFail.CONTINUE)
        for nested in below.tables("step"):
            if REPEAT in nested.names():
                nested.complain(REPEAT, "repeat: no repeat within a repeat")
                return ()
        return tuple(
            Round(one.name, tuple(self._step(step, "", defaults) for step in one.tables))
            for one in rounds(self.document, below, step_id, self.fleet)
        )

    def _verb(self, table: Table) -> Verb | None:
        named = [key for key in table.names() if key in script_verbs()]
        if len(named) == 1:
            return VERBS[named[0]]
        if named:
            said = f"one verb a step was expected, not {len(named)}: {', '.join(named)}"
            table.complain(named[1], said)
            return VERBS[named[0]]
        strange = [key for key in table.names() if key not in _OWN]
        hint = nearest(strange[0], script_verbs()) if strange else ""
        said = f'"{strange[0]}" is no verb{hint}' if strange else "a verb was expected"
        table.complain(strange[0] if strange else "", f"{said}; verbs: {one_of(script_verbs())}")
        for key in strange:
            table.raw(key)
        return None

    def _finish(self, table: Table) -> None:
        """Unknown keys; a second verb was complained about already."""
        for key in script_verbs():
            table.raw(key)
        table.finish()

    def _step_servers(
        self, table: Table, verb: Verb | None, targets: tuple[str, ...]
    ) -> tuple[str, ...]:
        if "target" in table.names():
            name = table.text("target")
            if name not in self.servers:
                self._no_server((*table.path, "target"), name)
            return (name,)
        if verb is None or not verb.per_server:
            return ()
        if not targets:
            table.complain("", 'which server? "targets" of the script or "target" of the step')
        return targets
