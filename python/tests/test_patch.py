"""What programs connect with, with unstall under it, and undone again."""

import asyncio
import functools
import importlib
import socket
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request

import pytest
import unstall

# What a whole request may take beyond the 10 ms of the local delay: the bound of the promise is 50 ms.
SOON = 0.050


def originals():
    places = [(socket, "create_connection"), (asyncio.BaseEventLoop, "create_connection")]
    for name, attribute in [
        ("urllib3.util.connection", "create_connection"),
        ("aiohappyeyeballs", "start_connection"),
        ("anyio", "connect_tcp"),
    ]:
        places.append((importlib.import_module(name), attribute))
    return [(owner, attribute, getattr(owner, attribute)) for owner, attribute in places]


def same(before):
    return [getattr(owner, attribute) is function for owner, attribute, function in before]


def test_undone_exactly():
    before = originals()
    finders = list(sys.meta_path)
    with unstall.patched():
        assert not any(same(before))
        assert socket.create_connection.__name__ == "create_connection"
        unstall.patch()
        unstall.unpatch()
        assert not any(same(before)), "as many calls undo it as have made it"
    assert all(same(before))
    assert sys.meta_path == finders
    with pytest.raises(RuntimeError):
        unstall.unpatch()
    with pytest.raises(ValueError):
        unstall.patch(attempt_delay=-1)
    for wrong in ({"timeout": 1}, {"addresses": []}, {"color": "red"}):
        with pytest.raises(TypeError):
            unstall.patch(**wrong)
    assert all(same(before))


def test_undone_after_an_exception():
    before = originals()
    with pytest.raises(ZeroDivisionError), unstall.patched():
        1 / 0
    assert all(same(before))


def test_somebody_else_s_patch_over_ours_stays(server):
    original = socket.create_connection
    calls = []
    unstall.patch()
    ours = socket.create_connection

    def theirs(*arguments, **further):
        calls.append(arguments)
        return ours(*arguments, **further)

    socket.create_connection = theirs
    try:
        unstall.unpatch()
        assert socket.create_connection is theirs
        socket.create_connection(("127.0.0.1", server.port), 5).close()
        assert len(calls) == 1
    finally:
        socket.create_connection = original


def test_from_many_threads(server):
    before = originals()

    def work():
        for _ in range(50):
            with unstall.patched():
                socket.create_connection(("localhost", server.port), 5).close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(before))


def test_modules_that_are_imported_later(server):
    program = f"""
        import sys, unstall
        assert "urllib3" not in sys.modules
        unstall.patch()
        import urllib3, urllib3.util.connection as connection
        assert connection.create_connection.__module__ == "urllib3.util.connection"
        assert connection.create_connection.__wrapped__
        loader = type(connection.__loader__).__name__
        assert loader == type(connection.__spec__.loader).__name__ == "SourceFileLoader", loader
        assert urllib3.PoolManager().request("GET", "http://localhost:{server.port}").status == 200
        unstall.unpatch()
        assert not hasattr(connection.create_connection, "__wrapped__")
    """
    subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(program)], check=True)


def test_what_unstall_does_not_do_goes_to_the_original(server):
    with unstall.patched():
        with socket.create_connection(("127.0.0.1", server.port), 5, ("127.0.0.1", 0)) as sock:
            assert sock.getsockname()[0] == "127.0.0.1"
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", "no-such-service"))
        # Nagle stays as the program has it.
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            assert not sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    with unstall.patched(nodelay=True), socket.create_connection(("127.0.0.1", server.port)) as sock:
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_default_timeout_holds(silent):
    socket.setdefaulttimeout(0.05)
    try:
        with unstall.patched(), pytest.raises(TimeoutError):
            socket.create_connection(("127.0.0.2", 80))
    finally:
        socket.setdefaulttimeout(None)


def urllib_get(url):
    with urllib.request.urlopen(url, timeout=5) as response:
        return response.status


def requests_get(url):
    requests = pytest.importorskip("requests")
    return requests.get(url, timeout=5).status_code


def httpx_get(url):
    httpx = pytest.importorskip("httpx")
    return httpx.get(url, timeout=5, trust_env=False).status_code


def asyncio_get(url):
    async def get():
        reader, writer = await asyncio.open_connection("localhost", int(url.rsplit(":")[-1]))
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        status = (await reader.read()).split()[1]
        writer.close()
        await writer.wait_closed()
        return int(status)

    return asyncio.run(get())


