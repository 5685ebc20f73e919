"""How the GPUs of a host are joined: asked once and on demand, as only the machine changes it.

Owns the two calls and what of their matrices is kept. Fewer than two GPUs are joined by nothing.
"""

from __future__ import annotations

from console.engines.nvidia import explain
from console.engines.topology import Matrix, parse_matrix
from console.model.clock import Pace
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.services.gpu_script import links_argv, peers_argv
from console.stream.fact import Pairs
from console.stream.host_events import GpusJoined
from console.transport.wire import Wire


async def joined(wire: Wire, pace: Pace, masks: Masks) -> GpusJoined | str:
    """Links and peer access of every pair; why not where the tool gives no matrix of several.

    Raises:
        WireError: the link was lost, or no answer came in time.
    """
    links, said = await _matrix(wire, pace, links_argv())
    if links is None:
        return said
    if len(links.gpus) < 2:
        return "there is one GPU: it is joined to none"
    peers, _ = await _matrix(wire, pace, peers_argv())
    host = clean(wire.host.name, masks)
    return GpusJoined(host, _pairs(links, masks), _pairs(peers, masks) if peers else ())


async def _matrix(wire: Wire, pace: Pace, argv: list[str]) -> tuple[Matrix | None, str]:
    done = await wire.run(argv, deadline_s=pace.read_deadline_s)
    said = (done.out + done.err).decode("utf-8", "replace")
    why = "this host has no nvidia-smi" if done.code == 127 else explain(said)
    return parse_matrix(done.out.decode("utf-8", "replace")), why


def _pairs(matrix: Matrix, masks: Masks) -> Pairs:
    return tuple(
        (Clean(f"{a}-{b}"), clean(word, masks))
        for (a, b), word in sorted(matrix.links.items())
        if a < b
    )
