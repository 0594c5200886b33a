"""Keys, answers and decisions, without any agent."""

import asyncio
import json
from base64 import b64encode
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost._runtime import aio
from fencepost._runtime import threads as runtime
from fencepost.core.claim import Ask, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.malformed import Malformed
from fencepost.drivers.consul import http
from fencepost.drivers.consul.http import Parser, Response
from fencepost.engines.consul._async.line import AsyncLine
from fencepost.engines.consul._sync.line import Line
from fencepost.engines.consul.audit import MOST_BYTES, Removal, evictions_of, read_audit, write_audit
from fencepost.engines.consul.key import LOCK, lock_of, name_of, path_of, place_of, split
from fencepost.engines.consul.lease import Entry, Lease
from fencepost.engines.consul.record import Record, read, shared_by, write
from fencepost.engines.consul.scene import is_held, next_step, share, tokens_of, view_of, watched
from fencepost.engines.consul.shortcut import token_of
from fencepost.engines.consul.transaction import LOCK_FLAG, Pair, at_index, delete, lock, pairs_of, tree

pytestmark = pytest.mark.unit

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
PATHS = st.lists(
    st.sampled_from(["", ".", "..", ".lock", ".fencepost", "a", "~00", "~2E", "%00", "%2E", " ", "ключ", "\n"])
).map("/".join)


@given(NAMES | PATHS.filter(bool))
def test_a_key_gives_its_name_back(name: str) -> None:
    key = lock_of("prefix/", name)
    assert split("prefix/", key) == key
    assert split("prefix/", place_of(key, "holder", 1)) == key
    assert name_of(key[len("prefix/") : -len(LOCK)]) == name
    assert not {"", ".", ".."} & set(key.split("/"))


@given(NAMES | PATHS.filter(bool))
def test_an_agent_that_validates_keys_lists_and_watches_that_of_every_name(name: str) -> None:
    # What Consul 1.22 checks of the key in the address of a request, and not of those in a transaction.
    for key in (lock_of("", name), f"{path_of(name)}/"):
        assert key == key.strip(" ")
        assert ".." not in key.split("/")
        assert "%" not in key


def test_a_plain_name_has_the_key_of_consul_lock() -> None:
    assert lock_of("", "jobs/nightly report") == "jobs/nightly report/.lock"


def test_a_key_that_is_no_lock_is_nobody_s() -> None:
    assert split("", "a/.lockfile") is None
    assert split("", "a/b") is None
    assert split("mine/", "a/.lock") is None


@pytest.mark.parametrize("head", [b"Content-Length: 5\r\n", b"content-length: 5\r\n"])
def test_an_answer_may_come_byte_by_byte(head: bytes) -> None:
    data = b"HTTP/1.1 200 OK\r\nDate: now\r\n%b\r\nhello" % head
    parser = Parser()
    answers = [parser.feed(data[at : at + 1]) for at in range(len(data))]
    assert answers[:-1] == [None] * (len(data) - 1)
    assert answers[-1] is not None
    assert (answers[-1].status, answers[-1].body, answers[-1].date) == (200, b"hello", b"now")


@pytest.mark.parametrize("closing", [b"", b"Connection: close\r\n", b"connection: close\r\n"])
@pytest.mark.parametrize("length", [b"Content-Length: 5\r\n", b"content-length: 5\r\n"])
@pytest.mark.parametrize("other", [b"", b"Vary: Accept-Encoding\r\n"])
def test_an_answer_that_comes_at_once_is_read_like_one_that_comes_byte_by_byte(
    closing: bytes, length: bytes, other: bytes
) -> None:
    for fields in permutations([b"Date: now\r\n", closing, length, other]):
        data = b"HTTP/1.1 409 Conflict\r\n%b\r\nhello" % b"".join(fields)
        answer = Response(409, b"now", b"hello", bool(closing))
        parser = Parser()
        assert [parser.feed(data), parser.feed(data)] == [answer, answer]
        assert [parser.feed(data[at : at + 1]) for at in range(len(data))][-1] == answer


