"""Blocking connects: what they return, raise and leave."""

import errno
import pickle
import socket
import threading
import time

import pytest
import unstall


def test_a_socket_as_create_connection_leaves_it(server):
    for timeout in (None, 3.5):
        with unstall.connect("127.0.0.1", server.port, timeout) as ours, socket.create_connection(
            ("127.0.0.1", server.port), timeout
        ) as theirs:
            assert type(ours) is socket.socket
            assert (ours.family, ours.type) == (theirs.family, theirs.type)
            assert ours.gettimeout() == theirs.gettimeout()
            assert ours.getblocking() == theirs.getblocking()
            assert ours.get_inheritable() is False
            assert ours.getpeername() == theirs.getpeername()
            assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    with unstall.connect("127.0.0.1", server.port, nodelay=False) as sock:
        assert not sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_silent_first_family_costs_the_local_delay(server, both_families, silent_v6):
    begin = time.perf_counter()
    sock, timeline = unstall.connect_timeline("localhost", server.port, 5)
    took = time.perf_counter() - begin
    sock.close()
    first, second = timeline["attempts"]
    assert (first["outcome"], second["outcome"]) == ("cancelled", "connected")
    # The delay is 10 ms; a loaded machine adds its own.
    assert 0.010 <= took < 0.25
    # And create_connection waits for its whole limit at the first address.
    begin = time.perf_counter()
    with socket.create_connection(("localhost", server.port), 0.5):
        assert time.perf_counter() - begin > 0.5


def test_refused(closed):
    with pytest.raises(ConnectionRefusedError) as caught:
        unstall.connect("127.0.0.1", closed, timeout=0.001)
    error = caught.value
    assert error.errno == errno.ECONNREFUSED
    assert error.timeline["outcome"] == "refused"
    assert [attempt["address"] for attempt in error.timeline["attempts"]] == [f"127.0.0.1:{closed}"]
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.args, again.timeline) == (type(error), error.args, error.timeline)


def test_timed_out(silent):
    begin = time.perf_counter()
    with pytest.raises(TimeoutError) as caught:
        unstall.connect("127.0.0.2", 80, timeout=0.05)
    assert 0.05 <= time.perf_counter() - begin < 1
    assert isinstance(caught.value, socket.timeout)
    assert caught.value.timeline["outcome"] == "timed_out"


def test_no_name():
    with pytest.raises(socket.gaierror) as caught:
        unstall.connect("nonsense.invalid", 80, timeout=5)
    assert caught.value.timeline["attempts"] == []


def test_unreachable():
    # There is no route out of this network.
    with pytest.raises(OSError) as caught:
        unstall.connect("192.0.2.1", 80, timeout=5)
    assert caught.value.errno == errno.ENETUNREACH
    assert caught.value.timeline["outcome"] == "unreachable"


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((1, 80), {}, TypeError),
        ((None, 80), {}, TypeError),
        (("localhost",), {}, TypeError),
        (("localhost", None), {}, TypeError),
        (("localhost", 1.5), {}, TypeError),
        (("localhost", 70000), {}, OverflowError),
        (("localhost", -1), {}, OverflowError),
        (("localhost", 0), {}, ValueError),
        (("", 80), {}, ValueError),
        (("a b", 80), {}, ValueError),
        (("a\0b", 80), {}, ValueError),
        (("x" * 70000, 80), {}, ValueError),
        (("\ud800", 80), {}, ValueError),
        ((b"\xff", 80), {}, ValueError),
        (("localhost", 80, "5"), {}, TypeError),
        (("localhost", 80, -1), {}, ValueError),
        (("localhost", 80, float("inf")), {}, OverflowError),
        (("localhost", 80, float("nan")), {}, ValueError),
        (("localhost", 80), {"attempt_delay": []}, TypeError),
        (("localhost", 80), {"family": socket.AF_UNIX}, ValueError),
        (("localhost", 80), {"family": []}, (TypeError, ValueError)),
        (("localhost", 80), {"syn_retransmissions": 9}, ValueError),
        (("localhost", 80), {"syn_retransmissions": "none"}, ValueError),
        (("localhost", 80), {"color": "red"}, TypeError),
        (("localhost", 80), {"addresses": [("localhost", 80)]}, ValueError),
        (("localhost", 80), {"addresses": 5}, TypeError),
    ],
)
def test_arguments_that_make_no_sense(arguments, options, error):
    for function in (unstall.connect, unstall.connect_timeline):
        with pytest.raises(error):
            function(*arguments, **options)


