"""Fences between real processes: racing, killed, stopped and resumed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fencepost.errors import Stale
from tests.support.fences.desk import NAME, Place
from tests.support.fences.place import PLACES
from tests.support.fences.process import SPAWN, resume, started, stop
from tests.support.fences.worker import (
    add_words,
    fork_a_child_that_leaves,
    fork_inside_guard,
    read_and_write_when_told,
    write_in_guard_and_wait,
)


@pytest.fixture
def place(shared: str, tmp_path: Path) -> Iterator[Place]:
    place = PLACES[shared](tmp_path)
    yield place
    place.close()


def test_racing_processes_lose_nothing_that_was_acknowledged(shared: str, tmp_path: Path, place: Place) -> None:
    workers, rounds = 4, 25
    last, start = SPAWN.Value("q", 0), SPAWN.Barrier(workers)
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(started(add_words, shared, tmp_path, worker, rounds, last, start))[1]
            for worker in range(workers)
        ]
        results = [pipe.recv() for pipe in pipes]
    acknowledged = {word for words, _ in results for word in words}
    refused = sum(refusals for _, refusals in results)
    assert acknowledged
    assert set(place.look()) == acknowledged
    assert len(place.look()) == len(acknowledged) == workers * rounds - refused
    assert place.open().fence.highest(NAME) == workers * rounds


def test_a_holder_killed_inside_its_guard_leaves_nothing_written_and_nobody_waiting(
    shared: str, tmp_path: Path, place: Place
) -> None:
    place.open().add(1, "before")
    with started(write_in_guard_and_wait, shared, tmp_path, 2) as (process, pipe):
        assert pipe.recv() == "inside"
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    assert place.look() == ["before"]
    place.open().add(3, "after")
    assert place.look() == ["before", "after"]


def test_a_holder_stopped_and_resumed_after_a_newer_one_claimed_is_refused(
    shared: str, tmp_path: Path, place: Place
) -> None:
    with started(read_and_write_when_told, shared, tmp_path, 1) as (process, pipe):
        assert pipe.recv() == "read"
        stop(process)
        pipe.send("go on")
        newer = place.open()
        with newer.fence.guard(NAME, 2) as guarded:
            seen = newer.read(guarded)
        resume(process)
        refusal = pipe.recv()
        with newer.fence.guard(NAME, 2) as guarded:
            newer.write(guarded, [*seen, "newer"])
    assert isinstance(refusal, Stale)
    assert (refusal.name, refusal.token, refusal.highest) == (NAME, 1, 2)
    assert place.look() == ["newer"]


def test_a_holder_stopped_and_resumed_with_nobody_newer_writes_as_if_nothing_was(
    shared: str, tmp_path: Path, place: Place
) -> None:
    with started(read_and_write_when_told, shared, tmp_path, 1) as (process, pipe):
        assert pipe.recv() == "read"
        stop(process)
        pipe.send("go on")
        resume(process)
        assert pipe.recv() == "written"
    assert place.look() == ["late"]


def test_a_child_forked_inside_the_guard_of_a_file_waits_until_the_guard_ends(tmp_path: Path) -> None:
    with started(fork_inside_guard, tmp_path / "report.csv") as (_, pipe):
        assert pipe.recv() == b"final"


@pytest.mark.parametrize("raising", [True, False])
@pytest.mark.parametrize("kind", ["file", "host", "sqlite", "postgresql", "mariadb"])
def test_a_child_forked_inside_a_guard_leaves_it_to_its_parent(kind: str, raising: bool, tmp_path: Path) -> None:
    place = PLACES[kind](tmp_path)
    seen: list[list[str]] = []

    def read() -> None:
        desk = place.open()
        with desk.fence.guard(NAME, 2) as guarded:
            seen.append(desk.read(guarded))

    newer = threading.Thread(target=read, daemon=True)
    with started(fork_a_child_that_leaves, kind, tmp_path, raising) as (_, pipe):
        assert pipe.recv() == "left"
        newer.start()
        # Long enough for a fence that lets it in. If not, nothing is found out.
        newer.join(0.1)
        pipe.send("go on")
        assert pipe.recv() == "written"
        newer.join()
    assert seen == [["parent"]]
    place.close()