def test_an_answer_may_come_in_chunks() -> None:
    parser = Parser()
    head = b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    data = head + b"3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n"
    assert parser.feed(data[:90]) is None
    answer = parser.feed(data[90:])
    assert answer is not None
    assert (answer.status, answer.body, answer.closing) == (404, b"abcde", True)


def test_what_is_no_answer_is_malformed() -> None:
    with pytest.raises(Malformed):
        Parser().feed(b"SSH-2.0-OpenSSH\r\n\r\n")
    with pytest.raises(Malformed):
        Parser().feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab")


@pytest.mark.parametrize("size", [b"-6", b"", b"x", b"0x5", b"1_0", b"123456789"])
def test_a_chunk_of_no_size_is_malformed(size: bytes) -> None:
    parser = Parser()
    assert parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") is None
    with pytest.raises(Malformed):
        parser.feed(size + b"\r\nabc\r\n")


def test_an_answer_without_end_is_malformed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST", 1000)
    parser = Parser()
    parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    with pytest.raises(Malformed):
        for _ in range(1001):
            parser.feed(b"1\r\na\r\n")


def test_a_claim_that_met_somebody_is_not_read_the_short_way() -> None:
    one = b'{"KV": {"Key": "a/.lock", "ModifyIndex": 41}}'
    assert token_of(b'{"Results": [' + b",".join([one] * 3) + b"]}") == 41
    assert token_of(b'{"Results": [' + b",".join([one] * 4) + b"]}") is None


def test_what_a_transaction_checked_and_then_deleted_is_not_there_after_it() -> None:
    def answer(key: str, index: int) -> dict[str, object]:
        pair = {"Key": key, "Value": None, "Session": "s", "Flags": 0, "CreateIndex": 1, "ModifyIndex": index}
        return {"KV": pair}

    operations = [at_index("a/.lock", 4), delete("a/.lock"), tree("a/.lock"), lock("lease", "", "s")]
    answers = [answer("a/.lock", 4), answer("a/.lock/place", 5), answer("lease", 6)]
    found = pairs_of(operations, json.dumps({"Results": answers}).encode())
    assert {key: pair.modified for key, pair in found.items()} == {"a/.lock/place": 5, "lease": 6}


def request(serial: int, mode: Mode = Mode.EXCLUSIVE, *names: str) -> Request:
    asks = tuple(Ask(name, mode, limit=2) for name in names or ("a",))
    return Request(Holder(f"holder{serial}", f"label '{serial}'\n"), serial, asks)


def place(record: Record, index: int, session: str = "s") -> Pair:
    key = place_of("a/.lock", *record.key)
    return Pair(key, write(record), f"{session}{record.request.serial}", 0, index, index)


def locked(value: str, index: int, session: str) -> Pair:
    return Pair("a/.lock", value, session, LOCK_FLAG, index, index)


def seen(*pairs: Pair) -> dict[str, Pair]:
    return {pair.key: pair for pair in pairs}


def verbs(step: list[dict[str, dict[str, object]]] | None) -> list[tuple[object, object]]:
    return [(each["KV"]["Verb"], each["KV"].get("Session")) for each in step or ()]


def test_a_record_is_read_as_it_was_written() -> None:
    record = Record(request(1, Mode.COUNTED, "a", "b"), 2.5, 1000.5, granted=True)
    assert read(write(record)) == record
    assert read(b64encode(b"held").decode()) is None
    assert read("") is None


def test_the_first_who_waits_is_granted_a_free_name_and_no_other() -> None:
    first, second = Record(request(1), 5, 0), Record(request(2), 5, 0)
    view = view_of("a", "a/.lock", seen(place(second, 8), place(first, 7)))
    assert [member.record for member in view.waiters] == [first, second]
    step = next_step({"a": view}, 0)
    assert verbs(step) == [("check-index", None), ("check-not-exists", None), ("lock", "s1")]


