"""Somebody deletes the box of one who waits: what is held stays, and a grant is found all the same."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from fencepost._runtime import threads
from fencepost.contract.answer import Granted, Queued
from fencepost.testing.condition import until
from tests.engines.sqlite.conftest import MakeUser, StartChild

# Leases are 60 s, and so long do those wait whom nobody tells.
AT_ONCE = 20.0
LONG = 60.0


def delete_boxes(folder: Path, folder_too: bool) -> None:
    if folder_too:
        # In one step: whoever looks meanwhile makes another box.
        folder.rename(folder.with_name("deleted"))
        folder = folder.with_name("deleted")
    for box in folder.iterdir():
        box.unlink()


@pytest.mark.parametrize("folder_too", [False, True])
def test_one_who_watches_a_cell_and_whose_box_was_deleted_is_told_of_what_changed_since(
    user: MakeUser, path: Path, folder_too: bool
) -> None:
    one, two = user(), user()
    empty, folder, found = one.engine.cells.read("it"), path.with_name("locks.db-cells-mail"), []
    watching = threading.Thread(
        target=lambda: found.append(two.engine.cells.watch("it", empty.version, LONG)), daemon=True
    )
    watching.start()
    until(lambda: folder.is_dir() and os.listdir(folder))
    delete_boxes(folder, folder_too)
    assert one.engine.cells.write("it", "news", empty.version)
    watching.join(AT_ONCE)
    assert [cell.value for cell in found] == ["news"]


@pytest.mark.parametrize("folder_too", [False, True])
def test_one_whose_box_was_deleted_keeps_what_it_holds_and_finds_its_grant_when_it_renews(
    user: MakeUser, path: Path, folder_too: bool
) -> None:
    one, two, three = user(), user(), user()
    kept, claim = two.hold("other"), one.hold("it")
    queued = two.queue("it")
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(two.engine.wait(queued, LONG)), daemon=True)
    waiter.start()
    folder = path.with_name("locks.db-mail")
    delete_boxes(folder, folder_too)
    assert one.engine.release(claim)
    assert [standing.claim for standing in three.engine.look("other").holders] == [kept]
    assert two.engine.lease_renew(two.holder, LONG, (kept,)).alive
    waiter.join(AT_ONCE)
    assert [type(answer) for answer in answers] == [Granted]
    # And from then on it is told again.
    claim = one.hold("a third")
    queued = two.queue("a third")
    one.engine.release(claim)
    assert two.engine._mailbox.take() is not None


def test_one_who_reads_a_box_that_is_closed_for_a_new_one_finds_its_grant(
    user: MakeUser, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = user(), user()
    claim, queued, answers, failed = one.hold("it"), two.queue("it"), [], threading.Event()
    receive, make_box = threads.Inbox.receive, two.engine._mailbox.open

    def note_failure(inbox: threads.Inbox, timeout: float) -> bytes | None:
        try:
            return receive(inbox, timeout)
        except OSError:
            failed.set()
            raise

    def make_box_late() -> None:
        assert failed.wait(AT_ONCE)
        make_box()

    monkeypatch.setattr(threads.Inbox, "receive", note_failure)
    monkeypatch.setattr(two.engine._mailbox, "open", make_box_late)
    waiter = threading.Thread(target=lambda: answers.append(two.engine.wait(queued, LONG)), daemon=True)
    waiter.start()
    until(lambda: two.engine._room._reader)
    for box in path.with_name("locks.db-mail").iterdir():
        box.unlink()
    assert one.engine.release(claim)
    assert two.engine.lease_renew(two.holder, LONG, ()).alive
    waiter.join(AT_ONCE)
    assert [type(answer) for answer in answers] == [Granted]


def test_one_whose_box_is_replaced_as_it_begins_to_read_finds_its_grant(
    user: MakeUser, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = user(), user()
    claim, queued, make_inbox = one.hold("it"), two.queue("it"), threads.Inbox

    def make_inbox_early(source: socket.socket, longest: int) -> threads.Inbox:
        monkeypatch.setattr(threads, "Inbox", make_inbox)
        inbox = make_inbox(source, longest)
        delete_boxes(path.with_name("locks.db-mail"), False)
        assert two.engine.lease_renew(two.holder, LONG, ()).alive
        return inbox

    monkeypatch.setattr(threads, "Inbox", make_inbox_early)
    again = two.engine.wait(queued, 0.01)
    assert isinstance(again, Queued)
    assert one.engine.release(claim)
    assert isinstance(two.engine.wait(again, LONG), Granted)


def test_a_waiter_that_died_after_its_box_was_deleted_is_passed_over_at_once(
    user: MakeUser, child: StartChild, path: Path
) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    waiter = child("wait")
    assert waiter.hears() == ["queued"]
    queued = two.queue("it")
    waiter.end()
    for box in path.with_name("locks.db-mail").iterdir():
        if box.name != two.engine._mailbox.name:
            box.unlink()
    one.engine.release(claim)
    started_at = time.monotonic()
    assert isinstance(two.engine.wait(queued, LONG), Granted)
    assert time.monotonic() - started_at < AT_ONCE
