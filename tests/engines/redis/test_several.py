"""A request for several names: what it costs the server, which is everybody's, and what it stands on there."""

from collections.abc import Iterator

import pytest

from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Busy, Granted, Queued, Renewal
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis._sync.engine import Engine
from fencepost.testing.redis import command

HOLDER, WAITER = Holder("0" * 24, "holder"), Holder("1" * 24, "waiter")
MODES = [Mode.EXCLUSIVE, Mode.SHARED]
LIST = f"fencepost\0asks\0{WAITER.id}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = Engine(parse_url(url), clock=BootClock(), patience=60.0)
    for each in (HOLDER, WAITER):
        engine.lease_open(each, 120)
    yield engine
    engine.close()


def names(count: int) -> list[str]:
    return [f"account/{number:04}" for number in range(count)]


def hold(engine: Engine, name: str, serial: int = 1) -> Claim:
    granted = engine.claim(Request(HOLDER, serial, (Ask(name),)), wait=False)
    assert isinstance(granted, Granted)
    return Claim(HOLDER, serial, Ask(name), granted.tokens[0])


def several(count: int, serial: int = 1) -> Request:
    return Request(WAITER, serial, tuple(map(Ask, names(count))))


def calls(port: int, which: str = "") -> int:
    """How many commands the server has run, in scripts or not."""
    lines = command(port, "INFO", "commandstats").decode().split()
    lines = [line for line in lines if line.startswith(f"cmdstat_{which}")]
    return sum(int(line.partition("calls=")[2].partition(",")[0]) for line in lines)


def size(port: int) -> int:
    """The room that everything at the server takes, in bytes."""
    return sum(command(port, "MEMORY", "USAGE", key.decode(), "SAMPLES", 0) for key in command(port, "KEYS", "*"))


def cost(engine: Engine, port: int, count: int) -> tuple[int, int]:
    """Of waiting for that many names, the last of which is held, until they are granted and given back: the calls, and
    the room that a waiter takes."""
    before, room = calls(port), size(port)
    held = hold(engine, names(count)[-1], count)
    request = several(count, count)
    queued = engine.claim(request, wait=True)
    assert isinstance(queued, Queued)
    room = size(port) - room
    assert engine.lease_renew(WAITER, 120, ()) == Renewal(alive=True)
    assert engine.release(held)
    granted = engine.wait(queued, 60.0)
    assert isinstance(granted, Granted)
    claims = [Claim(WAITER, count, ask, token) for ask, token in zip(request.asks, granted.tokens, strict=True)]
    assert all(engine.release_all(claims))
    return calls(port) - before, room


def test_time_and_room_at_the_server_grow_with_the_number_of_names_not_its_square(engine: Engine, port: int) -> None:
    cost(engine, port, 2)
    (few, little), (many, much) = (cost(engine, port, count) for count in (20, 200))
    assert many < 15 * few
    assert much < 15 * little


def test_names_that_are_free_are_granted_in_a_few_calls_each(engine: Engine, port: int) -> None:
    engine.claim(several(2, 1), wait=False)
    before = calls(port)
    for serial, wait in ((2, False), (3, True)):
        asks = tuple(Ask(f"{serial}/{name}", mode) for name, mode in zip(names(200), MODES * 100, strict=True))
        granted = engine.claim(Request(WAITER, serial, asks), wait=wait)
        assert isinstance(granted, Granted)
        assert list(granted.tokens) == sorted(set(granted.tokens))
        assert engine.claim(Request(WAITER, serial, asks), wait=wait) == granted
    # Asked again, too.
    assert calls(port) - before < 2 * 200 * 12


def test_names_one_of_which_is_waited_for_are_not_granted_past_who_waits(engine: Engine, port: int) -> None:
    held = hold(engine, "account/0001")
    first = engine.claim(Request(HOLDER, 2, (Ask("account/0001"), Ask("account/0002"))), wait=True)
    assert isinstance(first, Queued)
    # Its queue alone is there.
    assert isinstance(engine.claim(Request(WAITER, 1, (Ask("account/0002"), Ask("account/0003"))), wait=False), Busy)
    assert engine.release(held)
    assert isinstance(engine.wait(first, 60.0), Granted)


