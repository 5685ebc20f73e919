"""What it means when a connection could not be made: asyncssh's errors as kinds of failure.

Owns the words for them. It never hides an error that it does not know.
"""

from __future__ import annotations

import asyncssh

from console.model.failure import Failure, WireError
from console.transport.known_hosts import judged
from console.transport.sockets import unreachable
from console.transport.ssh_client import Client

_OTHERWISE = 'where ssh itself takes this file, give the host transport = "openssh"'


class Meaning:
    """Turns what asyncssh raises while it connects into a WireError.

    Args:
        address: what the alias stands for, where the configuration was read.
    """

    def __init__(self, client: Client, alias: str, address: str = "") -> None:
        self._client = client
        self._alias = alias
        self._address = address or alias

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, WireError):
            return
        meaning = self._of(error)
        if meaning is not None:
            raise meaning from error

    def _of(self, error: BaseException) -> WireError | None:
        match error:
            case asyncssh.HostKeyNotVerifiable():
                if self._client.offered is not None:
                    return judged(self._client.offered)
                return WireError(Failure.KEY_CHANGED, str(error))
            case asyncssh.KeyExchangeFailed() if "host key" in str(error):
                why = f"{self._alias} offers no host key of a known kind"
                return WireError(Failure.KEY_CHANGED, why, (str(error),))
            case asyncssh.PermissionDenied():
                if self._client.unanswered:
                    why = f"{self._client.unanswered.rstrip(':')}: needed, and nobody to ask"
                    return WireError(Failure.AUTH, why)
                return WireError(Failure.AUTH, f"{self._alias} accepted no key or password")
            case asyncssh.ConfigParseError():
                return WireError(Failure.CONFIG, str(error), (_OTHERWISE,))
            case asyncssh.KeyImportError():
                return WireError(Failure.CONFIG, str(error))
            case asyncssh.ChannelOpenError():
                return WireError(Failure.REFUSED, f"{self._alias}: {error.reason}")
            case asyncssh.ConnectionLost():
                return WireError(Failure.CLOSED, f"{self._alias} closed the connection")
            case asyncssh.Error():
                return WireError(Failure.CLOSED, f"{self._alias}: {error.reason}")
            case OSError():
                return unreachable(error, self._address)
            case ValueError():
                return WireError(Failure.CONFIG, str(error))
            case _:
                return None
