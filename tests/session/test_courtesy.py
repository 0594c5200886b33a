"""What is left of a grant that listened for polite requests: nothing, however long the leases are."""

import threading

import pytest

import fencepost
from fencepost.testing.condition import until

pytestmark = pytest.mark.unit


def listeners() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "fencepost-courtesy-listened"]


def test_whoever_listened_for_requests_leaves_no_thread_for_the_rest_of_the_lease() -> None:
    with fencepost.connect("memory://courtesy", ttl=3600) as session:
        session.limits = session.limits._replace(call=0.05)
        for _ in range(3):
            with session.lock("listened") as grant:
                assert not grant.asked_to_yield.is_set()
                assert listeners()
        until(lambda: not listeners())
