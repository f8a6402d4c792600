"""Puts unstall's connects under what is there already, and takes them away again."""

import asyncio
import contextvars
import functools
import importlib.abc
import importlib.util
import socket
import sys
import threading
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from . import aio
from ._connect import connect
from ._options import Request

__all__ = ["patch", "patched", "unpatch"]

_lock = threading.RLock()
_depth = 0
_options: Dict[str, Any] = {}
# What was replaced: the object, its attribute, the original, ours.
_replaced: List[Tuple[Any, str, Any, Any]] = []
_LAZY = object()


def patch(**options: Any) -> None:
    """Puts :func:`unstall.connect` under ``socket.create_connection`` (and so ``http.client``, ``urllib``, ``smtplib`` ...), ``urllib3`` and
    ``requests``, ``httpx``, ``aiohttp``, ``anyio`` and asyncio's ``create_connection``, for the whole process, whether they are imported
    already or later.

    What a call asks for that unstall does not do (a source address, a socket of its own, flags) goes to the original. ``TCP_NODELAY`` is
    left as the program sets it unless ``nodelay=True`` is given. ``patch`` may be called again; as many calls of :func:`unpatch` undo it.

    :param options: those of :func:`unstall.connect`, for every connect from now on.
    :raises TypeError, ValueError: the options make no sense; nothing was changed.
    """
    global _depth
    if "timeout" in options or "addresses" in options:
        raise TypeError("timeout and addresses are the caller's")
    Request("localhost", 1, **options)
    with _lock:
        _depth += 1
        _options.clear()
        _options.update({"nodelay": False, **options})
        if _depth > 1:
            return
        try:
            sys.meta_path.insert(0, _finder)
            for name in _PLACES:
                module = sys.modules.get(name)
                if module is not None:
                    _replace_in(name, module)
        except BaseException:
            _undo()
            raise


def unpatch() -> None:
    """Undoes one :func:`patch`. After the last one every function is the very object that it was.

    :raises RuntimeError: nothing is patched.
    """
    with _lock:
        if _depth == 0:
            raise RuntimeError("unpatch() without patch()")
        if _depth == 1:
            _undo()
        else:
            _set_depth(_depth - 1)


@contextmanager
def patched(**options: Any) -> Iterator[None]:
    """:func:`patch` for the length of a ``with`` block, for the whole process."""
    patch(**options)
    try:
        yield
    finally:
        unpatch()


def _set_depth(depth: int) -> None:
    global _depth
    _depth = depth


def _undo() -> None:
    _set_depth(0)
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    while _replaced:
        owner, attribute, original, ours = _replaced.pop()
        # What somebody else has put over ours stays: it calls ours, which then calls the original.
        if owner.__dict__.get(attribute) is not ours:
            continue
        if original is _LAZY:
            delattr(owner, attribute)
        else:
            setattr(owner, attribute, original)


def _replace_in(name: str, module: Any) -> None:
    for path, make in _PLACES[name]:
        owner = module
        *parents, attribute = path.split(".")
        for parent in parents:
            owner = getattr(owner, parent, None)
        original = getattr(owner, attribute, None)
        if original is None or any(entry[0] is owner and entry[1] == attribute for entry in _replaced):
            continue
        ours = functools.wraps(original)(make(original))
        # anyio finds its functions by a __getattr__ of the module, and shall go on to do so.
        own = attribute in owner.__dict__
        _replaced.append((owner, attribute, original if own else _LAZY, ours))
        setattr(owner, attribute, ours)


