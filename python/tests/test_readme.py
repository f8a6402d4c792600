"""What the README files show is run."""

import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


@pytest.mark.parametrize("name", ["README.md", "python/README.md"])
def test_readme(name, server):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        program = block.replace("8080", str(server.port))
        ended = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", program], capture_output=True, text=True, timeout=60
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "200 OK" in ended.stdout
        assert ended.stdout.endswith("200\n")
