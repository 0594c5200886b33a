"""Messages of roles that may not write: whoever is told something asks the tables, which alone say who holds."""

import asyncio
from collections.abc import Iterator

import pytest

import fencepost
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Request
from fencepost.testing.contract.postgresql import END_ALL
from fencepost.testing.postgresql import connect, query

from .conftest import at

WHOM = "SELECT channel FROM fencepost.lease WHERE id = %s"
TELL = "SELECT pg_notify(%s, %s)"
FORGED = 10**6
ASKS = {"one name": (Ask("a"),), "two names": (Ask("a"), Ask("b"))}


@pytest.fixture
def stranger(port: int) -> Iterator[str]:
    """A role that may read what it likes, as one for monitoring."""
    query(port, "DROP ROLE IF EXISTS monitor")
    query(port, "CREATE ROLE monitor LOGIN IN ROLE pg_read_all_data")
    yield "monitor"
    query(port, END_ALL)
    query(port, "DROP ROLE monitor")


def forge(port: int, stranger: str, request: Request, token: int) -> None:
    """Tell whoever waits that it was granted tokens from that one on."""
    tokens = ",".join(str(token + number) for number, _ in enumerate(request.asks))
    with connect(port, user=stranger) as theirs:
        ((channel,),) = theirs.execute(WHOM, [request.holder.id]).fetchall()
        theirs.execute(TELL, [channel, f"{request.holder.id}:{request.serial}:{tokens}"])


def tokens_of(session: fencepost.Session, request: Request) -> tuple[int, ...]:
    return tuple(session.look(ask.name).holders[0].claim.token or 0 for ask in request.asks)


@pytest.mark.parametrize("asks", ASKS.values(), ids=ASKS)
def test_a_forged_message_grants_nothing(port: int, stranger: str, asks: tuple[Ask, ...]) -> None:
    with fencepost.connect(at(port), ttl=300) as first, fencepost.connect(at(port), ttl=300) as second:
        held = first.lock("a").acquire()
        request = second.keeper().request(asks)
        queued = second.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        forge(port, stranger, request, held.token + FORGED)
        queued = second.engine.wait(queued, 1.0)
        assert isinstance(queued, Queued)
        held.release()
        granted = second.engine.wait(queued, 60)
        assert isinstance(granted, Granted)
        assert granted.tokens == tokens_of(first, request)
        assert max(granted.tokens) < held.token + FORGED


@pytest.mark.parametrize("asks", ASKS.values(), ids=ASKS)
async def test_a_forged_message_grants_an_asynchronous_session_nothing(
    port: int, stranger: str, asks: tuple[Ask, ...]
) -> None:
    async with (
        fencepost.connect_async(at(port), ttl=300) as first,
        fencepost.connect_async(at(port), ttl=300) as second,
    ):
        held = await first.lock("a").acquire()
        request = (await second.keeper()).request(asks)
        queued = await second.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        await asyncio.to_thread(forge, port, stranger, request, held.token + FORGED)
        queued = await second.engine.wait(queued, 1.0)
        assert isinstance(queued, Queued)
        await held.release()
        granted = await second.engine.wait(queued, 60)
        assert isinstance(granted, Granted)
        assert max(granted.tokens) < held.token + FORGED


def test_a_forged_token_makes_no_later_grant_seem_old(port: int, stranger: str) -> None:
    """A token that is believed once is the highest that the session has seen of the name, for ever."""
    with fencepost.connect(at(port), ttl=300) as first, fencepost.connect(at(port), ttl=300) as second:
        held = first.lock("a").acquire()
        request = second.keeper().request((Ask("a"),))
        queued = second.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        forge(port, stranger, request, 2**63 - 1)
        assert isinstance(second.engine.wait(queued, 1.0), Queued)
        second.engine.withdraw(request)
        held.release()
        assert second.lock("a").acquire(timeout=60).token < 2**63 - 1