CLIENTS = [urllib_get, requests_get, httpx_get, asyncio_get]


@pytest.mark.parametrize("get", CLIENTS, ids=lambda get: get.__name__)
def test_clients(get, server, both_families, silent_v6):
    url = f"http://localhost:{server.port}"
    with unstall.patched():
        get(url)
        took = []
        for _ in range(20):
            begin = time.perf_counter()
            assert get(url) == 200
            took.append(time.perf_counter() - begin)
    # The machine may be loaded; the client's own time is in it as well.
    assert sorted(took)[10] < 0.2, took


async def aiohttp_gets(url, count):
    aiohttp = pytest.importorskip("aiohttp")
    took = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        for _ in range(count):
            begin = time.perf_counter()
            async with session.get(url) as response:
                assert response.status == 200
            took.append(time.perf_counter() - begin)
    return took


async def httpx_gets(url, count):
    httpx = pytest.importorskip("httpx")
    took = []
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(count):
            begin = time.perf_counter()
            assert (await client.get(url, headers={"Connection": "close"})).status_code == 200
            took.append(time.perf_counter() - begin)
    return took


@pytest.mark.parametrize("gets", [aiohttp_gets, httpx_gets], ids=lambda gets: gets.__name__)
def test_asynchronous_clients(gets, server, both_families, silent_v6):
    url = f"http://localhost:{server.port}"
    with unstall.patched():
        took = asyncio.run(gets(url, 20))
    # Their own delay before the second family is 250 ms.
    assert sorted(took)[10] < 0.2, took


def test_errors_are_what_the_clients_expect(closed):
    requests = pytest.importorskip("requests")
    httpx = pytest.importorskip("httpx")
    aiohttp = pytest.importorskip("aiohttp")
    url = f"http://127.0.0.1:{closed}"

    async def aio():
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get(url)
        async with httpx.AsyncClient(trust_env=False) as client:
            with pytest.raises(httpx.ConnectError):
                await client.get(url)

    with unstall.patched():
        with pytest.raises(requests.ConnectionError):
            requests.get(url, timeout=5)
        with pytest.raises(httpx.ConnectError):
            httpx.get(url, timeout=5, trust_env=False)
        with pytest.raises(urllib.error.URLError) as caught:
            urllib.request.urlopen(url, timeout=5)
        assert isinstance(caught.value.reason, ConnectionRefusedError)
        asyncio.run(aio())


def test_tls_is_asked_for_the_name_and_not_for_the_address(server):
    """As asyncio does it when it has the name itself."""
    asked = []

    async def original(self, protocol_factory, host=None, port=None, **further):
        asked.append((host, further.pop("sock").getpeername()[1], further))
        raise ConnectionAbortedError

    create_connection = unstall._patch._loop_create_connection(original)

    async def connect(**further):
        with pytest.raises(ConnectionAbortedError):
            await create_connection(asyncio.get_running_loop(), None, "localhost", server.port, **further)

    with unstall.patched():
        asyncio.run(connect(ssl=True))
        asyncio.run(connect(ssl=True, server_hostname="elsewhere", happy_eyeballs_delay=0.25))
        asyncio.run(connect())
    assert [(host, further) for host, _, further in asked] == [
        (None, {"ssl": True, "server_hostname": "localhost"}),
        (None, {"ssl": True, "server_hostname": "elsewhere"}),
        (None, {}),
    ]
    assert {port for _, port, _ in asked} == {server.port}


def outcome(connect, *arguments):
    """The class of the exception, or None after a success."""
    try:
        connect(*arguments).close()
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "2130706433", "a b", "-a", "127.0.0.1\n", "http://x", "x" * 70, "a..b"])
def test_hosts_that_only_the_os_makes_sense_of(host, server):
    """Or that nobody does: then the exception is the one that was there before, which programs catch."""
    urllib3 = pytest.importorskip("urllib3")

    async def stream(address, timeout):
        _, writer = await asyncio.wait_for(asyncio.open_connection(*address), timeout)
        return writer

    def blocking(*arguments):
        return outcome(socket.create_connection, *arguments)

    def pooled(*arguments):
        return outcome(urllib3.util.connection.create_connection, *arguments)

    def asynchronous(*arguments):
        async def connect():
            try:
                (await stream(*arguments)).close()
            except Exception as error:
                return type(error)
            return None

        return asyncio.run(connect())

    for connect in (blocking, pooled, asynchronous):
        before = connect((host, server.port), 5)
        with unstall.patched():
            assert connect((host, server.port), 5) is before