class _Finder(importlib.abc.MetaPathFinder):
    """Lets a module be found as ever, and replaces what is to be replaced once it has been executed."""

    def __init__(self) -> None:
        self._looking = threading.local()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname not in _PLACES or getattr(self._looking, "name", None) == fullname:
            return None
        self._looking.name = fullname
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking.name = None
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """A module's own loader, and what is done after it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        # The module shall look as if nobody had been between.
        module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        with _lock:
            if _depth:
                _replace_in(module.__name__, module)


_finder = _Finder()


def _is_port(port: Any) -> bool:
    return isinstance(port, int) or (isinstance(port, str) and port.isascii() and port.isdigit())


def _create_connection(original: Callable[..., Any]) -> Callable[..., Any]:
    """``socket.create_connection``."""

    def create_connection(
        address: Any,
        timeout: Any = socket._GLOBAL_DEFAULT_TIMEOUT,  # type: ignore[attr-defined]
        source_address: Any = None,
        **further: Any,
    ) -> socket.socket:
        host, port = address
        # Beside source_address there is all_errors, which asks for an ExceptionGroup.
        if not _depth or source_address or any(further.values()) or not isinstance(host, str) or not _is_port(port):
            return original(address, timeout, source_address, **further)
        if timeout is socket._GLOBAL_DEFAULT_TIMEOUT:  # type: ignore[attr-defined]
            timeout = socket.getdefaulttimeout()
        return connect(host or "localhost", port, timeout, **_options)

    return create_connection


def _urllib3_create_connection(original: Callable[..., Any]) -> Callable[..., Any]:
    """``urllib3.util.connection.create_connection``: what ``requests`` connects with."""

    def create_connection(
        address: Any, timeout: Any = None, source_address: Any = None, socket_options: Any = None
    ) -> socket.socket:
        host, port = address
        # urllib3 has a sentinel of its own for "the default"; whatever else is no number is left to it, too.
        known = timeout is None or isinstance(timeout, (int, float))
        default = not known and timeout is getattr(sys.modules.get("urllib3.util.timeout"), "_DEFAULT_TIMEOUT", timeout)
        # A name that cannot be encoded is urllib3's to complain of.
        if not _depth or source_address or not (known or default) or not host or not host.isascii():
            return original(address, timeout, source_address, socket_options)
        limit = timeout if known else socket.getdefaulttimeout()
        sock = connect(host.strip("[]"), port, limit, **_family(), **_options_but_family())
        try:
            for option in socket_options or ():
                sock.setsockopt(*option)
        except BaseException:
            sock.close()
            raise
        return sock

    return create_connection


def _family() -> Dict[str, Any]:
    """The family that urllib3 would resolve for, which programs replace to have IPv4 alone."""
    if "family" in _options:
        return {"family": _options["family"]}
    module = sys.modules.get("urllib3.util.connection")
    allowed = getattr(module, "allowed_gai_family", None)
    family = allowed() if allowed else socket.AF_UNSPEC
    return {"family": family if getattr(module, "HAS_IPV6", True) else socket.AF_INET}


def _options_but_family() -> Dict[str, Any]:
    return {name: value for name, value in _options.items() if name != "family"}


def _loop_create_connection(original: Callable[..., Any]) -> Callable[..., Any]:
    """asyncio's ``loop.create_connection``."""

    async def create_connection(
        self: Any, protocol_factory: Any, host: Any = None, port: Any = None, **further: Any
    ) -> Any:
        ours = not any(further.get(name) for name in ("sock", "local_addr", "proto", "flags", "all_errors"))
        family = further.get("family") or socket.AF_UNSPEC
        if not _depth or not ours or not isinstance(host, str) or not host or not _is_port(port):
            return await original(self, protocol_factory, host, port, **further)
        sock = _connected.get()
        if sock is None:
            options = dict(_options)
            if family:
                options["family"] = family
            sock = await aio.connect(host, port, **options)
        else:
            _connected.set(None)
        for name in ("family", "happy_eyeballs_delay", "interleave", "sock", "local_addr", "proto", "flags", "all_errors"):
            further.pop(name, None)
        if further.get("ssl") and further.get("server_hostname") is None:
            further["server_hostname"] = host
        try:
            return await original(self, protocol_factory, sock=sock, **further)
        except BaseException:
            sock.close()
            raise

    return create_connection


# A socket that anyio's connect is to find connected already.
_connected: "contextvars.ContextVar[Optional[socket.socket]]" = contextvars.ContextVar("unstall_connected", default=None)


def _anyio_connect_tcp(original: Callable[..., Any]) -> Callable[..., Any]:
    """``anyio.connect_tcp``: what ``httpx`` connects with. It resolves and races by itself, so it gets the address that has won, and its
    connect the socket."""

    async def connect_tcp(remote_host: Any, remote_port: Any, **further: Any) -> Any:
        ours = _depth and not further.get("local_host") and _is_port(remote_port)
        if not ours or not _on_asyncio():
            return await original(remote_host, remote_port, **further)
        sock = await aio.connect(str(remote_host), remote_port, **_options)
        token = None
        try:
            winner = sock.getpeername()[0]
            if further.get("tls") or further.get("ssl_context"):
                further.setdefault("tls_hostname", str(remote_host))
            token = _connected.set(sock)
            return await original(winner, remote_port, **further)
        except BaseException:
            sock.close()
            raise
        finally:
            if token is not None:
                _connected.reset(token)

    return connect_tcp


def _on_asyncio() -> bool:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    # Another loop's create_connection (uvloop's) is not ours.
    return isinstance(loop, asyncio.BaseEventLoop) and asyncio.current_task() is not None


def _start_connection(original: Callable[..., Any]) -> Callable[..., Any]:
    """``aiohappyeyeballs.start_connection``: what ``aiohttp`` connects with. It has resolved the name already."""

    async def start_connection(addr_infos: Any, **further: Any) -> socket.socket:
        ours = not (further.get("local_addr_infos") or further.get("socket_factory"))
        addresses = [info[4] for info in addr_infos if info[0] in (socket.AF_INET, socket.AF_INET6)]
        if not _depth or not ours or not addresses or len(addresses) < len(addr_infos):
            return await original(addr_infos, **further)
        host, port = addresses[0][:2]
        return await aio.connect(host, port, addresses=addresses, **_options)

    return start_connection


# What is replaced in which module.
_PLACES: Dict[str, List[Tuple[str, Callable[[Any], Any]]]] = {
    "socket": [("create_connection", _create_connection)],
    "asyncio.base_events": [("BaseEventLoop.create_connection", _loop_create_connection)],
    "urllib3.util.connection": [("create_connection", _urllib3_create_connection)],
    "aiohappyeyeballs": [("start_connection", _start_connection)],
    "anyio": [("connect_tcp", _anyio_connect_tcp)],
}
