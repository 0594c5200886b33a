"""A test that is marked `unit` reaches no server and starts no process: one that tries fails."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

REFUSED = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "socket.connect"}
_unit = False


def _audit(event: str, arguments: Any) -> None:
    if _unit and event in REFUSED:
        raise AssertionError(f"a unit test needs no server and no other process, and this one calls {event}")


def pytest_configure() -> None:
    sys.addaudithook(_audit)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    global _unit
    _unit = item.get_closest_marker("unit") is not None
    try:
        return (yield)
    finally:
        _unit = False
