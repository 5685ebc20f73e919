"""TLS over any byte stream of a wire: certificates are checked here, on this machine.

Owns the words for what is wrong with a certificate. There is no way around the check.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import TypeVar

from console.model.failure import Failure, WireError
from console.transport.wire import READ_BYTES, ByteStream

T = TypeVar("T")
_MEND = "an authority of your own is named with ca_file beside the server's url"


class TlsStream:
    """A ByteStream inside another.

    Args:
        name: whom the certificate must be for: the name or address in the url.
        ca_file: certificates of the authorities trusted; empty for the system's own.

    Raises:
        WireError: UNREADABLE when `ca_file` cannot be used.
    """

    def __init__(
        self, stream: ByteStream, context: ssl.SSLContext, name: str | None, ca_file: str = ""
    ) -> None:
        self._stream = stream
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        _trust(context, ca_file)
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=name)

    async def shake_hands(self) -> None:
        """Check who is there; WireError CERTIFICATE, or NOT_HTTP for another protocol."""
        try:
            await self._run(self._tls.do_handshake)
        except ssl.SSLCertVerificationError as error:
            why = f"its certificate is not trusted: {error.verify_message.rstrip('.')}"
            raise WireError(Failure.CERTIFICATE, why, (_MEND,)) from error
        except ssl.SSLEOFError as error:
            raise WireError(Failure.CLOSED, "closed in the middle of the TLS handshake") from error
        except ssl.SSLError as error:
            raise WireError(Failure.NOT_HTTP, f"not TLS: {error.reason}") from error

    async def read(self, most: int = READ_BYTES) -> bytes:
        try:
            return await self._run(lambda: self._tls.read(most))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        except ssl.SSLError as error:
            raise WireError(Failure.CLOSED, f"TLS broke: {error.reason}") from error

    async def write(self, data: bytes) -> None:
        try:
            await self._run(lambda: self._tls.write(data))
        except ssl.SSLError as error:
            raise WireError(Failure.CLOSED, f"TLS broke: {error.reason}") from error

    def ended(self) -> bool:
        return self._stream.ended()

    async def close(self) -> None:
        await self._stream.close()

    async def _run(self, step: Callable[[], T]) -> T:
        """Do one step of TLS, passing on what it writes and giving it what it needs to read."""
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                await self._flush()
                data = await self._stream.read()
                if data:
                    self._in.write(data)
                else:
                    self._in.write_eof()
                continue
            except ssl.SSLError:
                await self._flush()
                raise
            await self._flush()
            return done

    async def _flush(self) -> None:
        if self._out.pending:
            await self._stream.write(self._out.read())


def _trust(context: ssl.SSLContext, ca_file: str) -> None:
    """Load the authorities once; reading the system's own takes a while."""
    if context.cert_store_stats()["x509"]:
        return
    if not ca_file:
        context.load_default_certs()
        return
    try:
        context.load_verify_locations(ca_file)
    except ssl.SSLError as error:
        why = f"ca_file {ca_file}: no certificate in it ({error.reason})"
        raise WireError(Failure.UNREADABLE, why) from error
    except OSError as error:
        raise WireError(Failure.UNREADABLE, f"ca_file {ca_file}: {error.strerror}") from error
