"""The gate's file is moved, deleted or put back under those who have it open: there is one gate, and one counter."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.contract.answer import Granted
from fencepost.engines.sqlite import gate
from fencepost.errors import FencepostWarning
from fencepost.testing.condition import until
from tests.support.sqlite.user import User


def gate_of(path: Path) -> Path:
    return path.with_name("locks.db-gate")


def moved(path: Path) -> None:
    gate_of(path).rename(path.with_name("moved"))


def linked_and_deleted(path: Path) -> None:
    os.link(gate_of(path), path.with_name("linked"))
    gate_of(path).unlink()


def moved_with_all_beside(path: Path) -> None:
    backup = path.parent / "backup"
    backup.mkdir()
    for file in path.parent.glob("locks.db*"):
        file.rename(backup / file.name)


def moved_with_its_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


LOSSES = [moved, linked_and_deleted, moved_with_all_beside, moved_with_its_folder]


def at_rest(user: User) -> None:
    """Until the gate has been unchanged for so long that nobody looks at its path any more."""
    opened = user.engine._store.gate
    until(lambda: user.engine.names("") is not None and opened._seen >= 0)


def renewed_token(user: User, name: str) -> int:
    """The token of a grant, by a new lease if the one it had is gone."""
    user.renew_holder()
    return user.token(name)


@pytest.mark.parametrize("rested", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
def test_those_who_have_a_gate_open_that_is_gone_from_its_path_leave_it_for_the_one_there(
    path: Path, user: Callable[..., User], lose: Callable[[Path], None], rested: bool
) -> None:
    one, two = user(), user()
    one.token("it")
    two.token("other")
    if rested:
        at_rest(one)
        at_rest(two)
    lose(path)
    three = user()
    seen = [renewed_token(each, f"{turn} {each.holder}") for turn in range(3) for each in (three, one, two)]
    assert seen == sorted(set(seen))
    for other in (two, three):
        with pytest.raises(gate.Occupied):
            one.engine._store.gate.alone(other.engine._store.gate.alone, lambda: pytest.fail("two are inside"))


def test_one_name_has_one_holder_after_the_gate_was_moved(path: Path, user: Callable[..., User]) -> None:
    one, two = user(), user()
    at_rest(one)
    moved(path)
    claim = user().hold("it")
    for other in (one, two):
        assert not isinstance(other.engine.claim(other.request("it"), wait=False), Granted)
        assert [standing.claim for standing in other.engine.look("it").holders] == [claim]


@pytest.mark.parametrize("newcomer_first", [False, True])
def test_an_older_copy_of_the_gate_takes_no_token_back(
    path: Path, user: Callable[..., User], monkeypatch: pytest.MonkeyPatch, newcomer_first: bool
) -> None:
    one = user()
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    copy = shutil.copy(gate_of(path), path.with_name("copy"))
    seen = [one.token(f"name {number}") for number in range(5)]
    os.replace(copy, gate_of(path))
    two = user() if newcomer_first else None
    seen += [one.token("more")] if two is None else [two.token("before"), one.token("more")]
    seen += [user().token("another's")]
    assert seen == sorted(set(seen))


def test_what_a_process_knows_of_the_counter_is_carried_to_a_gate_that_is_behind(
    path: Path, user: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = user(), user()
    older = gate_of(path).with_name("older")
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    two.token("a")
    gate_of(path).rename(older)
    two.token("b")
    gate_of(path).rename(path.with_name("newer"))
    before = two.engine._store.gate.words[gate.LAST]
    older.rename(gate_of(path))
    two.renew_holder()
    assert two.token("c") > before
    one.renew_holder()
    assert one.token("d") > before


def test_a_gate_whose_maker_died_before_it_read_the_state_file_goes_on_above_its_tokens(
    path: Path, user: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = user()
    before = one.token("it")
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    gate_of(path).unlink()
    dying = gate.Gate(str(gate_of(path)))
    dying.alone(list)
    dying.close()
    assert user().token("a") > before
    assert one.token("b") > before


def paused_after(act: Callable[..., Any], then: Callable[[], None]) -> Callable[..., Any]:
    """`act`, and once only what others do before it returns."""
    did: list[bool] = []

    def acted(*args: Any) -> Any:
        result = act(*args)
        if not did:
            did.append(True)
            then()
        return result

    return acted


def test_one_stopped_inside_a_gate_that_is_deleted_then_grants_nothing_by_it(
    path: Path, user: Callable[..., User]
) -> None:
    one = user()
    one.engine.release(one.hold("it"))
    tokens: list[int] = []

    def elsewhere() -> None:
        gate_of(path).unlink()
        two = user()
        claim = two.hold("it")
        tokens.append(claim.token or 0)
        two.engine.release(claim)

    store = one.engine._store
    store.mint = paused_after(store.mint, elsewhere)
    assert one.token("it") > tokens[0]


def test_one_stopped_inside_a_gate_that_is_deleted_hands_nothing_over_by_it(
    path: Path, user: Callable[..., User]
) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    tokens: list[int] = []

    def elsewhere() -> None:
        gate_of(path).unlink()
        tokens.append(user().token("other"))

    store = one.engine._store
    store.mint = paused_after(store.mint, elsewhere)
    assert one.engine.release(claim)
    token = two.granted(queued).token
    assert token is not None
    assert token > tokens[0]


def test_one_stopped_before_its_transaction_does_nothing_by_a_gate_that_is_moved(
    path: Path, user: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = user()
    tokens: list[int] = []

    def elsewhere() -> None:
        moved(path)
        tokens.append(user().token("other"))

    transfer = one.engine._queue.transfer
    monkeypatch.setattr(transfer, "to_file", paused_after(transfer.to_file, elsewhere))
    answer = one.engine.claim(one.request("a", "b"), wait=False)
    assert isinstance(answer, Granted)
    assert min(answer.tokens) > tokens[0]


def test_one_stopped_inside_a_gate_that_is_moved_leaves_the_new_state_file_alone(
    path: Path, user: Callable[..., User], recwarn: pytest.WarningsRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, claims = user(), []

    def elsewhere() -> None:
        moved_with_all_beside(path)
        claims.append(user().hold("it"))

    opened = one.engine._store.gate
    monkeypatch.setattr(opened, "_shut", paused_after(opened._shut, elsewhere))
    one.engine.names("")
    assert [standing.claim for standing in user().engine.look("it").holders] == claims
    assert not [each for each in recwarn if issubclass(each.category, FencepostWarning)]
