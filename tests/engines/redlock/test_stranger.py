"""One node of three that drips, floods or talks nonsense is not missed, nor what others have written at one."""

import asyncio
import socket
import threading

import pytest

import fencepost
from fencepost._runtime.clock import boottime
from fencepost.engines.redis.redlock.ballot import Ballot, is_vote
from fencepost.testing.redis import command, port_of
from fencepost.testing.server import ServerProcess
from tests.support.hostile import Hostile, Speech
from tests.support.patience import connect, connect_async
from tests.support.redis.nonsense import ANSWERS, COMMAND, KEEPING, babbling
from tests.support.renewal import renew, renew_async

LASTING = 120.0
SOON = 60.0
# Five calls wait half of it for the one that drips.
PATIENCE = 6.0
SPEECHES = [*(pytest.param(babbling(each), id=repr(each[:20])) for each in ANSWERS)]
SPEECHES += [
    pytest.param(KEEPING[name], id=name, marks=pytest.mark.slow) for name in ("drips a text", "floods with replies")
]


def url_of(nodes: list[ServerProcess], hostile: Hostile) -> str:
    # Between the others: its answer is often the first or the last to come.
    first, last = (port_of(node) for node in nodes[:2])
    return f"redlock://127.0.0.1:{first},127.0.0.1:{hostile.port},127.0.0.1:{last}"


@pytest.mark.parametrize("speech", SPEECHES)
def test_one_hostile_node_of_three_is_not_missed(nodes: list[ServerProcess], speech: Speech) -> None:
    with Hostile(speech) as hostile:
        began_at = boottime()
        with connect(url_of(nodes, hostile), ttl=LASTING, patience=PATIENCE) as session:
            with session.lock("a", timeout=SOON) as grant:
                assert [each.claim.token for each in session.look("a").holders] == [grant.token]
                assert session.names() == ["a"]
                assert session.lock("a").try_acquire() is None
                renew(session)
            again = session.lock("a").acquire(timeout=SOON)
            assert again.token > grant.token
            assert len(session.evict("a")) == 1
            with pytest.raises(fencepost.Lost):
                again.release()
        assert boottime() - began_at < SOON


@pytest.mark.parametrize("speech", SPEECHES)
async def test_one_hostile_node_of_three_is_not_missed_in_an_event_loop(
    nodes: list[ServerProcess], speech: Speech, caplog: pytest.LogCaptureFixture
) -> None:
    with Hostile(speech) as hostile:
        async with (
            asyncio.timeout(SOON),
            connect_async(url_of(nodes, hostile), ttl=LASTING, patience=PATIENCE) as session,
        ):
            async with session.lock("a", timeout=SOON) as grant:
                assert [each.claim.token for each in (await session.look("a")).holders] == [grant.token]
                assert await session.names() == ["a"]
                assert await session.lock("a").try_acquire() is None
                await renew_async(session)
            await (await session.lock("a").acquire()).release()
    # What is raised in a call-back reaches the log alone.
    assert not [record for record in caplog.records if record.name == "asyncio"]


def test_what_others_have_written_at_the_nodes_concerns_its_name_alone(nodes: list[ServerProcess]) -> None:
    url = f"redlock://{','.join(f'127.0.0.1:{port_of(node)}' for node in nodes[:3])}"
    with fencepost.connect(url, ttl=LASTING) as session:
        kept, taken = session.lock("kept").acquire(), session.lock("taken").acquire()
        for node in nodes[:3]:
            command(port_of(node), "LPUSH", "fencepost\0audit", "not json")
            command(port_of(node), "SET", "n", "fp:h:1:x:zz:abc")
            command(port_of(node), "SET", "n" * 2000, "fp:h:1:5:3:abc")
            command(port_of(node), "DEL", "taken")
        renew(session)
        assert kept.held
        assert not taken.held
        assert session.names() == ["kept", "n"]
        assert [each.claim.holder.label for each in session.look("n").holders] == ["another client"]
        assert session.look("kept").evictions == ()


@pytest.mark.unit
def test_a_node_that_calls_a_claim_void_has_not_answered_it() -> None:
    ballot = Ballot(3, 2, is_vote)
    for node, reply in enumerate(([-2], [0, 1, 0])):
        assert not ballot.hear(node, reply)
    assert ballot.hear(2, [0, 1, 0])
    ballot.check(2)


def test_a_node_whose_keys_have_no_end_is_not_listened_to_for_long(nodes: list[ServerProcess]) -> None:
    questions: list[bytes] = []

    def speak(call: socket.socket, over: threading.Event) -> None:
        while told := call.recv(1_000_000):
            asked = COMMAND.findall(told)
            questions.extend(asked)
            call.sendall(b"*2\r\n$1\r\n5\r\n*0\r\n" * max(1, len(asked)))

    with Hostile(speak) as hostile, connect(url_of(nodes, hostile), ttl=LASTING, patience=PATIENCE) as session:
        held = session.lock("a").acquire(timeout=SOON)
        questions.clear()
        assert session.names() == ["a"]
        assert 0 < len(questions) < 50
        held.release()
