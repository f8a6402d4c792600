"""Connects that block, and sockets that somebody else connects."""

import _thread
import atexit
import os
import socket
import threading
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from . import _native
from ._errors import error_of, timeline_of
from ._options import Request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options

__all__ = ["connect", "connect_timeline", "prepare"]

# The end of the interpreter must not find a connect between the release of the GIL and its return.
atexit.register(_native.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_native.forked)


def connect(host: str, port: int, timeout: Optional[float] = None, **options: "Unpack[Options]") -> socket.socket:
    """Connects to a port of a host, and returns the socket.

    :param host: a name or an address: ``localhost``, ``192.0.2.1``, ``::1``, ``fe80::1%eth0``.
    :param port: 1 to 65535.
    :param timeout: how long the connect may take as a whole, the resolution of the name included, in seconds, and what the socket's own
        timeout is set to, as with ``socket.create_connection``. ``None``: no limit.
    :param attempt_delay: how long the newest attempt may be pending before the next address is tried too, in seconds
        (default 0.25, RFC 8305; 0.01 to 2).
    :param local_attempt_delay: the same while all pending attempts are to addresses of this host (default 0.01).
    :param backlog_retry: how long a local server with a full accept queue is tried, in seconds (default 2.06; 0: never again).
    :param nodelay: set ``TCP_NODELAY`` (default true).
    :param family: ``socket.AF_INET`` or ``AF_INET6`` alone (default: both).
    :param syn_retransmissions: ``"none_if_local"`` (the default), ``"none_anywhere"``, ``"os_default"``, or 1 to 8. What Windows does
        without: a refused local connect takes 2 s there otherwise. Other systems refuse at once.
    :raises ConnectionRefusedError: nobody listens there. A refusal is a refusal, however short the timeout.
    :raises TimeoutError: the timeout struck, or the OS gave up (on Python 3.9 ``socket.timeout`` too).
    :raises socket.gaierror: the name does not resolve.
    :raises OSError: anything else, with the OS's code. Every one of these has ``.timeline``: what was tried, when, and what it came to.
    :raises ValueError, TypeError, OverflowError: the arguments make no sense; nothing was tried.
    """
    return _ended(_native.connect(Request(host, port, timeout, **options), _signals(), False), timeout)[0]


def connect_timeline(
    host: str, port: int, timeout: Optional[float] = None, **options: "Unpack[Options]"
) -> Tuple[socket.socket, Dict[str, Any]]:
    """As :func:`connect`; returns the socket and the timeline: every attempt, why it started, when, and how it ended.

    The timeline is what ``unstall connect --json`` prints of one; times are in nanoseconds since the connect was asked for.
    A failure raises the same exceptions, which have it as ``.timeline``.
    """
    sock, timeline = _ended(_native.connect(Request(host, port, timeout, **options), _signals(), True), timeout)
    assert timeline is not None
    return sock, timeline


def prepare(sock: socket.socket, address: Tuple[Any, ...]) -> str:
    """Prepares a TCP socket that is not connected yet, so that its connect to ``address`` is refused at once where the OS would
    otherwise wait (Windows: 2 s). Call it right before ``sock.connect(address)``; the result can be ignored.

    :param address: as ``connect`` takes it, with an IP address: ``("127.0.0.1", 80)``, ``("::1", 80, 0, 0)``.
    :returns: what was done: ``not_needed`` (every Unix), ``no_retransmission``, ``one_retransmission`` (Windows before build 16299),
        ``not_local``, ``listening`` (somebody listens there: when the accept queue is full for a moment, Windows' own
        retransmission gets the connect through), ``listeners_unknown``, ``not_supported``.
    :raises ValueError: the address holds no IP address, or the socket is closed.
    """
    if not isinstance(address, tuple) or len(address) not in (2, 3, 4):
        raise TypeError("address must be a tuple of host and port, as socket.connect takes it")
    if isinstance(address[0], (bytes, bytearray)) or not isinstance(address[0], str):
        raise TypeError(f"host must be a str, not {type(address[0]).__name__}")
    if len(address) == 3:
        address = (*address, 0)
    if not 0 <= address[1] <= 65535:
        raise OverflowError("port must be 0-65535.")
    return _native.prepare(sock.fileno(), address)[0]


def _signals() -> bool:
    """Whether this thread is the one that handles signals."""
    return _thread.get_ident() == threading.main_thread().ident


def _ended(end: Any, timeout: Optional[float]) -> Tuple[socket.socket, Optional[Dict[str, Any]]]:
    sock = as_socket(end)
    timeline = timeline_of(end["timeline"])
    if sock is None:
        raise error_of(end["failure"], timeline)
    try:
        sock.settimeout(timeout)
    except BaseException:
        sock.close()
        raise
    return sock, timeline


def as_socket(end: Any) -> Optional[socket.socket]:
    """The socket of a connect that succeeded."""
    number = end["socket"]
    if number is None:
        return None
    family = socket.AF_INET6 if end["v6"] else socket.AF_INET
    # With all of that given, Python need not ask the OS for it.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=number)
