"""Ratios of unstall's connects to Python's own, in one run: `cargo xtask python --bench`.

Every figure is measured here, but those of Windows' refusals, which `unstall lab` emulates. Wants root for a network of its own, nft, and
UNSTALL, the path of the program `unstall`, for the lab."""

import asyncio
import os
import socket
import statistics
import sys
import time

import unstall

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests"))

import conftest  # noqa: E402  (leaves the network)
import test_lab  # noqa: E402
import test_patch  # noqa: E402

MISSED = []


def row(what, theirs, ours, unit, bound, holds):
    verdict = "" if holds is None else ("  ok" if holds else "  MISSED")
    if holds is False:
        MISSED.append(what)
    shown = "" if theirs is None else f"{theirs:10.3f}"
    print(f"{what:<58}{shown:>10}{ours:10.3f} {unit:<3} {bound:<28}{verdict}", flush=True)


def pairs(listener, theirs, ours, count=3000, block=50):
    """Medians in microseconds; blocks of each in turn, so that what disturbs the machine disturbs both."""
    times = {theirs: [], ours: []}
    for _ in range(count // block):
        for connect in (theirs, ours):
            for _ in range(block):
                begin = time.perf_counter()
                sock = connect()
                times[connect].append(time.perf_counter() - begin)
                # A reset leaves no TIME_WAIT.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                sock.close()
                listener.accept()[0].close()
    return statistics.median(times[theirs]) * 1e6, statistics.median(times[ours]) * 1e6


def success():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        for host, timeout in (("127.0.0.1", None), ("127.0.0.1", 5), ("localhost", None), ("localhost", 5)):
            theirs, ours = pairs(
                listener,
                lambda: socket.create_connection((host, port), timeout),
                lambda: unstall.connect(host, port, timeout),
            )
            what = f"success, {host}, {'no limit' if timeout is None else 'a limit'}: ratio {ours / theirs:.2f}"
            row(what, theirs, ours, "us", "ratio <= 1.3", ours / theirs <= 1.3)


def refused():
    theirs, ours = test_lab.in_the_lab("theirs", 3), test_lab.in_the_lab("ours", 50, "--retries", "0")
    what = f"refused, windows-11, emulated: ratio {theirs / ours:.0f}"
    row(what, theirs * 1e3, ours * 1e3, "ms", "ratio >= 400", theirs / ours >= 400)


def silent_v6(port):
    begin = time.perf_counter()
    socket.create_connection(("localhost", port), 2).close()
    theirs = time.perf_counter() - begin
    times = []
    for _ in range(100):
        begin = time.perf_counter()
        unstall.connect("localhost", port, 2).close()
        times.append(time.perf_counter() - begin)
    ours = sorted(times)[98]
    row("localhost, ::1 silent, a limit of 2 s (ours: p99)", theirs * 1e3, ours * 1e3, "ms", "< 20 ms", ours < 0.020)


def requests(port, count=1000):
    url = f"http://localhost:{port}"

    def blocking(get):
        def gets(url, count):
            took = []
            for _ in range(count):
                begin = time.perf_counter()
                assert get(url) == 200
                took.append(time.perf_counter() - begin)
            return took

        return gets

    clients = [
        ("requests", blocking(test_patch.requests_get)),
        ("httpx", blocking(test_patch.httpx_get)),
        ("httpx, asynchronous", lambda url, count: asyncio.run(test_patch.httpx_gets(url, count))),
        ("aiohttp", lambda url, count: asyncio.run(test_patch.aiohttp_gets(url, count))),
    ]
    for name, gets in clients:
        with unstall.patched():
            took = gets(url, count)
        # Without any stall: to the address, unpatched.
        plain = statistics.median(gets(f"http://127.0.0.1:{port}", 100))
        beyond = max(took[1:]) - plain
        what = f"{name}, {count} requests, patched, ::1 silent: worst"
        row(what, plain * 1e3, max(took[1:]) * 1e3, "ms", "<= 50 ms beyond an address", beyond <= 0.050)


def main():
    if conftest.MISSING:
        raise SystemExit(conftest.MISSING)
    print(f"{'':<58}{'theirs':>10}{'ours':>10}")
    success()
    refused()
    server = conftest.Server()
    with conftest.local_names(), conftest._dropped("ip6 daddr ::1 tcp flags & (syn|ack) == syn"):
        silent_v6(server.port)
        requests(server.port)
    server.close()
    if MISSED:
        raise SystemExit(f"missed: {'; '.join(MISSED)}")


main()
