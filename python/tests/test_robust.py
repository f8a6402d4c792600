"""Signals, threads, forks, the end of the interpreter, and many connects: an exception or nothing, never a crash or a leak."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import unstall
from conftest import descriptors


def run(program, *arguments, timeout=60):
    """Runs a program in a fresh interpreter, in this network."""
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(program), *map(str, arguments)],
        timeout=timeout,
        capture_output=True,
        text=True,
    )


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_keyboard_interrupt(silent):
    def interrupt():
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    before = descriptors()
    thread = threading.Thread(target=interrupt)
    begin = time.perf_counter()
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            unstall.connect("127.0.0.2", 80, timeout=30)
    finally:
        signal.signal(signal.SIGINT, previous)
    took = time.perf_counter() - begin
    thread.join()
    # At most 20 ms later; what a loaded machine adds is far from 30 s.
    assert 0.1 <= took < 2
    assert descriptors() <= before + 3, "the reactor's own may have come"


def test_another_signal_does_not_end_the_connect(silent):
    previous = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        begin = time.perf_counter()
        with pytest.raises(TimeoutError):
            unstall.connect("127.0.0.2", 80, timeout=0.2)
        assert time.perf_counter() - begin >= 0.2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_the_end_of_the_interpreter(silent):
    """Daemon threads that connect, and one that begins to when it is too late."""
    ended = run(
        """
        import atexit, threading, time, unstall

        def connect():
            try:
                unstall.connect("127.0.0.2", 80)
            except RuntimeError:
                pass

        # Handlers run in the opposite order: this one after the package's own.
        for _ in range(16):
            threading.Thread(target=connect, daemon=True).start()
        time.sleep(0.1)
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    ended = run(
        """
        import atexit, sys
        def late():
            import unstall
            try:
                unstall.connect("127.0.0.2", 80, timeout=5)
            except RuntimeError as error:
                print(error)
        atexit.register(late)
        import unstall
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "about to end" in ended.stdout


def test_fork(server, silent):
    """In the child there is no reactor any more; blocking connects go on, can be interrupted, and asyncio says so."""
    ended = run(
        """
        import asyncio, os, signal, socket, sys, threading, time
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        import unstall

        port = int(sys.argv[1])
        try:
            unstall.connect("127.0.0.2", 80, timeout=0.05)  # the reactor runs
        except TimeoutError:
            pass
        child = os.fork()
        if child == 0:
            for host in ("127.0.0.1", "localhost"):
                unstall.connect(host, port, 5).close()
            try:
                unstall.connect("127.0.0.2", 80, timeout=0.05)
            except TimeoutError as error:
                assert error.timeline["outcome"] == "timed_out"
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            try:
                unstall.connect("127.0.0.2", 80, timeout=30)
                os._exit(2)
            except KeyboardInterrupt:
                pass
            try:
                asyncio.run(unstall.aio.connect("127.0.0.1", port))
                os._exit(3)
            except RuntimeError:
                pass
            os._exit(0)
        unstall.connect("127.0.0.1", port, 5).close()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """,
        server.port,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_many_connects_from_many_threads():
    """Descriptors and memory stay flat. The number is that of the promise where UNSTALL_PYTHON_CONNECTS asks for it."""
    connects = int(os.environ.get("UNSTALL_PYTHON_CONNECTS", "20000"))
    threads = 16
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    port = listener.getsockname()[1]
    done = threading.Event()

    def serve():
        while True:
            sock, _ = listener.accept()
            sock.close()
            if done.is_set():
                return

    def work(count, failures):
        for number in range(count):
            try:
                # A reset in place of a TIME_WAIT, or the ports would be used up.
                sock = unstall.connect("localhost" if number % 4 else "127.0.0.1", port, 10, family=socket.AF_INET)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                sock.close()
            except OSError as error:
                failures.append(error)

    def crowd(count):
        failures = []
        workers = [threading.Thread(target=work, args=(count // threads, failures)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return failures

    server = threading.Thread(target=serve)
    server.start()
    try:
        assert not crowd(connects // 4)
        before, memory = descriptors(), resident()
        assert not crowd(connects)
        grown = resident() - memory
        # The server holds one for the moment in which it closes it.
        assert descriptors() <= before + 1
        # A leak of 100 bytes for each would show.
        assert grown < 100 * connects + 2_000_000, f"{grown} bytes more"
    finally:
        done.set()
        with socket.create_connection(("127.0.0.1", port)):
            server.join()
        listener.close()


def test_subinterpreters_and_reimports():
    """The module is found once; a second import gives the same."""
    ended = run(
        """
        import importlib, sys, unstall
        first = unstall._connect._native
        for name in [name for name in sys.modules if name.startswith("unstall") and name != "unstall._native"]:
            del sys.modules[name]
        import unstall as again
        assert again._connect._native is first
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")
