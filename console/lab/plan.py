"""The plan file of the story, invented: a long Markdown document with the six settings inside.

They stand in a code block, one assignment line after the other, where nobody would look for them.
"""

from __future__ import annotations

from collections.abc import Iterator

SETTINGS_LINE = 212
_SETTINGS = (
    "NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS NCCL_MAX_NCHANNELS=16",
    "NCCL_BUFFSIZE=16777216 NCCL_NTHREADS=512",
)
_STAGES = (
    ("Data", "prompt", "Collect prompts of the kinds that are served: code, chat, long documents."),
    ("Target features", "shard", "Store the target's hidden states for every kept answer."),
    ("Draft training", "epoch", "Train the draft head on the stored states; keep every epoch."),
    ("Export", "file", "Write the draft in the layout the server loads."),
    ("Serving", "step", "Load target and draft on eight GPUs and look at acceptance."),
)


def _stage(number: int, title: str, unit: str, text: str) -> Iterator[str]:
    yield from (f"## {number}. {title}", "", text, "")
    yield from (f"| {unit} | state | note |", "|---|---|---|")
    yield from (f"| {n} | {'done' if n % 5 else 'again'} | simulated |" for n in range(1, 25))
    yield from ("", f"- [ ] look at {unit} 5 again", f"- [x] write down what {title} cost", "")


def plan_text() -> str:
    """The whole document; the settings stand on lines 212 and 213."""
    lines = ["# Training plan, fourth version (simulated)", "", "What is done when, and how.", ""]
    for number, (title, unit, text) in enumerate(_STAGES, 1):
        lines += _stage(number, title, unit, text)
    lines += ["## 6. Bench", "", "Order: baseline first, then the draft, 500 new tokens each.", ""]
    note = 1
    while len(lines) < SETTINGS_LINE - 5:
        lines.append(f"- note {note}: one stream, one prompt, five runs")
        note += 1
    lines += ["", "Put these in front of the launch line:", "", "```sh"]
    assert len(lines) == SETTINGS_LINE - 1
    lines += [*_SETTINGS, "```", "", "## 7. Afterwards", "", "Tear down, keep the logs.", ""]
    return "\n".join(lines)
