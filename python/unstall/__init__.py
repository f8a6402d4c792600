"""TCP connects that never stall where the OS need not.

``connect`` is ``socket.create_connection`` that tries all addresses of a name staggered (RFC 8305; 10 ms apart on this host), is
refused at once where Windows would take 2 s, gets through a full accept queue of a local server, and says what happened when.

>>> import unstall
>>> sock = unstall.connect("localhost", 8080, timeout=5)      # doctest: +SKIP

``unstall.patch()`` puts it under what is there already: ``socket.create_connection``, ``http.client``, ``urllib``, ``requests``,
``urllib3``, ``httpx``, ``aiohttp`` and asyncio's ``create_connection``.
"""

from . import aio
from ._connect import connect, connect_timeline, prepare
from ._patch import patch, patched, unpatch

__all__ = ["aio", "connect", "connect_timeline", "patch", "patched", "prepare", "unpatch"]
