"""What is to be measured of one server: protocol, prompts, depth and how tokens are asked for.

Owns how long that takes. It must never hold anything of the server itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.bench.job import Dialect, Sampling
from console.bench.promptset import Prompt, PromptSet
from console.bench.protocol import (
    BASELINE,
    Expected,
    Measure,
    Protocol,
    Step,
    WarmUp,
    minutes,
    seconds,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """One launch of one server.

    Attributes:
        name: of the protocol's level.
        depth: as it was asked for; `depth_tokens` what it stands for, 0 for prompts as they are.
        within: half the width of the interval (0.01 = 1 %) at which no run is added any more: of
            the ratio where two arms are measured, else of the arm's own; 0 for the protocol's
            number of runs.
        launch: number of the server's launch among those that are to be compared as one arm; 0
            where it is counted from what the session holds.
        dialect: how the server is asked; None for its engine's own way.
    """

    name: str
    protocol: Protocol
    prompts: PromptSet
    depth: str
    depth_tokens: int
    sampling: Sampling
    within: float = 0.0
    launch: int = 1
    dialect: Dialect | None = None

    @property
    def chosen(self) -> tuple[Prompt, ...]:
        """The prompts that are really given."""
        return self.prompts.prompts[: self.protocol.prompts]

    @property
    def wanted(self) -> int:
        """How many runs must count."""
        return self.protocol.runs * len(self.chosen)

    def seconds(self, decode_tok_s: float, ttft_s: float = 0.5) -> float:
        """How long warm-ups and runs take at this rate; the server is up already."""
        steps: list[Step] = [WarmUp(BASELINE, 1, self.protocol.warmups)]
        steps += [Measure(BASELINE, 1, 0, run) for run in range(self.wanted)]
        expected = {BASELINE: Expected(0.0, decode_tok_s, ttft_s)}
        return seconds(steps, expected, self.sampling.max_tokens, frozenset({BASELINE}))

    def minutes(self, decode_tok_s: float) -> str:
        """The same for people: `about 4 minutes`."""
        return minutes(self.seconds(decode_tok_s))
