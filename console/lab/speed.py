"""How fast the simulated server decodes: a small model, stated in its log and /server_info.

Without tuning variables a target forward takes 15.9 ms (62.9 tok/s) and a speculative cycle
31.0 ms for 2.325 tokens (75 tok/s). What the variables save is an assumption with a name: nobody
measured it. The lab must never be read as saying how a real machine behaves.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

FORWARD_S = 1 / 62.9
TUNED_FORWARD_S = 1 / 90.0
CYCLE_S = 0.0310
VERIFY_S = 0.0270

# Tokens of 40 cycles: mean 2.325 with three drafted tokens, about 0.64 accepted per position.
_CYCLE_TOKENS = (1,) * 15 + (2,) * 8 + (3,) * 6 + (4,) * 11
MEAN_TOKENS = sum(_CYCLE_TOKENS) / len(_CYCLE_TOKENS)

SHARE: Mapping[str, tuple[str, float]] = {
    "NCCL_PROTO": ("LL", 0.5),
    "NCCL_P2P_LEVEL": ("SYS", 0.3),
    "NCCL_ALGO": ("Ring", 0.2),
}
"""The value that counts and its part of the saving; the plan's other three change nothing."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a verify forward is taken to save, as a multiple of what a plain forward saves."""

    name: str
    verify_factor: float
    text: str


ASSUMPTIONS: Mapping[str, Assumption] = {
    "sober": Assumption("sober", 1.0, "a verify saves what a baseline forward saves"),
    "hopeful": Assumption("hopeful", 1.5, "a verify saves 1.5 times what a baseline forward saves"),
}


def restored(env: Mapping[str, str]) -> float:
    """The part of the saving that these variables give, 0 to 1."""
    return sum(
        part
        for name, (value, part) in SHARE.items()
        if env.get(name, "").casefold() == value.casefold()
    )


@dataclass(frozen=True, slots=True)
class Speed:
    """One launch's decode speed.

    Attributes:
        step_s: seconds per decode step: a forward, or a whole speculative cycle.
        seed: what all noise of this launch derives from.
    """

    step_s: float
    speculative: bool
    seed: str
    text: str

    @property
    def tok_s(self) -> float:
        """The expected decode rate of one stream."""
        return (MEAN_TOKENS if self.speculative else 1.0) / self.step_s

    def steps(self, prompt: str, run: int) -> Iterator[tuple[float, int]]:
        """Seconds and new tokens of each decode step of one request, without end.

        Accepted tokens follow the prompt alone, as under greedy decoding; run `run` of a prompt
        differs from any other by about 0.5 % in time, a step from its neighbour by 2 %.
        """
        accepts = random.Random(f"{self.seed}/accept/{prompt}")
        noise = random.Random(f"{self.seed}/run/{run}/{prompt}")
        step_s = self.step_s * noise.gauss(1.0, 0.005)
        while True:
            block = list(_CYCLE_TOKENS if self.speculative else (1,) * 40)
            accepts.shuffle(block)
            for tokens in block:
                yield step_s * max(0.5, noise.gauss(1.0, 0.02)), tokens


def speed_of(
    env: Mapping[str, str], *, speculative: bool, assumption: Assumption, seed: str
) -> Speed:
    """The speed of a launch with this environment; `seed` names the launch."""
    part = restored(env)
    saved = (FORWARD_S - TUNED_FORWARD_S) * part
    if speculative:
        step_s = CYCLE_S - saved * assumption.verify_factor
        what = f"cycle {step_s * 1e3:.1f} ms for {MEAN_TOKENS:.3f} tokens"
    else:
        step_s = FORWARD_S - saved
        what = f"forward {step_s * 1e3:.1f} ms"
    text = (
        f"simulated speed: {what}; NCCL variables give {part:.0%} of the saving; "
        f"assumption {assumption.name}: {assumption.text}"
    )
    launch = random.Random(f"{seed}/launch").gauss(1.0, 0.002)
    return Speed(step_s * launch, speculative, seed, text)
