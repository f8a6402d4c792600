"""The options of a connect: checked here, so that a mistake is a TypeError or ValueError before anything is tried."""

import math
import operator
import socket
import threading
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    class Options(TypedDict, total=False):
        """What a type checker knows of the options; :class:`Request` checks them."""

        attempt_delay: Optional[float]
        local_attempt_delay: Optional[float]
        backlog_retry: Optional[float]
        nodelay: bool
        family: int
        syn_retransmissions: Union[str, int]
        addresses: Optional[List[Tuple[Any, ...]]]


_FAMILIES = {socket.AF_UNSPEC: 0, socket.AF_INET: 4, socket.AF_INET6: 6}
_RETRANSMISSIONS = {"none_if_local": 0, "none_anywhere": -1, "os_default": -2}


class Request:
    """What the native half reads."""

    __slots__ = (
        "host",
        "port",
        "timeout",
        "attempt_delay",
        "local_attempt_delay",
        "backlog_retry",
        "nodelay",
        "family",
        "syn_retransmissions",
        "addresses",
    )

    def __init__(
        self,
        host: str,
        port: int,
        timeout: Optional[float] = None,
        *,
        attempt_delay: Optional[float] = None,
        local_attempt_delay: Optional[float] = None,
        backlog_retry: Optional[float] = None,
        nodelay: bool = True,
        family: int = socket.AF_UNSPEC,
        syn_retransmissions: object = "none_if_local",
        addresses: Optional[List[Tuple[Any, ...]]] = None,
    ) -> None:
        self.host = _text(host)
        self.port = _port(port)
        self.timeout = _seconds("timeout", timeout)
        self.attempt_delay = _seconds("attempt_delay", attempt_delay)
        self.local_attempt_delay = _seconds("local_attempt_delay", local_attempt_delay)
        self.backlog_retry = _seconds("backlog_retry", backlog_retry)
        self.nodelay = bool(nodelay)
        self.family = _choice("family", _FAMILIES, family)
        self.syn_retransmissions = _retransmissions(syn_retransmissions)
        self.addresses = addresses


def _text(host: object) -> str:
    if isinstance(host, (bytes, bytearray)):
        return bytes(host).decode("ascii")
    if not isinstance(host, str):
        raise TypeError(f"host must be a str, not {type(host).__name__}")
    host.encode()
    return host


def _port(port: object) -> int:
    if isinstance(port, str) and port.isascii() and port.isdigit():
        port = int(port)
    number = operator.index(port)  # type: ignore[arg-type]
    if not 0 <= number <= 65535:
        # As socket.connect has it.
        raise OverflowError("port must be 0-65535.")
    return number


def _seconds(name: str, seconds: object) -> Optional[float]:
    if seconds is None:
        return None
    if isinstance(seconds, str):
        raise TypeError(f"{name} must be a number of seconds, not str")
    number = float(seconds)  # type: ignore[arg-type]
    if math.isnan(number) or number < 0:
        raise ValueError(f"{name} must be a number of seconds, 0 or more")
    if number > threading.TIMEOUT_MAX:
        # As socket.settimeout has it.
        raise OverflowError(f"{name} is too long; None is no limit")
    return number


def _choice(name: str, choices: Dict[Any, int], choice: object) -> int:
    try:
        return choices[choice]
    except KeyError:
        raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}") from None


def _retransmissions(wanted: object) -> int:
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        if 1 <= wanted <= 8:
            return wanted
        raise ValueError("syn_retransmissions must be 1 to 8, or a word")
    return _choice("syn_retransmissions", _RETRANSMISSIONS, wanted)