def test_one_who_has_lost_a_place_is_not_granted_and_holds_up_nobody() -> None:
    both, behind = Record(request(1, Mode.EXCLUSIVE, "a", "b"), 5, 0), Record(request(2), 5, 0)
    views = {
        "a": view_of("a", "a/.lock", seen(place(both, 7), place(behind, 8))),
        "b": view_of("b", "b/.lock", {}),
    }
    assert verbs(next_step(views, 0)) == [("check-index", None), ("check-not-exists", None), ("lock", "s2")]


def test_a_holder_s_own_place_does_not_wait() -> None:
    record = Record(request(1), 5, 0)
    view = view_of("a", "a/.lock", seen(place(record, 7), locked(write(record), 9, "s1")))
    assert view.waiters == []
    assert tokens_of(record.request, {"a": view}) == (9,)
    assert next_step({"a": view}, 0) is None


def test_one_who_took_the_name_alone_while_others_shared_it_unseen_does_not_hold() -> None:
    reader, writer = Record(request(1, Mode.SHARED), 5, 0, granted=True), Record(request(2), 5, 0)
    view = view_of("a", "a/.lock", seen(place(reader, 7), locked(write(writer), 9, "s2")))
    assert tokens_of(writer.request, {"a": view}) is None
    assert tokens_of(reader.request, {"a": view}) == (7,)
    assert verbs(next_step({"a": view}, 0)) == [("check-index", None), ("delete", None)]


@pytest.mark.parametrize("limit", [2, 9], ids=["over the limit", "another limit"])
def test_a_permit_taken_while_others_were_held_unseen_does_not_hold(limit: int) -> None:
    """Whoever held the lock key for all has died, and so the name looked free."""
    first = Record(request(1, Mode.COUNTED), 5, 0, granted=True)
    late = Request(Holder("late", "late"), 2, (Ask("a", Mode.COUNTED, 2, limit),))
    taken = Record(late, 5, 0, granted=True)
    pairs = seen(place(first, 7), place(taken, 9), locked(shared_by(taken), 9, "s2"))
    view = view_of("a", "a/.lock", pairs)
    assert tokens_of(first.request, {"a": view}) == (7,)
    assert tokens_of(late, {"a": view}) is None
    step = next_step({"a": view}, 0)
    assert step is not None
    checked, removed = step
    assert checked == at_index(place_of("a/.lock", "late", 2), 9)
    assert removed == delete(place_of("a/.lock", "late", 2))


def test_readers_whose_keeper_died_lock_the_key_for_another() -> None:
    reader = Record(request(1, Mode.SHARED), 5, 0, granted=True)
    view = view_of("a", "a/.lock", seen(place(reader, 7)))
    # Only if that one is there still: this may arrive late.
    assert verbs(next_step({"a": view}, 0)) == [("check-index", None), ("check-not-exists", None), ("lock", "s1")]
    gone = view_of("a", "a/.lock", seen(locked(shared_by(reader), 9, "s1")))
    assert verbs(next_step({"a": gone}, 0)) == [("check-index", None), ("delete", None)]


def test_one_that_goes_on_as_a_reader_keeps_its_token_and_its_session_the_lock() -> None:
    writer, other = Record(request(1), 5, 0), Record(request(2, Mode.SHARED), 5, 0)
    view = view_of("a", "a/.lock", seen(locked(write(writer), 9, "s1"), place(other, 10)))
    step = share(view, view.holders[0])
    assert verbs(step) == [("check-index", None), ("lock", "s1"), ("lock", "s1")]
    after = [Pair(each["KV"]["Key"], each["KV"]["Value"], "s1", each["KV"]["Flags"], 12, 12) for each in step[1:]]
    view = view_of("a", "a/.lock", seen(*after, place(other, 10)))
    assert tokens_of(writer.request, {"a": view}) == (9,)
    assert [claim.ask.mode for claim in view.claims()] == [Mode.SHARED, Mode.SHARED]
    assert ("lock", "s2") in verbs(next_step({"a": view}, 0))
    (below,) = [pair for pair in after if pair.key != "a/.lock"]
    assert is_held(below, 9)
    assert not is_held(below, 8)
    # A session that ended may leave its keys.
    assert not is_held(below._replace(session=""), 9)


