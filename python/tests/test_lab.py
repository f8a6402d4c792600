"""Windows' refusals: what they cost Python's own connect, and what is left with the SYN retransmissions taken away. Emulated by
`unstall lab`, on the kernel's own TCP. Linux has no such option that unstall could set, so the lab sets it."""

import json
import os
import subprocess
import sys

import pytest

LAB = os.environ.get("UNSTALL")

pytestmark = pytest.mark.skipif(not LAB, reason="UNSTALL names no program `unstall` to make the lab with")

PROGRAM = """
import json, socket, statistics, sys, time
import unstall

def took(connect):
    begin = time.perf_counter()
    try:
        connect().close()
        raise SystemExit("connected to a closed port")
    except ConnectionRefusedError:
        return time.perf_counter() - begin

connect = {
    "theirs": lambda: socket.create_connection(("127.0.0.1", 9)),
    "ours": lambda: unstall.connect("127.0.0.1", 9),
}[sys.argv[1]]
print(json.dumps(statistics.median(took(connect) for _ in range(int(sys.argv[2])))))
"""


def in_the_lab(whose, times, *options):
    """Seconds until a connect to a closed port is refused, the median of so many."""
    command = [LAB, "lab", "--profile", "windows-11", *options, "--", sys.executable, "-c", PROGRAM, whose, str(times)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if ended.returncode == 125:
        pytest.skip(f"no lab: {ended.stderr.strip()}")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_the_article_s_row():
    # Four retries, 505 ms apart on Windows; the kernel's timer makes 512 of each here.
    assert 1.9 < in_the_lab("theirs", 1) < 2.5


def test_four_hundred_times_sooner():
    """`--retries 0`: every socket has asked for no retry, as unstall's do on Windows."""
    theirs, ours = in_the_lab("theirs", 1), in_the_lab("ours", 20, "--retries", "0")
    assert theirs / ours >= 400, (theirs, ours)
