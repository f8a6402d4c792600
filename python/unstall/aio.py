"""Connects for asyncio: the same race, policy and timeline, on any event loop that has ``sock_recv`` (asyncio's own, uvloop)."""

import asyncio
import socket
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from . import _native
from ._connect import as_socket
from ._errors import error_of, timeline_of
from ._options import Request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options

__all__ = ["connect", "connect_timeline", "open_connection"]


async def connect(host: str, port: int, timeout: Optional[float] = None, **options: "Unpack[Options]") -> socket.socket:
    """Connects to a port of a host, and returns the socket, which does not block: for ``loop.create_connection(sock=...)``,
    ``loop.sock_sendall`` and the like. Parameters and exceptions are those of :func:`unstall.connect`; cancelling closes everything.
    """
    return (await _connect(Request(host, port, timeout, **options), False))[0]


async def connect_timeline(
    host: str, port: int, timeout: Optional[float] = None, **options: "Unpack[Options]"
) -> Tuple[socket.socket, Dict[str, Any]]:
    """As :func:`connect`; returns the socket and the timeline, as :func:`unstall.connect_timeline` does."""
    sock, timeline = await _connect(Request(host, port, timeout, **options), True)
    assert timeline is not None
    return sock, timeline


async def open_connection(
    host: str,
    port: int,
    timeout: Optional[float] = None,
    *,
    ssl: Any = None,
    server_hostname: Optional[str] = None,
    limit: int = 2**16,
    ssl_handshake_timeout: Optional[float] = None,
    **options: "Unpack[Options]",
) -> Tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """As ``asyncio.open_connection``, connected by :func:`connect`. ``timeout`` is for the connect, not for TLS."""
    sock = await connect(host, port, timeout, **options)
    further: Dict[str, Any] = {}
    if ssl:
        further["ssl"] = ssl
        further["server_hostname"] = host if server_hostname is None else server_hostname
        if ssl_handshake_timeout is not None:
            further["ssl_handshake_timeout"] = ssl_handshake_timeout
    try:
        return await asyncio.open_connection(sock=sock, limit=limit, **further)
    except BaseException:
        sock.close()
        raise


async def _connect(request: Request, wanted: bool) -> Tuple[socket.socket, Optional[Dict[str, Any]]]:
    loop = asyncio.get_running_loop()
    connecting = _native.Connecting(request, wanted)
    end = connecting.poll()
    if end is None:
        end = await _driven(loop, connecting)
    timeline = timeline_of(end["timeline"])
    sock = as_socket(end)
    if sock is None:
        raise error_of(end["failure"], timeline)
    sock.setblocking(False)
    return sock, timeline


async def _driven(loop: asyncio.AbstractEventLoop, connecting: Any) -> Any:
    """Polls when the native half says so."""
    try:
        with socket.socket(fileno=connecting.wakes()) as wakes:
            wakes.setblocking(False)
            while True:
                end = connecting.poll()
                if end is not None:
                    return end
                await loop.sock_recv(wakes, 64)
    finally:
        # Nothing to do after the end; after a cancellation this closes all sockets at once.
        connecting.cancel()
