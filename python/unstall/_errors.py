"""What a failure is in Python: the exception that the standard library raises for it, with the timeline."""

import errno
import json
import socket
from typing import Any, Dict, Optional, Tuple

if issubclass(socket.timeout, TimeoutError):
    _Timeout = TimeoutError
else:
    # Python 3.9: whoever expects either gets it.
    class _Timeout(socket.timeout, TimeoutError):  # type: ignore[no-redef,misc]
        """The limit struck, or the OS gave up."""


# The codes that the OS gives for an outcome; where the OS said something, that is used.
_CODES = {
    "refused": errno.ECONNREFUSED,
    "self_connected": errno.ECONNREFUSED,
    "timed_out": errno.ETIMEDOUT,
    "unreachable": errno.EHOSTUNREACH,
    "not_available": errno.EADDRNOTAVAIL,
    "not_permitted": errno.EACCES,
    "exhausted": errno.EAGAIN,
    "cancelled": errno.ECANCELED,
}

Failure = Tuple[str, Optional[int], Optional[int]]


def timeline_of(text: Optional[str]) -> Optional[Dict[str, Any]]:
    """The timeline as a dict, as ``unstall connect --json`` has it."""
    return None if text is None else json.loads(text)


def error_of(failure: Any, timeline: Optional[Dict[str, Any]]) -> OSError:
    """The exception for a failed connect; its ``timeline`` says what was tried."""
    outcome = timeline["outcome"] if timeline else "unknown"
    error = _error(outcome, failure["message"], failure["os_error"], failure["resolver"])
    error.timeline = timeline  # type: ignore[attr-defined]
    return error


def _error(outcome: str, message: str, os_error: Optional[int], resolver: Optional[int]) -> OSError:
    if outcome == "no_name":
        return socket.gaierror(socket.EAI_NONAME if resolver is None else resolver, message)
    if outcome == "timed_out":
        return _Timeout(errno.ETIMEDOUT, message)
    if outcome == "self_connected":
        os_error = None
    code = _CODES.get(outcome, errno.EIO) if os_error is None else os_error
    if hasattr(OSError, "winerror"):
        # Winsock's codes become errno's, as the socket module does it.
        return OSError(0, message, None, code)
    return OSError(code, message)
