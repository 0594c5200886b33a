"""Nodes that die, stop, forget, or whose replies are lost: any minority of them is not missed."""

import asyncio
import threading
import time
from contextlib import ExitStack

import pytest

import fencepost
from fencepost import Unavailable, Uncertain
from fencepost.testing.condition import until
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command, port_of
from fencepost.testing.server import ServerProcess

from .conftest import StartNodes, url_of

# Longer than anything here takes that does not wait for a node: whoever waits for one is found out.
NODE_TIMEOUT = 3.0
PATIENT = f"?node_timeout={NODE_TIMEOUT}"


def harm(node: ServerProcess, fault: str) -> None:
    getattr(node, fault)()


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_two_of_five_dead_or_stopped_nodes_do_not_slow_an_acquire(nodes: list[ServerProcess], fault: str) -> None:
    with fencepost.connect(url_of(nodes, PATIENT), ttl=30) as session:
        before = session.lock("a").acquire()
        before.release()
        for node in nodes[:2]:
            harm(node, fault)
        for name in ("a", "b"):
            started = time.monotonic()
            grant = session.lock(name).acquire(timeout=20)
            assert time.monotonic() - started < NODE_TIMEOUT
            assert grant.token > before.token
            grant.release()
            assert time.monotonic() - started < NODE_TIMEOUT
        for node in nodes[:2]:
            node.resume() if fault == "pause" else None


@pytest.mark.parametrize("fault", ["kill", "pause"])
async def test_nor_do_they_slow_a_task(nodes: list[ServerProcess], fault: str) -> None:
    async with fencepost.connect_async(url_of(nodes, PATIENT), ttl=30) as session:
        for node in nodes[:2]:
            harm(node, fault)
        for name in ("a", "b"):
            async with asyncio.timeout(NODE_TIMEOUT):
                async with session.lock(name):
                    pass
        for node in nodes[:2]:
            node.resume() if fault == "pause" else None


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_a_session_that_never_met_the_lost_nodes_acquires_as_well(nodes: list[ServerProcess], fault: str) -> None:
    for node in nodes[3:]:
        harm(node, fault)
    started = time.monotonic()
    with fencepost.connect(url_of(nodes, PATIENT), ttl=30) as session:
        session.lock("a").acquire(timeout=20).release()
        assert time.monotonic() - started < NODE_TIMEOUT
        for node in nodes[3:]:
            node.resume() if fault == "pause" else None


def test_a_waiter_is_served_while_two_nodes_are_stopped(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=6) as first, fencepost.connect(url_of(nodes), ttl=6) as second:
        held = first.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=20)))
        waiter.start()
        until(lambda: first.look("a").waiters)
        for node in nodes[:2]:
            node.pause()
        held.release()
        waiter.join(20)
        for node in nodes[:2]:
            node.resume()
        assert taken[0].token > held.token
        assert taken[0].held


def test_without_a_majority_nothing_is_granted_and_nothing_stays_held(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=2) as session, fencepost.connect(url_of(nodes), ttl=2) as other:
        session.lock("a").acquire().release()
        for node in nodes[:3]:
            node.kill()
        with pytest.raises((Unavailable, Uncertain), match="of 5 nodes answered, and 3 are needed"):
            session.lock("a").acquire(timeout=0)
        for node in nodes[:3]:
            node.start()
        until(lambda: all(command(port_of(node), "EXISTS", "a") == 0 for node in nodes), 6)
        other.lock("a").acquire(timeout=10).release()


def test_a_holder_outlives_the_loss_of_every_node_one_after_another(start_nodes: StartNodes) -> None:
    """Nodes that came back without their data vote for it again, as long as a majority never forgot it."""
    nodes = start_nodes(3)
    with fencepost.connect(url_of(nodes), ttl=3) as session, fencepost.connect(url_of(nodes), ttl=3) as other:
        grant = session.lock("a").acquire()
        for node in nodes:
            node.kill()
            node.start()
            until(lambda node=node: command(port_of(node), "EXISTS", "a") == 1)
            # A vote gained by a renewal counts from the next one on: that one must not find two nodes without memory.
            renewed = session.statistics().renewals
            until(lambda renewed=renewed: session.statistics().renewals > renewed)
            assert other.lock("a").try_acquire() is None
        assert grant.held
        assert {command(port_of(node), "GET", "a").split(b":")[3] for node in nodes} == {b"%d" % grant.token}
        grant.release()


def test_a_holder_whose_votes_are_gone_at_a_majority_is_told(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=1.5) as session:
        grant = session.lock("a").acquire()
        for node in nodes[:3]:
            command(port_of(node), "DEL", "a")
        assert grant.lost.wait(5)
        with pytest.raises(fencepost.Lost, match="a majority of nodes no longer has it"):
            grant.check()


def test_a_lock_that_another_held_meanwhile_is_not_revived_by_a_renewal(nodes: list[ServerProcess]) -> None:
    """The defect of extensions that set a key that is missing."""
    with fencepost.connect(url_of(nodes), ttl=6) as first, fencepost.connect(url_of(nodes), ttl=6) as second:
        old = first.lock("a").acquire()
        for node in nodes:
            command(port_of(node), "DEL", "a")
        second.lock("a").acquire(timeout=0).release()
        assert old.lost.wait(8)