def test_what_is_no_lock_is_left_alone() -> None:
    waiter = Record(request(1), 5, 0)
    other = Pair("a/.lock", "", "", 0, 3, 3)
    view = view_of("a", "a/.lock", seen(other, place(waiter, 7)))
    assert view.foreign
    assert next_step({"a": view}, 0) is None


def test_each_waiter_watches_the_one_before_it_and_the_first_the_holder() -> None:
    holder, first, second = (Record(request(number), 5, 0) for number in (1, 2, 3))
    pairs = seen(locked(write(holder), 9, "s1"), place(first, 10), place(second, 11))
    view = view_of("a", "a/.lock", pairs)
    assert watched(view, first.key) == (pairs["a/.lock"], False)
    assert watched(view, second.key) == (pairs[place_of("a/.lock", *first.key)], False)


def test_what_was_seen_of_a_waiter_before_it_took_its_place_is_not_told() -> None:
    """It took a free name, found that others waited, gave it back and queued up; somebody looked while it had it."""
    record = Record(request(1), 5, 0)
    entry = Entry(record.request, "")
    entry.since = 20
    line = Line(None, "", runtime.BootClock)  # type: ignore[arg-type]
    line.join(entry)
    line._tell({"a": view_of("a", "a/.lock", seen(locked(write(record), 19, "s1")))})
    assert entry.tokens is None
    line._tell({"a": view_of("a", "a/.lock", seen(place(record, 20), locked(write(record), 21, "s1")))})
    assert entry.tokens == {"a": 21}


async def test_whoever_asked_for_all_rings_for_one_that_still_waits() -> None:
    """One whose time was over while another asked is there still, until it is withdrawn; it would not hear."""

    class Store:
        def __init__(self) -> None:
            self.asked: asyncio.Queue[None] = asyncio.Queue()

        async def read(self, operations: object) -> dict[str, Pair]:
            self.asked.put_nowait(None)
            await asyncio.Event().wait()
            raise AssertionError

    store: Any = Store()
    line = AsyncLine(store, "", aio.BootClock())
    asking, late, waiting = (Entry(request(serial), "") for serial in (1, 2, 3))
    for entry in (asking, late, waiting):
        line.join(entry)
    first = asyncio.create_task(line.wait(asking, 60))
    await store.asked.get()
    assert await line.wait(late, 0) is None
    second = asyncio.create_task(line.wait(waiting, 60))
    while waiting.bell is None:
        await asyncio.sleep(0)
    first.cancel()
    # Sooner than it would look by itself.
    for _ in range(100):
        await asyncio.sleep(0)
    assert store.asked.qsize() == 1
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)


def test_the_record_of_evictions_is_bounded() -> None:
    removals = [Removal("a" * 1000, number, "label", "by", 5.0) for number in range(600)]
    text = write_audit(removals)
    assert len(text) < MOST_BYTES * 1.4
    kept = read_audit(Pair("", text, "", 0, 1, 1))
    assert kept[-1] == removals[-1]
    assert evictions_of("a" * 1000, kept, 7.0)[0].token == 599


def test_many_claims_are_looked_after_in_turn() -> None:
    lease = Lease(Holder("h", "l"), 5, "")
    claims = [Record(request(number), 5, 0).claim("a", number) for number in range(1, 8)]
    looked = [claim.serial for _ in range(3) for claim in lease.next_looks(claims, 3)]
    assert looked == [1, 2, 3, 4, 5, 6, 7, 1, 2]
