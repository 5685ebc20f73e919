"""Which arm a server really runs, and how two servers' arguments differ.

Owns reading speculation out of resolved arguments, of any engine. Never looks at a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from console.engines.literals import call
from console.model.fleet import Arm

_OURS = frozenset(  # differs between any two starts and says nothing about the arm
    {
        "launch_command",
        "port",
        "nccl_port",
        "random_seed",
        "startup_time",
        "internal_states",
        "last_gen_throughput",
        "avg_spec_accept_length",
        "log_file",
        "api_key",
        "admin_api_key",
    }
)


@dataclass(frozen=True, slots=True)
class Running:
    """The arm with what was drafted how. `draft_tokens` is as the engine counts it:
    with the bonus position for SGLang, without it for vLLM and llama.cpp.
    """

    arm: Arm
    method: str = ""
    steps: int | None = None
    topk: int | None = None
    draft_tokens: int | None = None
    draft_model: str = ""

    def __str__(self) -> str:
        if self.arm is Arm.BASELINE:
            return "baseline"
        parts = [self.method]
        if self.steps is not None:
            parts.append(f"{self.steps} steps")
        if self.topk is not None:
            parts.append(f"top-k {self.topk}")
        if self.draft_tokens is not None:
            parts.append(f"{self.draft_tokens} draft tokens")
        return ", ".join(p for p in parts if p)


def arm_of(args: Mapping[str, object], *, whole: bool = True) -> Running | None:
    """The arm from resolved arguments; None where they do not say.

    `whole`: whether an absent argument means its default. vLLM's list of non-default
    arguments is whole in that sense.
    """
    if "speculative_algorithm" in args:
        return _sglang(args)
    if "speculative_config" in args:
        return _vllm(args["speculative_config"])
    if args.get("speculative_model"):  # vLLM before it had a speculative_config
        tokens = _int(args.get("num_speculative_tokens"))
        model = str(args["speculative_model"])
        method = "ngram" if model == "[ngram]" else "draft model"
        return Running(Arm.SPECULATIVE, method, draft_tokens=tokens, draft_model=model)
    if "speculative.types" in args:
        method = str(args["speculative.types"])
        if method in ("", "none"):
            return Running(Arm.BASELINE)
        return Running(Arm.SPECULATIVE, method)
    known = "model_path" in args or "model" in args or "model_tag" in args
    return Running(Arm.BASELINE) if whole and known else None


def drafting() -> Running:
    """What a log shows that loads a draft model but does not print its arguments."""
    return Running(Arm.SPECULATIVE, "draft model")


def _sglang(args: Mapping[str, object]) -> Running:
    method = args["speculative_algorithm"]
    if method in (None, "", "None"):
        return Running(Arm.BASELINE)
    return Running(
        Arm.SPECULATIVE,
        str(method),
        _int(args.get("speculative_num_steps")),
        _int(args.get("speculative_eagle_topk")),
        _int(args.get("speculative_num_draft_tokens")),
        str(args.get("speculative_draft_model_path") or ""),
    )


def _vllm(config: object) -> Running:
    if isinstance(config, str) and "(" in config:
        config = call(config)
    if not isinstance(config, Mapping) or not config:
        return Running(Arm.BASELINE)
    tokens = config.get("num_speculative_tokens", config.get("num_spec_tokens"))
    return Running(
        Arm.SPECULATIVE,
        str(config.get("method") or "speculative"),
        draft_tokens=_int(tokens),
        draft_model=str(config.get("model") or ""),
    )


def _int(found: object) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def differences(
    left: Mapping[str, object], right: Mapping[str, object]
) -> tuple[tuple[str, str | None, str | None], ...]:
    """(name, left, right) of every argument that differs, as text; None where it is absent.

    Leaves out what differs between any two starts and every nested state.
    """
    names = sorted((left.keys() | right.keys()) - _OURS)
    found = []
    for name in names:
        a, b = _text(left, name), _text(right, name)
        if a != b:
            found.append((name, a, b))
    return tuple(found)


def _text(args: Mapping[str, object], name: str) -> str | None:
    return str(args[name]) if name in args else None
