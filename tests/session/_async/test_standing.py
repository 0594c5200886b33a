# Written by hand; the blocking twin under _sync is generated from it.
"""What a grant says of itself."""

import pytest

from fencepost.testing._async.world import AsyncWorld

pytestmark = pytest.mark.unit


async def test_a_grant_that_was_released_is_shown_so_and_not_as_lost() -> None:
    async with AsyncWorld() as world, world.connect() as session:
        async with session.lock("a") as grant:
            assert repr(grant).endswith(f"Grant 'a' token {grant.token} held>")
        assert repr(grant).endswith(f"Grant 'a' token {grant.token} released>")
        lost = await session.lock("a").acquire()
        await world.expire("a")
        assert repr(lost).endswith(f"Grant 'a' token {lost.token} lost>")
