"""The real command, as a process, against a state file of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import fencepost
from tests.support.cli.program import Program


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/locks.db"


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Whoever holds an flock on this file makes the engine unavailable to all others."""
    return tmp_path / "locks.db-gate"


@pytest.fixture
def program(url: str, tmp_path: Path) -> Iterator[Program]:
    program = Program(url, tmp_path)
    yield program
    program.end()


@pytest.fixture
def session(url: str) -> Iterator[fencepost.Session]:
    session = fencepost.connect(url, ttl=60, holder="the test")
    yield session
    session.close()
