"""`spec-console bench URL|SERVER`: measure one server's decode rate, without a screen.

Results go to standard output, how far it is to standard error; the words are those of the screen.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence

from console.bench.metrics import DEFINITIONS
from console.command.dispatch import run_live
from console.control.live_session import LiveSession, Stage
from console.control.port import Outcome
from console.model.ask import Nobody
from console.model.exits import Exit, NotStarted
from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.model.text import plain
from console.plain.benches import Benches
from console.render.bench import DEFINITION, run_lines
from console.store.fleet import find_fleet, load_fleet
from console.store.settings import load_settings
from console.stream.run_events import ActAdvanced
from console.stream.session_events import Noticed
from console.stream.state import Bench, Item, State

_FIELDS = (
    "protocol",
    "runs",
    "tokens",
    "prompts",
    "depth",
    "api",
    "within",
    "arm",
    "against",
    "launches",
)
_DAY_S = 86_400.0


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    options = _parser().parse_args(argv)
    return run_live(_bench(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spec-console bench", allow_abbrev=False, description=DEFINITION
    )
    parser.add_argument("target", metavar="URL|SERVER", help="an address, or a name of the fleet")
    parser.add_argument("--fleet", metavar="FILE", help="the fleet the server is in")
    parser.add_argument("--arm", metavar="NAME", choices=[arm.value for arm in Arm])
    parser.add_argument("--protocol", metavar="NAME", help="look, story, quick or confirmed")
    parser.add_argument("--runs", type=int, metavar="N", help="runs that count (5)")
    parser.add_argument("--tokens", type=int, metavar="N", help="new tokens of each run (500)")
    parser.add_argument("--prompts", metavar="SET", help="chat, code, maths, long-form or a file")
    parser.add_argument("--depth", metavar="D", help="0.5k, 8k, 32k or 'as is'")
    parser.add_argument("--api", metavar="WAY", help="own (its engine's), completions or chat")
    parser.add_argument(
        "--within", type=float, metavar="X", help="add runs until the interval is within ±X (0.01)"
    )
    parser.add_argument(
        "--against",
        metavar="SERVER",
        help="by turns with this one; in one slot by launches: B S S B",
    )
    parser.add_argument(
        "--launches", type=int, metavar="N", help="of each arm (3 if confirmed, else 1)"
    )
    parser.add_argument("--apply", action="store_true", help="permit the launches: these are acts")
    parser.add_argument(
        "--yes-target", action="append", default=[], metavar="SERVER",
        help="confirms that this server may be ended and started; repeat it",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--save", metavar="SESSION", help="keep it in this session file")
    return parser


def fleet_of(options: Namespace) -> tuple[Fleet, str]:
    """What is watched, and the name of the server in it.

    Raises:
        NotStarted: no fleet, or no server of that name in it.
    """
    target = str(options.target)
    if "://" in target:
        arm = Arm(options.arm) if options.arm else Arm.BASELINE
        server = Server(arm.value, "slot", arm, target.rstrip("/"))
        return Fleet("url", (Host("local"),), (Slot("slot", "local"),), (server,)), arm.value
    path = find_fleet(options.fleet)
    if path is None:
        raise NotStarted(Exit.USAGE, f'"{target}" is no address, and there is no fleet.toml')
    fleet = load_fleet(path)
    if target not in [server.name for server in fleet.servers]:
        known = ", ".join(server.name for server in fleet.servers)
        raise NotStarted(Exit.USAGE, f'no server is named "{target}" (known: {known})')
    return fleet, target


def _options(options: Namespace) -> Namespace:
    """The options of the session: what may be changed on a host is what was said here."""
    acts = {"apply": options.apply, "yes_target": options.yes_target}
    recorded = {"no_record": options.save is None, "record": options.save}
    return Namespace(dry_run=False, script=None, **acts, **recorded)


async def _bench(options: Namespace) -> Exit:
    fleet, server = fleet_of(options)
    session = LiveSession(_options(options), load_settings().pace)
    given = {name: v for name in _FIELDS if (v := getattr(options, name)) is not None}
    async with session.live(Stage(fleet), Nobody(), on_demand=True) as live:
        telling = Benches(live, session.pace.progress_s, _say)
        live.timeline.subscribe(telling.take)
        live.timeline.subscribe(_notices)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, live.benches.stop)
        try:
            outcome = await live.do("bench", server, given, _DAY_S)
        finally:
            telling.close()
        benches = list(live.timeline.state.benches.values())
    if not benches:
        print(f"spec-console: {server}: {plain(outcome.text)}", file=sys.stderr)
    elif options.json:
        first, *rest = [as_json(bench, outcome) for bench in benches]
        more: dict[str, object] = {"against": rest[0]} if rest else {}
        if len(rest) > 1:
            more["launches"] = [first, *rest]
        print(json.dumps({**first, **more}))
    else:
        for bench in benches:
            for line in text_lines(bench):
                print(line)
        print(plain(outcome.text))
        print(DEFINITION)
    return outcome.exit


def _say(server: str, text: str) -> None:
    print(f"{server}: {text}", file=sys.stderr, flush=True)


def _notices(item: Item, state: State) -> None:
    """What a person should know besides: how long it takes, an act's next phase, a warning."""
    del state
    match item:
        case Noticed():
            _say(plain(item.subject), plain(item.text))
        case ActAdvanced():
            _say(plain(item.phase), plain(item.text))
        case _:
            pass


def text_lines(bench: Bench) -> list[str]:
    """The benchmark for a person."""
    started = bench.started
    assert started is not None
    told = {str(name): plain(value) for name, value in started.workload}
    server, arm = plain(started.server), started.arm.value
    head = f"{server}{'' if server == arm else f', {arm}'}: {plain(started.protocol)}, "
    head += f"{told.get('tokens', '?')} tokens, prompts {told.get('prompts', '?')}, "
    head += f"depth {told.get('depth', '?')}, one stream"
    lines = [head, *run_lines(bench)]
    lines.append(f"timed on {plain(started.worker)}")
    for taken in bench.circumstances.values():
        unread = [plain(value)[1:] for name, value in taken.values if name == "*"]
        lines += [f"! {plain(taken.group)}: not read: {why}" for why in unread]
    return lines


def as_json(bench: Bench, outcome: Outcome) -> Mapping[str, object]:
    """The same for a program; circumstances as `=text`, `-` for unset, `?why` for unread."""
    started, finished = bench.started, bench.finished
    assert started is not None
    assert finished is not None
    return {
        "bench": started.bench,
        "server": started.server,
        "arm": started.arm.value,
        "valid": finished.valid,
        "why": plain(finished.why),
        "exit": outcome.exit.value,
        "protocol": started.protocol,
        "workload": dict(started.workload),
        "worker": plain(started.worker),
        "figures": dict(finished.figures),
        "definitions": DEFINITIONS,
        "runs": [
            {
                "run": run.run,
                "warm_up": run.warm_up,
                "prompt": run.prompt,
                "tokens": run.tokens,
                "decode_tok_s": run.decode_tok_s,
                "ttft_us": run.ttft_us,
                "figures": dict(run.figures),
                "void": plain(run.void),
                "notes": [plain(note) for note in run.notes],
            }
            for run in bench.runs
        ],
        "circumstances": {
            name: {"digest": taken.digest, **dict(taken.values)}
            for name, taken in bench.circumstances.items()
        },
    }