def test_each_queue_shows_who_waits_and_how(engine: Engine) -> None:
    held = hold(engine, "b")
    request = Request(WAITER, 1, (Ask("a", Mode.SHARED, note="why: é😀"), Ask("b"), Ask("c", Mode.COUNTED, 2, 3)))
    queued = engine.claim(request, wait=True)
    assert isinstance(queued, Queued)
    for ask in request.asks:
        assert [waiter.claim for waiter in engine.look(ask.name).waiters] == [Claim(WAITER, 1, ask)]
    engine.release(held)
    assert isinstance(engine.wait(queued, 60.0), Granted)
    assert [engine.look(ask.name).holders[0].claim.ask for ask in request.asks] == list(request.asks)


def test_the_list_of_names_lives_as_long_as_the_lease_and_goes_with_the_grant(engine: Engine, port: int) -> None:
    held = hold(engine, "account/0001")
    queued = engine.claim(several(3), wait=True)
    assert isinstance(queued, Queued)
    command(port, "PEXPIRE", LIST, 60_000)
    engine.lease_renew(WAITER, 120, ())
    assert command(port, "PTTL", LIST) > 60_000
    engine.release(held)
    assert isinstance(engine.wait(queued, 60.0), Granted)
    assert command(port, "EXISTS", LIST) == 0


def test_the_list_of_names_goes_with_a_withdrawal_and_a_try_writes_none(engine: Engine, port: int) -> None:
    hold(engine, "account/0001")
    assert isinstance(engine.claim(several(3), wait=False), Busy)
    assert command(port, "EXISTS", LIST) == 0
    assert isinstance(engine.claim(several(3, 2), wait=True), Queued)
    assert command(port, "EXISTS", LIST) == 1
    engine.withdraw(several(3, 2))
    assert command(port, "EXISTS", LIST) == 0


def test_who_waits_for_names_that_the_server_has_forgotten_asks_anew(engine: Engine, port: int) -> None:
    held = hold(engine, "account/0001")
    queued = engine.claim(several(3), wait=True)
    assert isinstance(queued, Queued)
    command(port, "DEL", LIST)
    assert engine.release(held)
    assert isinstance(engine.wait(queued, 60.0), Granted)


def test_a_place_that_one_queue_has_lost_is_taken_again(engine: Engine, port: int) -> None:
    held = hold(engine, "account/0001")
    assert isinstance(engine.claim(several(3), wait=True), Queued)
    command(port, "DEL", "fencepost\0queue\0account/0002")
    queued = engine.claim(several(3), wait=True)
    assert isinstance(queued, Queued)
    assert engine.release(held)
    assert isinstance(engine.wait(queued, 60.0), Granted)


def test_ten_thousand_names_are_granted_and_asked_for_again(engine: Engine) -> None:
    granted = engine.claim(several(10_000), wait=False)
    assert isinstance(granted, Granted)
    assert len(granted.tokens) == 10_000
    assert engine.claim(several(10_000), wait=False) == granted
    engine.withdraw(several(10_000))
    assert engine.look("account/0000").holders == ()


def test_a_renewal_of_more_locks_than_fit_in_a_batch_keeps_each_of_them(engine: Engine, port: int) -> None:
    granted = engine.claim(several(1_001), wait=False)
    assert isinstance(granted, Granted)
    claims = [Claim(WAITER, 1, Ask(name), token) for name, token in zip(names(1_001), granted.tokens, strict=True)]
    assert engine.lease_renew(WAITER, 600, claims) == Renewal(True)
    # The lease was of 120 s before.
    assert min(command(port, "PTTL", name) for name in names(1_001)) > 200_000


def test_why_many_are_gone_is_read_once(engine: Engine, port: int) -> None:
    granted = engine.claim(several(50), wait=False)
    assert isinstance(granted, Granted)
    claims = [Claim(WAITER, 1, Ask(name), token) for name, token in zip(names(50), granted.tokens, strict=True)]
    engine.evict(names(50)[7], "operator")
    for name in names(50)[8:]:
        command(port, "DEL", name)
    before = calls(port, "lrange")
    renewal = engine.lease_renew(WAITER, 120, claims)
    assert calls(port, "lrange") == before + 1
    reasons = {name: reason for _, name, reason in renewal.gone}
    assert reasons.pop(names(50)[7]) == "evicted by operator"
    assert list(reasons) == names(50)[8:]


def test_a_lock_that_goes_on_as_a_read_lock_still_ends_with_its_lease(engine: Engine, port: int) -> None:
    held = hold(engine, "a")
    assert engine.share(held)
    assert 0 < command(port, "PTTL", "a") <= 120_000
