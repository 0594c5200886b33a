# Generated from tests/session/_async/test_standing.py by tools/unasync.py. Do not edit: run `make gen`.
"""What a grant says of itself."""

import pytest

from fencepost.testing._sync.world import World

pytestmark = pytest.mark.unit


def test_a_grant_that_was_released_is_shown_so_and_not_as_lost() -> None:
    with World() as world, world.connect() as session:
        with session.lock("a") as grant:
            assert repr(grant).endswith(f"Grant 'a' token {grant.token} held>")
        assert repr(grant).endswith(f"Grant 'a' token {grant.token} released>")
        lost = session.lock("a").acquire()
        world.expire("a")
        assert repr(lost).endswith(f"Grant 'a' token {lost.token} lost>")
