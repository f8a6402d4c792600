"""asyncio."""

import asyncio
import gc
import socket
import time
import warnings

import pytest
import unstall
from conftest import descriptors


def test_connect_and_open_connection(server):
    async def both():
        sock = await unstall.aio.connect("localhost", server.port)
        assert (sock.getblocking(), sock.getpeername()[1]) == (False, server.port)
        sock.close()
        sock, timeline = await unstall.aio.connect_timeline("127.0.0.1", server.port)
        sock.close()
        assert timeline["outcome"] == "connected"
        reader, writer = await unstall.aio.open_connection("localhost", server.port, timeout=5)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"ok")
        writer.close()
        await writer.wait_closed()

    asyncio.run(both())


def test_many_at_once(server):
    async def many():
        socks = await asyncio.gather(*(unstall.aio.connect("localhost", server.port) for _ in range(200)))
        for sock in socks:
            sock.close()

    asyncio.run(many())


def test_failures(closed, silent):
    async def fail():
        with pytest.raises(ConnectionRefusedError) as caught:
            await unstall.aio.connect("127.0.0.1", closed)
        assert caught.value.timeline["outcome"] == "refused"
        begin = time.perf_counter()
        with pytest.raises(TimeoutError):
            await unstall.aio.connect("127.0.0.2", 80, timeout=0.05)
        assert 0.05 <= time.perf_counter() - begin < 1
        with pytest.raises(socket.gaierror):
            await unstall.aio.connect("nonsense.invalid", 80, timeout=5)
        with pytest.raises(TypeError):
            await unstall.aio.connect(None, 80)

    asyncio.run(fail())


def test_a_silent_first_family(server, both_families, silent_v6):
    async def connect():
        begin = time.perf_counter()
        (await unstall.aio.connect("localhost", server.port)).close()
        return time.perf_counter() - begin

    assert 0.010 <= asyncio.run(connect()) < 0.25


def test_cancelling_closes_everything(silent):
    """Including the sockets by which the native half wakes the loop."""

    async def cancel():
        before = descriptors()
        for _ in range(50):
            tasks = [asyncio.ensure_future(unstall.aio.connect("127.0.0.2", 80)) for _ in range(4)]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            for task in tasks:
                with pytest.raises(asyncio.CancelledError):
                    await task
        with pytest.raises((asyncio.TimeoutError, TimeoutError)):
            await asyncio.wait_for(unstall.aio.connect("127.0.0.2", 80), 0.01)
        assert descriptors() == before

    # The first connect starts the reactor, which keeps descriptors of its own.
    asyncio.run(_warm_up())
    asyncio.run(cancel())


async def _warm_up():
    with pytest.raises((asyncio.TimeoutError, TimeoutError)):
        await asyncio.wait_for(unstall.aio.connect("127.0.0.2", 80), 0.01)


def test_a_loop_that_is_closed_meanwhile(silent):
    """Nobody polls any more: nothing is left, and nothing complains."""
    asyncio.run(_warm_up())
    gc.collect()
    before = descriptors()
    loop = asyncio.new_event_loop()
    coroutine = unstall.aio.connect("127.0.0.2", 80)
    task = loop.create_task(coroutine)
    loop.call_later(0.01, loop.stop)
    loop.run_forever()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task._log_destroy_pending = False
        loop.close()
        coroutine.close()
    del task, coroutine, loop
    assert descriptors() == before


def test_no_loop():
    with pytest.raises(RuntimeError):
        unstall.aio.connect("localhost", 80).send(None)