def test_replies_lost_at_a_minority_are_not_missed(nodes: list[ServerProcess]) -> None:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(port_of(node))) for node in nodes]
        url = f"redlock://{','.join(f'127.0.0.1:{proxy.port}' for proxy in proxies)}{PATIENT}"
        session = stack.enter_context(fencepost.connect(url, ttl=30))
        for proxy in proxies[:2]:
            proxy.drop_replies()
        started = time.monotonic()
        session.lock("a").acquire(timeout=10).release()
        assert time.monotonic() - started < NODE_TIMEOUT
        for proxy in proxies:
            proxy.heal()


def test_a_claim_whose_replies_are_lost_at_a_majority_leaves_no_phantom_holder(nodes: list[ServerProcess]) -> None:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(port_of(node))) for node in nodes]
        url = f"redlock://{','.join(f'127.0.0.1:{proxy.port}' for proxy in proxies)}"
        session = stack.enter_context(fencepost.connect(url, ttl=2))
        other = stack.enter_context(fencepost.connect(url_of(nodes), ttl=2))
        session.lock("warm").acquire().release()
        for proxy in proxies[:3]:
            proxy.drop_replies()
        with pytest.raises((Unavailable, Uncertain)):
            session.lock("a").try_acquire()
        for proxy in proxies:
            proxy.heal()
        until(lambda: not other.look("a").holders, 6)
        session.lock("a").acquire(timeout=10).release()


def test_a_waiter_that_hears_only_a_majority_of_nodes_is_woken_by_them(nodes: list[ServerProcess]) -> None:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(port_of(node))) for node in nodes]
        url = f"redlock://{','.join(f'127.0.0.1:{proxy.port}' for proxy in proxies)}"
        first = stack.enter_context(fencepost.connect(url_of(nodes), ttl=20))
        second = stack.enter_context(fencepost.connect(url, ttl=20))
        held = first.lock("a").acquire()
        taken: list[float] = []

        def wait() -> None:
            with second.lock("a", timeout=20):
                taken.append(time.monotonic())

        waiter = threading.Thread(target=wait)
        waiter.start()
        until(lambda: first.look("a").waiters)
        for proxy in proxies[:2]:
            proxy.cut()
        released_at = time.monotonic()
        held.release()
        waiter.join(20)
        # Else it would have looked again when the lease is over.
        assert taken[0] - released_at < 10


def test_scripts_that_were_flushed_are_loaded_again(nodes: list[ServerProcess], url: str) -> None:
    with fencepost.connect(url) as session:
        for _ in range(2):
            for node in nodes:
                command(port_of(node), "SCRIPT", "FLUSH")
            grant = session.lock("a").acquire()
            for node in nodes:
                command(port_of(node), "SCRIPT", "FLUSH")
            grant.release()


def test_all_nodes_restarted_while_nobody_looked_are_found_again(start_nodes: StartNodes) -> None:
    nodes = start_nodes(3)
    with fencepost.connect(url_of(nodes), ttl=6) as session:
        old = session.lock("a").acquire()
        old.release()
        for node in nodes:
            node.kill()
            node.start()
        assert session.lock("a").acquire(timeout=10).token > old.token


def test_a_release_reaches_also_the_nodes_that_answer_late_that_they_do_not_know_its_script(
    nodes: list[ServerProcess],
) -> None:
    with fencepost.connect(url_of(nodes, PATIENT), ttl=30) as session:
        grant = session.lock("a").acquire()
        until(lambda: all(command(port_of(node), "EXISTS", "a") for node in nodes))
        for node in nodes:
            command(port_of(node), "SCRIPT", "FLUSH")
        for node in nodes[:2]:
            node.pause()
        grant.release()
        for node in nodes[:2]:
            node.resume()
        session.look("b")
        until(lambda: not any(command(port_of(node), "EXISTS", "a") for node in nodes), 5)


def test_a_waiter_that_gives_up_while_cut_off_leaves_its_places_later(nodes: list[ServerProcess]) -> None:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(port_of(node))) for node in nodes]
        url = f"redlock://{','.join(f'127.0.0.1:{proxy.port}' for proxy in proxies)}"
        first = stack.enter_context(fencepost.connect(url_of(nodes), ttl=20))
        cut = stack.enter_context(fencepost.connect(url, ttl=9))
        behind = stack.enter_context(fencepost.connect(url_of(nodes), ttl=20))
        held = first.lock("a").acquire()
        # A majority is enough to hold it; where its vote is still missing, who waits would have that, and no place.
        until(lambda: all(command(port_of(node), "EXISTS", "a") for node in nodes))
        outcomes: list[object] = []

        def wait(session: fencepost.Session, timeout: float) -> None:
            try:
                outcomes.append(session.lock("a").acquire(timeout=timeout))
            except fencepost.FencepostError as error:
                outcomes.append(error)

        def all_queues_have(length: int) -> bool:
            return all(command(port_of(node), "ZCARD", "fencepost\0queue\0a") == length for node in nodes)

        threads = []
        for number, (session, timeout) in enumerate(((cut, 4.0), (behind, 60.0))):
            threads.append(threading.Thread(target=wait, args=[session, timeout]))
            threads[-1].start()
            until(lambda number=number: all_queues_have(number + 1))
        for proxy in proxies[:3]:
            proxy.cut()
        threads[0].join(30)
        assert isinstance(outcomes[0], Uncertain)
        for proxy in proxies:
            proxy.heal()
        # Its lease goes on, and so do the queues: only the settlement can have removed its places.
        until(lambda: all_queues_have(1))
        held.release()
        threads[1].join(20)
        assert isinstance(outcomes[1], fencepost.Grant)