def test_port_0_is_refused_as_ever():
    with unstall.patched(), pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", 0), 5)


def test_a_socket_that_does_not_block_is_the_original_s(silent):
    with unstall.patched(), pytest.raises(BlockingIOError):
        socket.create_connection(("127.0.0.2", 80), 0)


def test_a_resolver_of_the_program_s_own(server, monkeypatch):
    """A name that it pins is pinned, whoever connects."""
    urllib3 = pytest.importorskip("urllib3")
    resolve = socket.getaddrinfo
    asked = []

    @functools.wraps(resolve)
    def pinned(host, *arguments, **further):
        asked.append(host)
        return resolve("127.0.0.1", *arguments, **further)

    async def stream():
        _, writer = await asyncio.open_connection("pinned.invalid", server.port)
        writer.close()
        await writer.wait_closed()

    monkeypatch.setattr(socket, "getaddrinfo", pinned)
    with unstall.patched():
        socket.create_connection(("pinned.invalid", server.port), 5).close()
        urllib3.util.connection.create_connection(("pinned.invalid", server.port), 5).close()
        asyncio.run(stream())
    assert asked == ["pinned.invalid"] * 3


def test_a_resolver_of_a_loop_s_own(server):
    anyio = pytest.importorskip("anyio")

    class Loop(asyncio.SelectorEventLoop):
        async def getaddrinfo(self, host, port, **further):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    async def connect():
        _, writer = await asyncio.open_connection("pinned.invalid", server.port)
        writer.close()
        await writer.wait_closed()
        await (await anyio.connect_tcp("pinned.invalid", server.port)).aclose()

    loop = Loop()
    try:
        with unstall.patched():
            loop.run_until_complete(connect())
    finally:
        loop.close()


@pytest.mark.parametrize("how", ["class", "method"])
def test_sockets_of_the_program_s_own(how, server, monkeypatch):
    """A proxy's (PySocks), another event loop's (gevent), a test's that lets nobody out."""
    aiohappyeyeballs = pytest.importorskip("aiohappyeyeballs")
    own = socket.socket
    seen = []

    class Proxied(own):
        def connect(self, address):
            seen.append(address)
            return super().connect(address)

    def connect(self, address):
        seen.append(address)
        return super(own, self).connect(address)

    with unstall.patched():
        if how == "class":
            monkeypatch.setattr(socket, "socket", Proxied)
        else:
            monkeypatch.setattr(own, "connect", connect, raising=False)
        socket.create_connection(("127.0.0.1", server.port), 5).close()
        assert seen == [("127.0.0.1", server.port)]
        info = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", server.port))
        with asyncio.run(aiohappyeyeballs.start_connection([info])) as sock:
            assert type(sock) is socket.socket


def test_a_module_that_is_reloaded(server):
    connection = pytest.importorskip("urllib3.util.connection")
    with unstall.patched():
        first = connection.create_connection
        importlib.reload(connection)
        assert connection.create_connection is not first
        assert connection.create_connection.__wrapped__.__module__ == "urllib3.util.connection"
        connection.create_connection(("localhost", server.port), 5).close()
    assert not hasattr(connection.create_connection, "__wrapped__")


@pytest.mark.parametrize("connected", [False, True])
def test_asyncio_after_a_fork(connected, server):
    program = f"""
        import asyncio, os, unstall, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        unstall.patch()
        if {connected}:
            unstall.connect("127.0.0.1", {server.port}).close()

        async def child():
            _, writer = await asyncio.open_connection("127.0.0.1", {server.port})
            writer.close()
            await writer.wait_closed()
            try:
                (await unstall.aio.connect("127.0.0.1", {server.port})).close()
            except RuntimeError:
                return {connected}
            return not {connected}

        number = os.fork()
        if number == 0:
            right = False
            try:
                right = asyncio.run(child())
            finally:
                os._exit(0 if right else 1)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]))
    """
    subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(program)], check=True, timeout=60)


def test_connects_at_exit(server):
    """Of handlers that were registered before the package was imported, and so run after its own."""
    program = f"""
        import atexit, socket

        def late():
            socket.create_connection(("127.0.0.1", {server.port}), 5).close()
            print("connected")

        atexit.register(late)
        import unstall
        unstall.patch()
    """
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert (ended.stdout, ended.stderr) == ("connected\n", "")
