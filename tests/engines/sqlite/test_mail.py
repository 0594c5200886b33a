"""Letters, and what happens when they do not arrive."""

import asyncio
import errno
import os
import socket
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from fencepost import EngineError, Unavailable
from fencepost._runtime import aio
from fencepost.contract.answer import Busy, Cell, Gone, Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import Url
from fencepost.engines.sqlite import claim as claim_module
from fencepost.engines.sqlite import mailbox
from fencepost.engines.sqlite._async.engine import AsyncEngine
from fencepost.testing.condition import until
from tests.engines.sqlite.conftest import MakeUser, StartChild
from tests.support.sqlite.shut import shut_gate

# Leases are 60 s, and so long do those wait whom nobody tells.
AT_ONCE = 20.0
LONG = 60.0


def test_a_grant_is_told_by_letter_without_looking(user: MakeUser, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    one.engine.release(claim)
    monkeypatch.setattr(two.engine, "_transact", lambda *_: pytest.fail("looked"))
    assert isinstance(two.engine.wait(queued, 5.0), Granted)


def test_a_full_mailbox_loses_no_grant(user: MakeUser) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
        address = two.engine._mailbox._prefix + two.engine._mailbox.name
        with pytest.raises(BlockingIOError):
            all(sender.sendto(b"nobody 1 ", address) for _ in range(1_000_000))
    one.engine.release(claim)
    started_at = time.monotonic()
    assert isinstance(two.engine.wait(queued, LONG), Granted)
    assert time.monotonic() - started_at < AT_ONCE


@pytest.mark.parametrize("names", [1000, 20_000])
def test_who_is_granted_more_tokens_than_a_letter_holds_is_told_to_look(user: MakeUser, names: int) -> None:
    one, two = user(), user()
    two.hold("it")
    box = two.engine._mailbox
    box.open()
    assert one.engine._mailbox.send(mailbox.Letter(box.name, "me", 7, tuple([10**18] * names)))
    letter = box.take()
    assert letter is not None
    assert mailbox.read(letter) == (("me", 7), ())


def test_a_sender_with_many_unread_letters_elsewhere_still_sends(user: MakeUser) -> None:
    one = user()
    one.hold("it")
    sleepers = [user() for _ in range(3)]
    queued = [each.queue("it") for each in sleepers]
    letters = [mailbox.Letter(each.engine._mailbox.name, "nobody", 1, tuple([10**18] * 200)) for each in sleepers]
    assert one.engine._mailbox.send(letters[0])
    for _ in range(1000):
        # Far more than a socket may have under way in all.
        for letter in letters[:2]:
            assert one.engine._mailbox.send(letter)
    assert one.engine._mailbox.send(letters[2])
    assert sleepers[2].engine._mailbox.take()
    assert queued


@pytest.mark.parametrize(("length", "looks"), [(mailbox.LONGEST - 1, 0), (mailbox.LONGEST, 1)])
def test_a_letter_that_is_too_long_to_read_makes_its_reader_look(
    user: MakeUser, monkeypatch: pytest.MonkeyPatch, length: int, looks: int
) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    look = two.engine._claims.look_again
    looked: list[Request] = []

    def look_again(request: Request) -> Granted | Queued | Busy | Gone:
        looked.append(request)
        return look(request)

    monkeypatch.setattr(two.engine._claims, "look_again", look_again)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x" * length, two.engine._mailbox._prefix + two.engine._mailbox.name)
    one.engine.release(claim)
    # The grant is told by the letter behind that one.
    assert isinstance(two.engine.wait(queued, LONG), Granted)
    assert len(looked) == looks


def test_a_mailbox_that_nobody_reads_any_more_passes_the_grant_on(user: MakeUser) -> None:
    one, two, three = user(), user(), user()
    claim = one.hold("it")
    two.queue("it")
    queued = three.queue("it")
    two.engine._mailbox.inbox.close()
    one.engine.release(claim)
    assert isinstance(three.engine.wait(queued, 5.0), Granted)
    assert [standing.claim.holder for standing in one.engine.look("it").holders] == [three.holder]


def test_a_letter_that_cannot_be_delivered_keeps_nobody_else_from_being_told(
    user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = user(), user(), user()
    claim = one.hold("it")
    two.queue(Ask("it", Mode.SHARED))
    queued = three.queue(Ask("it", Mode.SHARED))
    two.engine._mailbox.inbox.close()

    def fail(letter: mailbox.Letter) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(one.engine._queue, "unreachable", fail)
    with pytest.raises(EngineError):
        one.engine.release(claim)
    monkeypatch.setattr(three.engine, "_transact", lambda *_: pytest.fail("looked: there was no letter"))
    assert isinstance(three.engine.wait(queued, AT_ONCE), Granted)


def test_a_letter_that_nobody_could_look_after_is_made_up_for_by_whatever_is_done_next(
    user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = user(), user(), user()
    claim = one.hold("it")
    two.queue("it")
    queued = three.queue("it")
    two.engine._mailbox.inbox.close()

    def fail(letter: mailbox.Letter) -> None:
        raise Unavailable("busy")

    with monkeypatch.context() as patch:
        patch.setattr(one.engine._queue, "unreachable", fail)
        with pytest.raises(Unavailable):
            one.engine.release(claim)
    assert one.engine.lease_renew(one.holder, LONG, ()).alive
    assert isinstance(three.engine.wait(queued, AT_ONCE), Granted)


async def test_a_cell_that_was_changed_by_a_task_that_is_cancelled_tells_all_who_watch_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = AsyncEngine(Url("sqlite", path=str(path)), clock=aio.BootClock(), patience=30.0)
    empty = await engine.cells.read("it")
    watching = asyncio.create_task(engine.cells.watch("it", empty.version, LONG))
    watch, watched = engine.cells._file.watch, asyncio.Event()
    write, begun, go_on = engine.cells._file.write, threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def note(key: str, box: str) -> Cell:
        found = watch(key, box)
        loop.call_soon_threadsafe(watched.set)
        return found

    def stop(key: str, value: str | None, version: int) -> tuple[Cell | None, list[str]]:
        done = write(key, value, version)
        begun.set()
        assert go_on.wait(LONG)
        return done

    monkeypatch.setattr(engine.cells._file, "watch", note)
    monkeypatch.setattr(engine.cells._file, "write", stop)
    await asyncio.wait_for(watched.wait(), LONG)
    writing = asyncio.create_task(engine.cells.write("it", "news", empty.version))
    await asyncio.to_thread(begun.wait, LONG)
    writing.cancel()
    await asyncio.wait([writing])
    go_on.set()
    assert (await asyncio.wait_for(watching, AT_ONCE)).value == "news"
    await engine.close()


def test_a_letter_to_one_who_has_moved_follows_it(user: MakeUser, path: Path) -> None:
    one, two = user(), user()
    one.hold("it")
    queued = two.queue("it")
    letter = mailbox.Letter(two.engine._mailbox.name, two.holder.id, queued.request.serial)
    (path.with_name("locks.db-mail") / letter.mailbox).unlink()
    assert two.engine.lease_renew(two.holder, LONG, ()).alive
    one.engine._post((letter,))
    assert two.engine._mailbox.take() is not None


def test_whoever_has_no_descriptor_left_tells_the_next_all_the_same(
    user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left() -> None:
        raise OSError(errno.EMFILE, "too many open files")

    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    monkeypatch.setattr(mailbox, "_socket", none_left)
    assert one.engine.release(claim)
    monkeypatch.setattr(two.engine, "_transact", lambda *_: pytest.fail("looked: there was no letter"))
    assert isinstance(two.engine.wait(queued, AT_ONCE), Granted)


def test_boxes_of_the_dead_are_cleared_away(user: MakeUser, child: StartChild, path: Path) -> None:
    one = user()
    one.hold("it")
    waiter = child("wait")
    waiter.hears()
    folder = path.with_name("locks.db-mail")
    assert len(os.listdir(folder)) == 1
    waiter.end()
    assert one.engine.look("it").waiters == ()
    assert os.listdir(folder) == []


def test_a_closed_engine_leaves_no_box(user: MakeUser, path: Path) -> None:
    one, two = user(), user()
    one.hold("it")
    two.queue("it")
    two.engine.close()
    assert os.listdir(path.with_name("locks.db-mail")) == []


def test_letters_that_are_none_of_ours_are_ignored(user: MakeUser) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    address = two.engine._mailbox._prefix + two.engine._mailbox.name
    for rubbish in (b"", b"\xff\xff \xff", b"a b c d", b"x 1 y"):
        two.engine._mailbox.inbox.sendto(rubbish, address)
    one.engine.release(claim)
    assert isinstance(two.engine.wait(queued, 5.0), Granted)


def test_ten_threads_waiting_in_one_engine_are_served_in_turn(user: MakeUser) -> None:
    one, two = user(), user()
    claims = [one.hold(f"name {number}") for number in range(10)]
    queued = [two.queue(f"name {number}") for number in range(10)]
    answers: dict[int, Granted | Queued | Gone] = {}
    threads = [
        threading.Thread(target=lambda n=number: answers.__setitem__(n, two.engine.wait(queued[n], 10.0)))
        for number in range(10)
    ]
    for thread in threads:
        thread.start()
    # Backwards, so that the thread that reads the mail is served last.
    for number in reversed(range(10)):
        one.engine.release(claims[number])
        threads[number].join(AT_ONCE)
        assert isinstance(answers[number], Granted)
    assert not two.engine._queue.places


def test_threads_of_one_engine_that_wait_for_one_name_are_served_in_order(user: MakeUser) -> None:
    one, two = user(), user()
    first = one.hold("it")
    queued = [two.queue("it") for _ in range(10)]
    order = []

    def serve(place: Queued) -> None:
        answer: object = place
        while isinstance(answer, Queued):
            answer = two.engine.wait(answer, 10.0)
        order.append(place.request.serial)
        assert isinstance(answer, Granted)
        (token,) = answer.tokens
        two.engine.release(Claim(two.holder, place.request.serial, Ask("it"), token))

    threads = [threading.Thread(target=serve, args=(place,)) for place in queued]
    for thread in threads:
        thread.start()
    one.engine.release(first)
    for thread in threads:
        thread.join(AT_ONCE)
    assert order == [place.request.serial for place in queued]


def test_closing_the_lease_ends_all_of_its_waits(user: MakeUser) -> None:
    one, two = user(), user()
    answers = []
    one.hold("a")
    one.hold("b")
    queued = [two.queue("a"), two.queue("b")]
    threads = [
        threading.Thread(target=lambda each=each: answers.append(two.engine.wait(each, LONG))) for each in queued
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(two.engine._room._present) == 2)
    two.engine.lease_close(two.holder)
    for thread in threads:
        thread.join(AT_ONCE)
    assert [type(answer) for answer in answers] == [Gone, Gone]


def test_a_withdrawn_request_is_not_granted_by_a_late_letter(user: MakeUser) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    one.engine.release(claim)
    two.engine.withdraw(queued.request)
    assert isinstance(two.engine.wait(queued, 0.0), Gone)
    assert one.engine.look("it").holders == ()


def test_whoever_stood_behind_one_who_withdrew_watches_the_next(user: MakeUser, child: StartChild) -> None:
    holder = child("hold")
    holder.hears()
    one, two = user(), user()
    first, second = one.queue("it"), two.queue("it")
    assert [claim.holder for claim in second.ahead] == [one.holder]
    one.engine.withdraw(first.request)
    news = two.engine.wait(second, 5.0)
    assert isinstance(news, Queued)
    assert [claim.holder.label for claim in news.ahead] == [f"child {holder.process.pid}"]
    holder.process.kill()
    assert isinstance(two.engine.wait(news, 5.0), Granted)


def test_a_gap_in_the_middle_of_the_line_is_told_to_whoever_stood_behind_it(user: MakeUser) -> None:
    one, two, three, four = user(), user(), user(), user()
    one.hold("it")
    two.queue("it")
    gap, last = three.queue("it"), four.queue("it")
    three.engine.withdraw(gap.request)
    started_at = time.monotonic()
    news = four.engine.wait(last, LONG)
    assert time.monotonic() - started_at < AT_ONCE
    assert isinstance(news, Queued)
    assert [claim.holder for claim in news.ahead] == [two.holder]


def test_a_grant_whose_letter_was_never_sent_is_found_when_the_waiter_looks(
    user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    monkeypatch.setattr(one.engine, "_post", lambda letters: None)
    one.engine.release(claim)
    assert isinstance(two.engine.wait(queued, 0.1), Granted)


def test_seventy_readers_are_let_in_together_and_a_writer_behind_them_is_not(user: MakeUser) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    readers = [two.queue(Ask("it", Mode.SHARED)) for _ in range(70)]
    two.queue("it")
    two.queue(Ask("it", Mode.SHARED))
    one.engine.release(claim)
    snapshot = one.engine.look("it")
    assert [standing.claim.serial for standing in snapshot.holders] == [each.request.serial for each in readers]
    assert len(snapshot.waiters) == 2
    assert all(isinstance(two.engine.wait(each, 5.0), Granted) for each in readers)


def test_a_request_for_several_names_is_granted_whole_and_not_overtaken(user: MakeUser) -> None:
    one, two, three = user(), user(), user()
    a, b = one.hold("a"), one.hold("b")
    both = two.queue("a", "b")
    behind = three.queue("b")
    one.engine.release(b)
    assert isinstance(three.engine.wait(behind, 0.05), Queued)
    one.engine.release(a)
    granted = two.engine.wait(both, 5.0)
    assert isinstance(granted, Granted)
    assert len(granted.tokens) == 2
    for ask, token in zip(both.request.asks, granted.tokens, strict=True):
        assert two.engine.release(Claim(two.holder, both.request.serial, ask, token))
    answer = three.engine.wait(behind, 5.0)
    while isinstance(answer, Queued):
        answer = three.engine.wait(answer, 5.0)
    assert isinstance(answer, Granted)


def test_a_request_that_failed_after_it_was_queued_keeps_one_place(
    user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    two.engine.withdraw(two.queue("it").request)
    request = two.request("it")
    with monkeypatch.context() as patch:
        # The name is known as busy by now: the row is written, and noting our place fails.
        patch.setattr(claim_module, "Place", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            two.engine.claim(request, wait=True)
    two.engine._queue.places.clear()
    queued = two.engine.claim(request, wait=True)
    assert isinstance(queued, Queued)
    assert len(one.engine.look("it").waiters) == 1
    one.engine.release(claim)
    assert isinstance(two.engine.wait(queued, 5.0), Granted)


def test_an_ask_that_can_never_be_granted_waits_without_turning(
    user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = user()
    queued = one.queue(Ask("it", Mode.COUNTED, weight=3, limit=2))
    looks: list[Request] = []
    settle = one.engine._claims.look_again

    def look_again(request: Request) -> Granted | Queued | Busy | Gone:
        looks.append(request)
        return settle(request)

    monkeypatch.setattr(one.engine._claims, "look_again", look_again)
    assert isinstance(one.engine.wait(queued, 0.05), Queued)
    assert len(looks) == 1


async def test_when_the_task_that_reads_is_cancelled_another_reads_on(user: MakeUser, path: Path) -> None:
    one = user()
    claim = one.hold("it")
    other = one.hold("other")
    engine = AsyncEngine(Url("sqlite", path=str(path)), clock=aio.BootClock(), patience=30.0)
    holder = Holder("asynchronous", "tasks")
    await engine.lease_open(holder, LONG)
    queued: list[Queued] = []
    for serial, name in enumerate(("other", "it", "it"), 1):
        place = await engine.claim(Request(holder, serial, (Ask(name),)), wait=True)
        assert isinstance(place, Queued)
        queued.append(place)
    tasks = [asyncio.create_task(engine.wait(each, LONG)) for each in queued]
    for _ in range(3):
        await asyncio.sleep(0)
    assert len(engine._room._present) == 3
    assert engine._room._reader
    tasks[0].cancel()
    await asyncio.wait(tasks[:1])
    for _ in range(3):
        await asyncio.sleep(0)
    assert engine._room._reader
    await engine.withdraw(queued[0].request)
    one.engine.release(claim)
    granted = await asyncio.wait_for(tasks[1], AT_ONCE)
    assert isinstance(granted, Granted)
    await engine.lease_close(holder)
    assert isinstance(await asyncio.wait_for(tasks[2], AT_ONCE), Gone)
    assert one.engine.release(other)
    await engine.close()


async def test_a_busy_gate_does_not_block_the_event_loop(path: Path) -> None:
    engine = AsyncEngine(Url("sqlite", path=str(path)), clock=aio.BootClock(), patience=30.0)
    await engine.lease_open(Holder("asynchronous", "tasks"), LONG)
    with shut_gate(path):
        task = asyncio.create_task(engine.names(""))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not task.done()
    assert await asyncio.wait_for(task, AT_ONCE) == []
    await engine.close()


def test_letters_that_come_one_by_one_stir_nobody_they_are_not_for(user: MakeUser) -> None:
    one, two = user(), user()
    one.hold("idle")
    idle = two.queue("idle")
    looks: list[int] = []
    look = two.engine._claims.look_again

    def look_again(request: Request) -> Granted | Queued | Busy | Gone:
        looks.append(request.serial)
        return look(request)

    two.engine._claims.look_again = look_again  # type: ignore[method-assign]
    reader = threading.Thread(target=two.engine.wait, args=(idle, LONG))
    reader.start()
    until(lambda: two.engine._room._reader)
    # More than fit into the box, which never has more than one in it.
    for number in range(3 * two.engine._queue.mailbox.room):
        held = one.hold(f"busy {number}")
        queued = two.queue(f"busy {number}")
        one.engine.release(held)
        assert isinstance(two.engine.wait(queued, 10.0), Granted)
    assert idle.request.serial not in looks
    two.engine.lease_close(two.holder)
    reader.join(AT_ONCE)
    assert not reader.is_alive()
