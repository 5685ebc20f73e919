"""Arguments of a simulated `sglang serve`, resolved against the real version's whole table.

The table (names, order and defaults of 0.5.23) is data/server_args.json. Unknown arguments are
refused as argparse does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

VERSION = "0.5.23"
_DATA = Path(__file__).parent / "data"
_ALIASES = {
    "model": "model_path",
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "speculative_draft_model": "speculative_draft_model_path",
    "speculative_algo": "speculative_algorithm",
}


class BadArguments(ValueError):
    """An argument that no such server has, or one without its value."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch as asked for.

    Attributes:
        args: every resolved argument, in the real order.
        command: the arguments as given, as /server_info repeats them.
    """

    args: dict[str, object]
    command: str

    @property
    def speculative(self) -> bool:
        """Whether any speculative algorithm was asked for."""
        return self.args["speculative_algorithm"] is not None

    @property
    def tp_size(self) -> int:
        """How many ranks."""
        return self.number("tp_size")

    @property
    def port(self) -> int:
        """The TCP port, always on loopback."""
        return self.number("port")

    @property
    def model(self) -> str:
        """The served name."""
        return str(self.args["served_model_name"])

    @property
    def api_key(self) -> str:
        """The key that calls must bring; empty for none."""
        return str(self.args["api_key"] or "")

    def number(self, name: str) -> int:
        """An argument that is an integer; TypeError otherwise."""
        value = self.args[name]
        if not isinstance(value, int):
            raise TypeError(f"{name} is {value!r}")
        return value


def _typed(name: str, default: object, text: str) -> object:
    if isinstance(default, int | float) and not isinstance(default, bool):
        try:
            return type(default)(text)
        except ValueError:
            option = f"--{name.replace('_', '-')}"
            kind = type(default).__name__
            raise BadArguments(f"argument {option}: invalid {kind} value: {text!r}") from None
    if default is None and text.isdecimal():
        return int(text)
    return text


def parse(argv: list[str]) -> Launch:
    """Resolve `serve --model-path … --tp-size 8 …`; BadArguments says what is wrong."""
    args: dict[str, object] = json.loads((_DATA / "server_args.json").read_text())
    rest = argv[1:] if argv[:1] == ["serve"] else list(argv)
    command = " ".join(rest)
    while rest:
        option = rest.pop(0)
        key, eq, value = option.removeprefix("--").partition("=")
        name = _ALIASES.get(key.replace("-", "_"), key.replace("-", "_"))
        if not option.startswith("--") or name not in args:
            raise BadArguments(f"unrecognized arguments: {option}")
        if isinstance(args[name], bool):
            args[name] = True
            continue
        if not eq:
            if not rest or rest[0].startswith("--"):
                raise BadArguments(f"argument {option}: expected one argument")
            value = rest.pop(0)
        args[name] = _typed(name, args[name], value)
    if not args["model_path"]:
        raise BadArguments("the following arguments are required: --model-path/--model")
    _resolve(args)
    return Launch(args, command)


def _resolve(args: dict[str, object]) -> None:
    args["tokenizer_path"] = args["tokenizer_path"] or args["model_path"]
    args["served_model_name"] = args["served_model_name"] or args["model_path"]
    if args["speculative_algorithm"] is not None:
        args["max_running_requests"] = args["max_running_requests"] or 48
        args["speculative_num_steps"] = args["speculative_num_steps"] or 3
        args["speculative_eagle_topk"] = args["speculative_eagle_topk"] or 1
        args["speculative_num_draft_tokens"] = args["speculative_num_draft_tokens"] or 4
