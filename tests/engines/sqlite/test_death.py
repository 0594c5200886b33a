"""Death and sleep of other processes."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from fencepost.contract.answer import Busy, Gone, Granted, Queued
from fencepost.core.claim import Ask, Mode
from fencepost.engines.sqlite.process import Identity, Peer, myself
from fencepost.testing.condition import until
from tests.engines.sqlite.conftest import MakeUser, StartChild
from tests.support.sqlite.clock import Clock
from tests.support.sqlite.user import User

# Leases are 60 s, and so long do those wait whom nobody tells.
AT_ONCE = 20.0
LONG = 60.0


def test_the_lock_of_a_killed_holder_is_free_at_once_for_who_waits(child: StartChild, user: MakeUser) -> None:
    holder = child("hold")
    token = int(holder.hears()[1])
    one = user()
    queued = one.queue("it")
    holder.process.kill()
    killed_at = time.monotonic()
    answer = one.engine.wait(queued, LONG)
    assert time.monotonic() - killed_at < AT_ONCE
    assert isinstance(answer, Granted)
    assert answer.tokens[0] > token


def test_the_lock_of_a_killed_holder_is_free_at_once_for_who_comes(child: StartChild, user: MakeUser) -> None:
    holder = child("hold")
    token = int(holder.hears()[1])
    one = user()
    assert isinstance(one.engine.claim(one.request("it"), wait=False), Busy)
    holder.end()
    assert one.token("it") > token


def test_a_killed_holder_is_neither_seen_nor_listed(child: StartChild, user: MakeUser) -> None:
    holder = child("hold")
    holder.hears()
    one = user()
    assert one.engine.names("") == ["it"]
    holder.end()
    assert one.engine.look("it").holders == ()
    assert one.engine.names("") == []


def test_a_killed_waiter_is_passed_over_at_once(child: StartChild, user: MakeUser) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    waiter = child("wait")
    assert waiter.hears() == ["queued"]
    queued = two.queue("it")
    waiter.end()
    one.engine.release(claim)
    released_at = time.monotonic()
    assert isinstance(two.engine.wait(queued, LONG), Granted)
    assert time.monotonic() - released_at < AT_ONCE


def test_a_waiter_killed_with_its_grant_unread_is_passed_over_at_once(child: StartChild, user: MakeUser) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    waiter = child("wait")
    assert waiter.hears() == ["queued"]
    queued = two.queue("it")
    waiter.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, waiter.process.pid, os.WSTOPPED)
    one.engine.release(claim)
    assert one.engine.look("it").holders[0].claim.holder.label == f"child {waiter.process.pid}"
    waiter.process.kill()
    killed_at = time.monotonic()
    assert isinstance(two.engine.wait(queued, LONG), Granted)
    assert time.monotonic() - killed_at < AT_ONCE


def test_the_first_in_line_watches_every_holder_of_a_semaphore(child: StartChild, user: MakeUser, path: Path) -> None:
    permit = Ask("it", Mode.COUNTED, weight=1, limit=2)
    one, two, three = user(), user(), user()
    first = one.hold(permit)
    holder = child("own", name="bystander")
    assert holder.hears() == ["ready"]
    holder.go_on()
    holder.hears()
    # The child's process becomes the second holder: its lease, with a claim written for it.
    row = one.engine._queue.rows("standing", one_name(one), 0, 1)[0]
    number = one.engine._store.mint()
    values = ("it", 0, number, row.holder, 99, 0, 1, "counted", 1, 2, "", row.since)
    one.engine._store.execute("INSERT INTO claim VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", values)
    second = two.queue(permit)
    third = three.queue(permit)
    one.engine.release(first)
    assert isinstance(two.engine.wait(second, LONG), Granted)
    holder.process.kill()
    killed_at = time.monotonic()
    answer = three.engine.wait(third, LONG)
    while isinstance(answer, Queued):
        answer = three.engine.wait(answer, LONG)
    assert time.monotonic() - killed_at < AT_ONCE
    assert isinstance(answer, Granted)


def one_name(user: User) -> str:
    (name,) = user.engine.names("bystander")
    return name


def test_a_stopped_holder_keeps_its_lock_until_its_lease_ends_and_no_longer(
    child: StartChild, user: MakeUser, clock: Clock
) -> None:
    holder = child("hold")
    holder.hears()
    holder.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, holder.process.pid, os.WSTOPPED)
    one = user(ttl=600.0)
    queued = one.queue("it")
    assert isinstance(one.engine.wait(queued, 0.05), Queued)
    clock.skip(one.engine.look("it").holders[0].remaining - AT_ONCE)
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(one.engine.wait(queued, 300.0)))
    waiter.start()
    until(lambda: one.engine._room._present)
    assert not answers
    clock.skip(AT_ONCE)
    waiter.join(AT_ONCE)
    assert [type(answer) for answer in answers] == [Granted]


def test_a_waiter_whose_lease_ended_before_it_read_its_grant_is_told_gone(user: MakeUser, clock: Clock) -> None:
    one, two, three = user(), user(ttl=10.0), user()
    claim = one.hold("it")
    queued = two.queue("it")
    one.engine.release(claim)
    behind = three.queue("it")
    clock.skip(10.0)
    assert isinstance(three.engine.wait(behind, LONG), Granted)
    assert isinstance(two.engine.wait(queued, LONG), Gone)


@pytest.mark.unit
def test_a_pid_used_again_is_not_taken_for_the_process_that_had_it() -> None:
    me = myself()
    assert not Peer(me).is_dead()
    assert Peer(me._replace(started=me.started - 1)).is_dead()


def test_a_holder_whose_pid_was_used_again_is_buried(child: StartChild, user: MakeUser) -> None:
    holder = child("hold")
    holder.hears()
    one = user()
    one.engine._store.execute("UPDATE holder SET started = started - 1 WHERE pid = ?", (holder.process.pid,))
    assert one.token("it") > 0


def test_a_process_of_another_pid_namespace_is_only_known_by_its_lease(
    child: StartChild, user: MakeUser, clock: Clock
) -> None:
    holder = child("hold", ttl=30.0)
    holder.hears()
    one = user()
    one.engine._store.execute("UPDATE holder SET namespace = 1, started = 1 WHERE pid = ?", (holder.process.pid,))
    queued = one.queue("it")
    assert one.engine._queue.peers.peer(Identity(holder.process.pid, 1, 1)) is None
    holder.end()
    assert isinstance(one.engine.wait(queued, 0.05), Queued)
    clock.skip(30.0)
    assert isinstance(one.engine.wait(queued, LONG), Granted)


def test_one_in_another_time_namespace_counts_leases_on_the_same_clock(child: StartChild, user: MakeUser) -> None:
    inside = ("unshare", "-r", "-T", "--boottime", "100000", "-f", "--kill-child")
    one = user()
    claim = one.hold("it")
    word, answer, *_ = child("hold", prefix=inside).hears()
    assert (word, answer.partition("(")[0]) == ("granted", "Busy")
    waiter = child("wait", prefix=inside)
    assert waiter.hears() == ["queued"]
    assert one.engine.look("it").waiters[0].remaining < 61.0
    assert one.engine.release(claim)
    word, token = waiter.hears()
    assert word == "granted"
    assert int(token) > claim.token


@pytest.mark.unit
def test_descriptors_of_processes_met_are_not_hoarded(user: MakeUser, monkeypatch: pytest.MonkeyPatch) -> None:
    one = user()
    peers = one.engine._queue.peers
    monkeypatch.setattr("fencepost.engines.sqlite.process.MOST_PEERS", 4)
    me = peers.me
    kept = peers.peer(me._replace(started=1))
    assert kept is not None
    for started in range(2, 10):
        peers.peer(me._replace(started=started))
    peers.trim({kept})
    assert list(peers._peers.values()) == [kept]
    assert kept.fd >= 0


def test_a_death_is_noticed_also_while_another_thread_sleeps_until_a_letter_comes(
    child: StartChild, user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.engines.sqlite._sync.room.LONGEST_NAP", 60.0)
    holder = child("hold")
    holder.hears()
    one, two = user(), user()
    one.hold("mine")
    # Nothing to watch here: whoever has it is of this process.
    first, second = two.queue("mine"), two.queue("it")
    reader = threading.Thread(target=two.engine.wait, args=(first, LONG))
    reader.start()
    until(lambda: two.engine._room._reader)
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(two.engine.wait(second, LONG)))
    waiter.start()
    until(lambda: len(two.engine._room._present) == 2)
    holder.process.kill()
    waiter.join(AT_ONCE)
    assert [type(answer) for answer in answers] == [Granted]
    two.engine.lease_close(two.holder)
    reader.join(AT_ONCE)
    assert not reader.is_alive()
