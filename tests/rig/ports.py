"""A free TCP port on loopback, for real servers that want their port before they start.

The kernel picks it. Between this call and the server's own bind the port is not held.
"""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listened on a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port
