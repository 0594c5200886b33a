"""What is looked at is what is so, whichever server is asked."""

import multiprocessing
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import fencepost
from fencepost.testing.zookeeper import shared_ensemble

LOOKS = 600


@contextmanager
def busy_machine() -> Iterator[None]:
    """More work than there are processors, so that servers lag behind each other."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_burn, daemon=True) for _ in range(multiprocessing.cpu_count() + 1)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def _burn() -> None:
    parent = multiprocessing.parent_process()
    # Also if nobody is left to end it.
    while parent is not None and parent.is_alive():
        pass


# It takes the whole machine.
@pytest.mark.calm
def test_a_look_at_the_leader_shows_what_was_done_through_a_follower() -> None:
    """`sync` would not: the leader answers it before it has applied what it and its followers have committed."""
    ensemble = shared_ensemble()
    folder = uuid.uuid4().hex
    leader, follower = (
        f"zookeeper://127.0.0.1:{server.port}/{folder}" for server in (ensemble.leader(), ensemble.followers()[0])
    )
    with fencepost.connect(leader, ttl=20) as here, fencepost.connect(follower, ttl=20) as there, busy_machine():
        for _ in range(LOOKS):
            there.lock("a").acquire().release()
            assert here.look("a").holders == ()
