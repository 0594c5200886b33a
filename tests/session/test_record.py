"""A document that many change: each change happens once, or nobody knows."""

import pytest

import fencepost
from fencepost.contract.answer import Cell
from fencepost.errors import Refused, Unavailable, Uncertain
from fencepost.session._sync.record import STAMPS, Document, Record
from tests.support.engine import cells_of

pytestmark = pytest.mark.unit


def increment(document: Document) -> Document:
    return {"count": document.get("count", 0) + 1}


@pytest.mark.parametrize("before", [0, 1, 2 * STAMPS])
@pytest.mark.parametrize("others", [0, 1, STAMPS - 1, STAMPS, 3 * STAMPS])
def test_a_change_that_was_not_answered_is_not_made_twice_however_many_came_after_it(
    before: int, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fencepost.connect(f"memory://record-{before}-{others}") as session:
        record = Record(session, "a")
        for _ in range(before):
            record.change(increment)
        cells = cells_of(session)
        write = cells.write

        def unanswered(key: str, value: str, version: int) -> Cell:
            write(key, value, version)
            monkeypatch.setattr(cells, "write", write)
            for _ in range(others):
                record.change(increment)
            raise Unavailable("the answer is lost")

        monkeypatch.setattr(cells, "write", unanswered)
        if others < STAMPS:
            assert record.change(increment)["count"] == before + 1 + others
        else:
            with pytest.raises(Uncertain, match="too many came after it"):
                record.change(increment)
        assert record.read().document["count"] == before + 1 + others


@pytest.mark.parametrize("before", [0, 1, 2 * STAMPS])
def test_a_change_that_did_not_arrive_is_made_after_others(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect(f"memory://record-{before}") as session:
        record = Record(session, "a")
        for _ in range(before):
            record.change(increment)
        cells = cells_of(session)
        write = cells.write

        def lost(key: str, value: str, version: int) -> Cell:
            monkeypatch.setattr(cells, "write", write)
            for _ in range(STAMPS - 1):
                record.change(increment)
            raise Unavailable("it did not arrive")

        monkeypatch.setattr(cells, "write", lost)
        assert record.change(increment)["count"] == before + STAMPS


def test_a_change_that_was_not_answered_is_uncertain_if_it_can_not_be_read_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with fencepost.connect("memory://record-spoiled") as session:
        record = Record(session, "a")
        cells = cells_of(session)
        write = cells.write

        def unanswered(key: str, value: str, version: int) -> Cell:
            changed = write(key, value, version)
            assert changed is not None
            write(key, "no document of ours", changed.version)
            raise Unavailable("the answer is lost")

        monkeypatch.setattr(cells, "write", unanswered)
        with pytest.raises(Uncertain, match="was sent, and not confirmed"):
            record.change(increment)


def test_a_change_that_the_engine_refuses_was_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(key: str, value: str, version: int) -> Cell:
        raise Refused("no right to write")

    with fencepost.connect("memory://record-refused") as session:
        monkeypatch.setattr(cells_of(session), "write", refused)
        with pytest.raises(Refused, match="no right to write"):
            Record(session, "a").change(increment)
