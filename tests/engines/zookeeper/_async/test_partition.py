# Written by hand; the blocking twin under _sync is generated from it.
"""A follower that is cut off from its leader goes on answering its clients: its answers prove nothing."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from fencepost import Unavailable
from fencepost.primitives._async.connect import connect_async
from fencepost.testing import condition
from fencepost.testing.contract._async.attempt import until
from fencepost.testing.port import free_port
from fencepost.testing.proxy import Proxy
from fencepost.testing.zookeeper import UP, ZookeeperServer
from tests.support.zookeeper._async.patience import LASTING, PATIENCE, apart

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# A follower that hears nothing from its leader goes on serving for that many ticks: for longer than any session here.
PATIENT = {"syncLimit": 600}
# Of one whose lease ends in the test. A call has a third of it, which three servers on a busy machine may need.
ENDING = 12.0


class Parted:
    """An ensemble in which what one member, never the leader, sends to the others goes through proxies."""

    def __init__(self, stack: ExitStack) -> None:
        ports = {each: (free_port(), free_port()) for each in (1, 2, 3)}
        peers = {each: f"127.0.0.1:{quorum}:{vote}" for each, (quorum, vote) in ports.items()}
        # Number 1 has the lowest vote, so it follows; it finds its leader through a proxy.
        self.links = {each: stack.enter_context(Proxy(ports[each][0])) for each in (2, 3)}
        seen = dict(peers)
        for each, proxy in self.links.items():
            seen[each] = f"127.0.0.1:{proxy.port}:{ports[each][1]}"
        self.follower = ZookeeperServer(number=1, ensemble=seen, settings=PATIENT)
        others = [ZookeeperServer(number=each, ensemble=peers, settings=PATIENT) for each in (2, 3)]
        self.others = others
        self.is_parted = False
        for server in (*others, self.follower):
            stack.callback(server.close)
            server.start()
        self.heal()

    def heal(self) -> None:
        """Let it follow again, and wait until it does."""
        if self.is_parted:
            # A connection that has lost bytes does not go on: no network hands over the rest of it.
            for proxy in self.links.values():
                proxy.cut()
            condition.until(lambda: self.follower.mode != "follower", UP)
        for proxy in self.links.values():
            proxy.heal()
        self.is_parted = False
        servers = (self.follower, *self.others)
        condition.until(lambda: sorted(each.mode for each in servers) == ["follower", "follower", "leader"], UP)

    @property
    def elsewhere(self) -> str:
        return ",".join(f"127.0.0.1:{server.port}" for server in self.others)

    def part(self) -> None:
        self.is_parted = True
        for proxy in self.links.values():
            proxy.hold()
            proxy.drop_replies()


@pytest.fixture(scope="module")
def three() -> Iterator[Parted]:
    with ExitStack() as stack:
        yield Parted(stack)


@pytest.fixture
def parted(three: Parted) -> Iterator[Parted]:
    three.heal()
    yield three
    three.heal()


async def test_a_holder_at_a_follower_that_was_cut_off_is_told_before_another_is_granted(parted: Parted) -> None:
    assert parted.follower.mode == "follower"
    async with (
        connect_async(f"zookeeper://127.0.0.1:{parted.follower.port}/parted", ttl=ENDING) as cut,
        connect_async(f"zookeeper://{parted.elsewhere}/parted", ttl=LASTING) as other,
    ):
        old = await cut.lock("a").acquire()
        await until((await cut.keeper())._renew, PATIENCE)
        parted.part()
        new = await other.lock("a").acquire(timeout=PATIENCE)
        # The follower serves on, and would answer a ping.
        assert parted.follower.mode == "follower"
        assert not old.held
        assert old._keeper.ends_at <= new.granted_at
        assert new.token > old.token
        await apart(parted.heal)
        async with cut.lock("b", timeout=PATIENCE):
            pass


async def test_what_a_follower_knows_that_was_cut_off_is_not_shown(parted: Parted) -> None:
    async with (
        connect_async(f"zookeeper://127.0.0.1:{parted.follower.port}/shown", ttl=ENDING) as cut,
        connect_async(f"zookeeper://{parted.elsewhere}/shown", ttl=LASTING) as other,
    ):
        held = await other.lock("a").acquire(timeout=PATIENCE)
        assert [each.claim.token for each in (await cut.look("a")).holders] == [held.token]
        parted.part()
        await held.release()
        # It would show the holder that it last heard of.
        with pytest.raises(Unavailable):
            await cut.look("a")
        await apart(parted.heal)
