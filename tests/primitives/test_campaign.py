"""One election, group or job that several use at the same time, or whose record can not be written."""

import asyncio
import threading
from collections.abc import Callable

import pytest

import fencepost
from fencepost.errors import Unavailable
from fencepost.primitives._sync.group import Membership
from fencepost.primitives._sync.roster import Roster

pytestmark = pytest.mark.unit


async def test_candidates_that_share_an_election_each_proclaim_what_they_said() -> None:
    async with fencepost.connect_async("memory://campaign", ttl=60) as session:
        election = session.election("e")
        leading = await election.campaign("first")
        waiting = {value: asyncio.ensure_future(election.campaign(value)) for value in ("second", "third")}
        while len((await session.look("e")).waiters) < 2:
            await asyncio.sleep(0)
        for value, elected in waiting.items():
            await leading.release()
            leading = await elected
            leader = await election.leader()
            assert leader is not None
            assert (leader.term, leader.value) == (leading.token, value)


def test_threads_that_join_by_one_group_each_say_their_own_of_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect("memory://join", ttl=60) as session:
        group = session.group("g")
        new_id = Roster.new_id
        others: list[Membership] = []

        def meanwhile(roster: Roster) -> str:
            monkeypatch.setattr(Roster, "new_id", new_id)
            joining = threading.Thread(target=lambda: others.append(group.join("b")))
            joining.start()
            joining.join()
            return new_id(roster)

        monkeypatch.setattr(Roster, "new_id", meanwhile)
        mine = group.join("a")
        told = {member.id: member.data for member in group.members()}
        assert (told[mine.id], told[others[0].id]) == ("a", "b")


async def test_what_the_body_of_a_run_raised_is_raised_also_if_its_end_can_not_be_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def change(decide: object) -> None:
        raise Unavailable("no answer")

    async with fencepost.connect_async("memory://campaign", ttl=60) as session:
        run = await session.job("j").begin(1)
        assert run is not None
        monkeypatch.setattr(run._record, "change", change)
        with pytest.raises(ZeroDivisionError):
            async with run:
                raise ZeroDivisionError
        assert (await session.look("j")).holders == ()


def test_what_no_engine_can_keep_is_refused_when_it_is_said() -> None:
    with fencepost.connect("memory://unicode") as session:
        election, group = session.election("a"), session.group("a")
        membership = group.join("me")
        with election:
            says: tuple[Callable[[], object], ...] = (
                lambda: session.election("b", value="\ud800"),
                lambda: election.campaign("\ud800"),
                lambda: session.election("a").campaign("\ud800"),
                lambda: election.proclaim("\ud800"),
                lambda: session.group("b", data="\ud800"),
                lambda: group.join("\ud800"),
                lambda: membership.update("\ud800"),
            )
            for say in says:
                with pytest.raises(ValueError, match="must be valid Unicode"):
                    say()
        membership.leave()
        assert session.names() == []
