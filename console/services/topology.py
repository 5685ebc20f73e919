"""How the GPUs of a host are joined, asked once: it changes only with the machine.

Owns the two calls and what of their matrices is kept. Fewer than two GPUs are joined by nothing.
"""

from __future__ import annotations

from console.engines.topology import Matrix, parse_matrix
from console.model.clock import Pace
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.services.gpu_script import links_argv, peers_argv
from console.stream.fact import Pairs
from console.stream.host_events import GpusJoined
from console.transport.wire import Wire


async def joined(wire: Wire, pace: Pace, masks: Masks) -> GpusJoined | None:
    """Links and peer access of every pair; None where the tool gives no matrix.

    Raises:
        WireError: the link was lost, or no answer came in time.
    """
    links = await _matrix(wire, pace, links_argv())
    if links is None or len(links.gpus) < 2:
        return None
    peers = await _matrix(wire, pace, peers_argv())
    host = clean(wire.host.name, masks)
    return GpusJoined(host, _pairs(links, masks), _pairs(peers, masks) if peers else ())


async def _matrix(wire: Wire, pace: Pace, argv: list[str]) -> Matrix | None:
    done = await wire.run(argv, deadline_s=pace.read_deadline_s)
    return parse_matrix(done.out.decode("utf-8", "replace"))


def _pairs(matrix: Matrix, masks: Masks) -> Pairs:
    return tuple(
        (Clean(f"{a}-{b}"), clean(word, masks))
        for (a, b), word in sorted(matrix.links.items())
        if a < b
    )