def test_options(server):
    everything = {
        "attempt_delay": 0.1,
        "local_attempt_delay": 0.02,
        "backlog_retry": 0,
        "nodelay": True,
        "family": socket.AF_INET,
        "syn_retransmissions": "none_anywhere",
    }
    unstall.connect("localhost", server.port, 5, **everything).close()
    unstall.connect(b"127.0.0.1", str(server.port), **{**everything, "syn_retransmissions": 3}).close()
    with pytest.raises(OSError):
        unstall.connect("127.0.0.1", server.port, family=socket.AF_INET6)
    # Resolved already.
    unstall.connect("db.example", 1, addresses=[("127.0.0.1", server.port)]).close()


def test_a_scope(server):
    with pytest.raises(OSError) as caught:
        unstall.connect("fe80::1%nowhere", server.port, timeout=5)
    assert caught.value.timeline["outcome"] == "not_available"


def test_prepare(server):
    with socket.socket() as sock:
        assert unstall.prepare(sock, ("127.0.0.1", server.port)) == "not_needed"
        sock.connect(("127.0.0.1", server.port))
    with socket.socket(socket.AF_INET6) as sock:
        assert unstall.prepare(sock, ("::1", server.port, 0, 0)) == "not_needed"
    with pytest.raises(ValueError):
        unstall.prepare(sock, ("127.0.0.1", server.port))
    for address, error in [
        (("localhost", 80), ValueError),
        (("127.0.0.1",), TypeError),
        ("127.0.0.1:80", TypeError),
        ((1, 80), TypeError),
        (("127.0.0.1", 70000), OverflowError),
        (("127.0.0.1", "80"), TypeError),
    ]:
        with socket.socket() as sock, pytest.raises(error):
            unstall.prepare(sock, address)
    with pytest.raises(AttributeError):
        unstall.prepare(5, ("127.0.0.1", 80))


def test_the_gil_is_released(silent):
    """Another thread goes on while a connect waits."""
    ended = threading.Event()

    def wait():
        with pytest.raises(TimeoutError):
            unstall.connect("127.0.0.2", 80, timeout=0.5)
        ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    count = 0
    while not ended.is_set():
        time.sleep(0.001)
        count += 1
    thread.join()
    assert count > 50


@pytest.mark.parametrize(
    ("outcome", "os_error", "kind", "code"),
    [
        ("refused", errno.ECONNRESET, ConnectionResetError, errno.ECONNRESET),
        # The OS said "connected", to itself.
        ("self_connected", errno.EISCONN, ConnectionRefusedError, errno.ECONNREFUSED),
        ("timed_out", None, TimeoutError, errno.ETIMEDOUT),
        ("not_permitted", None, PermissionError, errno.EACCES),
        ("exhausted", errno.EMFILE, OSError, errno.EMFILE),
        ("never heard of", None, OSError, errno.EIO),
    ],
)
def test_every_outcome_has_its_exception(outcome, os_error, kind, code):
    failure = {"message": "it failed", "os_error": os_error, "resolver": None}
    error = unstall._errors.error_of(failure, {"outcome": outcome})
    assert isinstance(error, kind)
    assert (error.errno, error.strerror) == (code, "it failed")
    assert error.timeline == {"outcome": outcome}
