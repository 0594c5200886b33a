"""A process that ends without closing its session."""

import subprocess
import sys

import pytest

HOLD = """
import fencepost
session = fencepost.connect("memory://", holder="me")
grant = session.lock("a").acquire()
"""


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("", "ResourceWarning: me did not close its session: 'a' is locked until the lease ends"),
        ("grant.release()", ""),
        ("session.close()", ""),
    ],
)
def test_what_is_held_at_the_end_of_a_process_is_warned_of(end: str, said: str) -> None:
    argv = [sys.executable, "-W", "always::ResourceWarning", "-c", HOLD + end]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert said in done.stderr
    assert bool(done.stderr) == bool(said)
