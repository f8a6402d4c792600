"""The tests connect within a network namespace of their own, which ends with the test process."""

import contextlib
import ctypes
import gc
import os
import shutil
import socket
import subprocess
import tempfile
import threading

import pytest

CLONE_NEWNET = 0x40000000
CLONE_NEWNS = 0x00020000


def _leave_the_network():
    """Why this process has no network of its own; None: it has."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        return f"a network namespace needs root: {os.strerror(ctypes.get_errno())}"
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return None


MISSING = _leave_the_network()


def pytest_collection_modifyitems(items):
    if MISSING:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=MISSING))


class Server:
    """Accepts, and answers each HTTP request; made for clients that open a connection for each."""

    def __init__(self, host="127.0.0.1", answer=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.create_server((host, 0), family=family, backlog=4096)
        self.port = self.listener.getsockname()[1]
        self.accepted = 0
        self._answer = answer
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        while True:
            sock, _ = self.listener.accept()
            with sock:
                if self.port is None:
                    return
                self.accepted += 1
                sock.settimeout(10)
                with contextlib.suppress(OSError):
                    data = b""
                    while b"\r\n\r\n" not in data:
                        more = sock.recv(4096)
                        if not more:
                            break
                        data += more
                    if data:
                        sock.sendall(self._answer)

    def close(self):
        port, self.port = self.port, None
        with contextlib.suppress(OSError):
            family = self.listener.family
            with socket.socket(family) as sock:
                sock.connect((self.listener.getsockname()[0], port))
        self._thread.join()
        self.listener.close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def closed():
    """A port where nobody listens, and nobody will: it is bound."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


@contextlib.contextmanager
def _dropped(rule):
    if shutil.which("nft") is None:
        pytest.skip("nft is not installed")
    script = f"table inet silence {{ chain input {{ type filter hook input priority 0; {rule} drop; }}\n}}\n"
    subprocess.run(["nft", "-f", "-"], input=script, text=True, check=True)
    try:
        yield
    finally:
        subprocess.run(["nft", "delete", "table", "inet", "silence"], check=True)


@pytest.fixture
def silent_v6():
    """::1 does not answer."""
    with _dropped("ip6 daddr ::1 tcp flags & (syn|ack) == syn"):
        yield


@pytest.fixture
def silent():
    """127.0.0.2 does not answer."""
    with _dropped("ip daddr 127.0.0.2 tcp flags & (syn|ack) == syn"):
        yield


@contextlib.contextmanager
def local_names():
    """`localhost` is ::1 and 127.0.0.1, whatever the hosts file of this machine says: in a mount namespace of this process alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "no mount namespace")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    with tempfile.NamedTemporaryFile("w") as hosts:
        hosts.write("::1 localhost\n127.0.0.1 localhost\n")
        hosts.flush()
        subprocess.run(["mount", "--bind", hosts.name, "/etc/hosts"], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "/etc/hosts"], check=True)


@pytest.fixture
def both_families():
    with local_names():
        yield


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
