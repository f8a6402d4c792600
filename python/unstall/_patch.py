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
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple

from . import _native, aio
from ._connect import connect
from ._options import Request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options

__all__ = ["patch", "patched", "unpatch"]

_lock = threading.RLock()
_depth = 0
_options: Dict[str, Any] = {}
# What was replaced: the object, its attribute, the original, ours.
_replaced: List[Tuple[Any, str, Any, Any]] = []
_LAZY = object()


def patch(**options: "Unpack[Options]") -> None:
    """Puts :func:`unstall.connect` under ``socket.create_connection`` (and so ``http.client``, ``urllib``, ``smtplib`` ...), ``urllib3`` and
    ``requests``, ``httpx``, ``aiohttp``, ``anyio`` and asyncio's ``create_connection``, for the whole process, whether they are imported
    already or later.

    To the original goes what a call asks for that unstall does not do (a source address, a socket of its own, flags) and what it makes
    no sense of (``127.1``); everything, while the program has put a ``getaddrinfo`` or a socket class of its own into the socket
    module (a resolver, PySocks, gevent), and at exit; and asyncio's connects after a fork that came after a connect.
    ``TCP_NODELAY`` is left as the program sets it unless ``nodelay=True`` is given. ``patch`` may be called again; as many calls of
    :func:`unpatch` undo it.

    :param options: those of :func:`unstall.connect`, for every connect from now on.
    :raises TypeError, ValueError: the options make no sense; nothing was changed.
    """
    global _depth, _options
    if "timeout" in options or "addresses" in options:
        raise TypeError("timeout and addresses are the caller's")
    Request("localhost", 1, **options)
    with _lock:
        _depth += 1
        # In one step: others may be connecting.
        _options = {"nodelay": False, **options}
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
def patched(**options: "Unpack[Options]") -> Iterator[None]:
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
    """To be called of a module that is as it was, or that has just been executed, maybe once more."""
    for path, make in _PLACES[name]:
        owner = module
        *parents, attribute = path.split(".")
        for parent in parents:
            owner = getattr(owner, parent, None)
        original = getattr(owner, attribute, None)
        if original is None or any(entry[3] is original for entry in _replaced):
            continue
        # What a reload has overwritten is not to be put back.
        _replaced[:] = [entry for entry in _replaced if entry[0] is not owner or entry[1] != attribute]
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


def _would_try(driven: bool, host: Any, port: Any, timeout: Any = None, **options: "Unpack[Options]") -> bool:
    """Whether unstall would try this. What makes no sense to it is the original's, to do or to complain of."""
    if timeout is not None and timeout == 0:
        # A socket that does not block, while it connects.
        return False
    try:
        return _native.would_try(Request(host, port, timeout, **options), driven)
    except (TypeError, ValueError, OverflowError):
        return False


def _own_names() -> bool:
    """Whether names are resolved as the socket module does it. A program that has put its own function there means every connect."""
    return getattr(socket.getaddrinfo, "__globals__", None) is vars(socket)


def _own_sockets() -> bool:
    """Whether sockets are the socket module's own: no proxy's (PySocks), no other event loop's (gevent), no guard's of a test."""
    methods = vars(socket.socket)
    made = getattr(methods.get("__init__"), "__globals__", None) is vars(socket)
    return made and "connect" not in methods


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
        default = timeout is socket._GLOBAL_DEFAULT_TIMEOUT  # type: ignore[attr-defined]
        limit = socket.getdefaulttimeout() if default else timeout
        options = dict(_options)
        ours = _depth and not source_address and not any(further.values()) and isinstance(host, str) and _is_port(port)
        if not ours or not _own_names() or not _own_sockets() or not _would_try(False, host, port, limit, **options):
            return original(address, timeout, source_address, **further)  # type: ignore[no-any-return]
        return connect(host, port, limit, **options)

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
        limit = timeout if known else socket.getdefaulttimeout()
        # A name that cannot be encoded is urllib3's to complain of.
        ours = _depth and not source_address and (known or default) and isinstance(host, str) and host.isascii()
        ours = ours and _own_names() and _own_sockets()
        options = {**_options_but_family(), **_family()} if ours else {}
        if not ours or not _would_try(False, host.strip("[]"), port, limit, **options):
            return original(address, timeout, source_address, socket_options)  # type: ignore[no-any-return]
        sock = connect(host.strip("[]"), port, limit, **options)
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
        ours = ours and _depth > 0 and isinstance(host, str) and bool(host) and _is_port(port)
        options = dict(_options)
        if further.get("family"):
            options["family"] = further["family"]
        sock = _connected.get()
        own = _own_names() and _own_sockets() and _is_own_resolver(self)
        if not ours or (sock is None and not (own and _would_try(True, host, port, **options))):
            return await original(self, protocol_factory, host, port, **further)
        if sock is None:
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


def _is_own_resolver(loop: asyncio.BaseEventLoop) -> bool:
    return getattr(loop.getaddrinfo, "__func__", None) is asyncio.BaseEventLoop.getaddrinfo


# A socket that anyio's connect is to find connected already.
_connected: "contextvars.ContextVar[Optional[socket.socket]]" = contextvars.ContextVar("unstall_connected", default=None)


def _anyio_connect_tcp(original: Callable[..., Any]) -> Callable[..., Any]:
    """``anyio.connect_tcp``: what ``httpx`` connects with. It resolves and races by itself, so it gets the address that has won, and its
    connect the socket."""

    async def connect_tcp(remote_host: Any, remote_port: Any, **further: Any) -> Any:
        ours = _depth and not further.get("local_host") and _is_port(remote_port)
        options = dict(_options)
        own = _own_names() and _own_sockets() and _on_asyncio()
        if not ours or not own or not _would_try(True, str(remote_host), remote_port, **options):
            return await original(remote_host, remote_port, **further)
        sock = await aio.connect(str(remote_host), remote_port, **options)
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
    return isinstance(loop, asyncio.BaseEventLoop) and asyncio.current_task() is not None and _is_own_resolver(loop)


def _start_connection(original: Callable[..., Any]) -> Callable[..., Any]:
    """``aiohappyeyeballs.start_connection``: what ``aiohttp`` connects with. It has resolved the name already."""

    async def start_connection(addr_infos: Any, **further: Any) -> socket.socket:
        ours = not (further.get("local_addr_infos") or further.get("socket_factory"))
        addresses = [info[4] for info in addr_infos if info[0] in (socket.AF_INET, socket.AF_INET6)]
        ours = ours and _depth > 0 and bool(addresses) and len(addresses) == len(addr_infos) and _own_sockets()
        options = {**_options, "addresses": addresses}
        if not ours or not _would_try(True, *addresses[0][:2], **options):
            return await original(addr_infos, **further)  # type: ignore[no-any-return]
        return await aio.connect(*addresses[0][:2], **options)

    return start_connection


# What is replaced in which module.
_PLACES: Dict[str, List[Tuple[str, Callable[[Any], Any]]]] = {
    "socket": [("create_connection", _create_connection)],
    "asyncio.base_events": [("BaseEventLoop.create_connection", _loop_create_connection)],
    "urllib3.util.connection": [("create_connection", _urllib3_create_connection)],
    "aiohappyeyeballs": [("start_connection", _start_connection)],
    "anyio": [("connect_tcp", _anyio_connect_tcp)],
}
