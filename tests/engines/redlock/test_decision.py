"""What answers of nodes mean, without any node."""

from collections.abc import Iterator
from time import thread_time
from typing import Any

import pytest

from fencepost._runtime.clock import boottime
from fencepost._runtime.threads import BootClock
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis.key import Place
from fencepost.engines.redis.redlock._sync.engine import Engine
from fencepost.engines.redis.redlock.agreement import agree
from fencepost.engines.redis.redlock.answer import ahead
from fencepost.engines.redis.redlock.ballot import Ballot, is_vote
from fencepost.engines.redis.redlock.lease import Entry, Lease, Vote
from fencepost.engines.redis.redlock.renewal import compose, judge
from fencepost.engines.redis.redlock.tally import Tally
from fencepost.errors import EngineError, Refused, Unavailable

pytestmark = pytest.mark.unit

HOLDER = Holder("0" * 24, "first")
NO = [0, 5000, 0]
DOWN = Unavailable("down")


def ballot(*answers: Any) -> Ballot:
    found = Ballot(5, 3, is_vote)
    for node, answer in enumerate(answers):
        found.fail(node, answer) if isinstance(answer, EngineError) else found.hear(node, answer)
    return found


@pytest.mark.parametrize(
    ("answers", "decided"),
    [
        ((7, 7), False),
        ((7, 7, 7), True),
        ((7, [1, b"7"], NO, 7), True),
        ((7, 7, NO, NO), False),
        ((NO, NO), False),
        ((NO, NO, NO), True),
        ((DOWN, DOWN, NO, NO), False),
        ((DOWN, DOWN, DOWN), False),
        ((DOWN, DOWN, DOWN, NO, NO), True),
    ],
)
def test_a_ballot_is_decided_as_soon_as_more_answers_change_nothing(answers: tuple[Any, ...], decided: bool) -> None:
    assert ballot(*answers).decided is decided


def test_too_few_answers_are_no_answer() -> None:
    with pytest.raises(Unavailable, match="2 of 5 nodes answered, and 3 are needed: down"):
        ballot(DOWN, DOWN, DOWN, NO, NO).check(3)
    with pytest.raises(Refused):
        ballot(*[Refused("wrong password")] * 5).check(3)
    ballot(DOWN, DOWN, NO, NO, NO).check(3)


def test_a_token_that_a_majority_proposed_needs_no_write_back_also_if_another_is_higher() -> None:
    assert agree([5, 5, 9, 5, 9], 3) == (5, True)
    assert agree([5, 5, 9], 3) == (9, False)


def test_a_node_that_names_ever_so_many_ahead_is_heard_to_its_end() -> None:
    """Counted anew for each of them it would take minutes."""
    _, entry = held()
    texts = [b"fp:%d:1:%d:0:" % (number % 2, number + 1) for number in range(100_000)]
    reply = [0, 5000, 0, *(word for text in texts for word in (b"a", b"x", text))]
    began_at = thread_time()
    assert {claim.holder.id for claim in ahead(entry, [reply, None, None], 2)} == {"0", "1"}
    assert thread_time() - began_at < 20.0


def held(*nodes: int, sent_at: float = 0.0, heard_at: float = 0.0) -> tuple[Lease, Entry]:
    lease = Lease(HOLDER, 10, "channel", 5)
    entry = lease.note(Request(HOLDER, 1, (Ask("a"),)), Place(b"a", clustered=False), 0.0)
    for node in nodes:
        entry.votes[node] = Vote(7, sent_at, heard_at)
    entry.token = 7
    return lease, entry


def renewed(lease: Lease, replies: list[Any]) -> Any:
    _, subjects = compose(lease, 5, Ballot(5, 5, is_vote))
    return judge(lease, subjects, replies, 100.0, 3)


def test_a_claim_is_kept_by_a_majority_and_regains_the_other_votes() -> None:
    lease, entry = held(0, 1, 2)
    assert renewed(lease, [1, 1, 1, 1, 1]) == (True, False, {})
    assert set(entry.votes) == {0, 1, 2, 3, 4}


def test_votes_gained_by_a_renewal_do_not_save_a_claim_that_is_gone() -> None:
    lease, _ = held(0, 1, 2)
    gone = [1, 1, b"-"]
    alive, unsure, lost = renewed(lease, [1, gone, gone, 1, 1])
    assert (alive, unsure, list(lost)) == (True, False, [(1, "a")])


def test_a_claim_whose_nodes_do_not_answer_is_neither_kept_nor_gone() -> None:
    lease, _ = held(0, 1, 2)
    assert renewed(lease, [1, None, None, 1, 1]) == (True, True, {})


def test_a_lease_that_a_majority_does_not_know_is_over() -> None:
    lease, _ = held(0, 1, 2)
    unknown = [0, 1, b"-"]
    assert not renewed(lease, [unknown, unknown, unknown, 1, 1]).alive
    assert renewed(lease, [unknown, unknown, None, 1, 1]).unsure


def test_a_vote_from_before_the_last_renewal_counts_only_where_that_was_heard() -> None:
    lease, entry = held(0, 1, 2, sent_at=1.0, heard_at=3.0)
    lease.base = 2.0
    lease.confirmed = {0: 2.0, 1: 2.0}
    assert set(lease.proven(entry)) == {0, 1}
    lease.confirmed[2] = 2.0
    assert set(lease.proven(entry)) == {0, 1, 2}


def test_a_vote_heard_of_after_the_question_is_not_lost_by_its_answer() -> None:
    _, entry = held(0)
    entry.votes[0] = Vote(7, 1.0, heard_at=3.0)
    entry.lose_vote(0, sent_at=2.0)
    assert 0 in entry.votes
    entry.lose_vote(0, sent_at=4.0)
    assert 0 not in entry.votes


def test_votes_that_were_given_to_another_count_again_only_if_they_were_asked_for_since() -> None:
    """A node that was told to give our vote away and has not answered may do so at any time."""
    _, entry = held(0, 1)
    assert entry.give_votes() == {0, 1}
    entry.note_vote(0, Vote(7, 5.0, 5.0))
    entry.trust(6.0)
    entry.note_vote(0, Vote(7, 5.0, 7.0))
    assert entry.votes == {}
    for node in (0, 1):
        entry.note_vote(node, Vote(8, 6.0, 7.0))
    assert set(entry.votes) == {0, 1}


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Of nodes that nobody talks to here."""
    engine = Engine(parse_url("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"), clock=BootClock(), patience=1.0)
    yield engine
    engine.close()


@pytest.mark.parametrize(("asked", "counts"), [(1, True), (2, False)], ids=["asked once", "asked again"])
def test_once_asked_again_what_a_node_told_before_is_no_vote(engine: Engine, asked: int, counts: bool) -> None:
    lease, entry = held()
    engine._leases[HOLDER.id] = lease
    entry.queued = asked
    engine._deliver(0, b"%b:1:9:%b" % (HOLDER.id.encode(), entry.nonces[0]))
    assert (0 in entry.votes) is counts


def test_who_has_heard_what_one_node_says_can_not_speak_for_another(engine: Engine) -> None:
    lease, entry = held()
    engine._leases[HOLDER.id] = lease
    entry.queued = 1
    engine._deliver(1, b"%b:1:9:%b" % (HOLDER.id.encode(), entry.nonces[0]))
    other = lease.note(Request(HOLDER, 2, (Ask("a"),)), entry.place, 0.0)
    other.queued = 1
    engine._deliver(0, b"%b:2:9:%b" % (HOLDER.id.encode(), entry.nonces[0]))
    assert entry.votes == other.votes == {}


@pytest.mark.parametrize(("stranger", "soon"), [(1, True), (0, False)], ids=["a stranger", "one of ours"])
def test_whoever_waits_for_a_stranger_looks_often_since_nobody_tells(engine: Engine, stranger: int, soon: bool) -> None:
    lease, entry = held()
    answered = ballot(*[[0, 5000, stranger]] * 3)
    began_at = boottime()
    engine._queue(lease, entry, answered)
    assert entry.waiter is not None
    assert (entry.waiter.again_at - began_at < 2.5) is soon


def looked(*owners: str | None, away: str = "") -> Tally:
    """What nodes say of 'a' whose votes these have; the others wait, by the alphabet, but for who is `away`."""
    everyone = sorted({owner for owner in owners if owner and owner != away})
    replies = []
    for owner in owners:
        waiters: list[Any] = []
        for number, each in enumerate(everyone):
            if each != owner:
                waiters += [f"{each}:1:9000:channel:x:1:{each}".encode(), str(1000 + number).encode(), 9000]
        holders = [f"fp:{owner}:1:7:1:{owner}".encode(), 9000] if owner else []
        replies.append([b"2000000", holders, waiters, []] if owner else None)
    return Tally("a", b"a", replies, 3)


def test_who_has_a_vote_and_does_not_wait_is_not_given_the_others() -> None:
    """Everybody would give way to a stranger, or to the dead, and nobody would get anywhere."""
    for away in ("a", "b", "c"):
        tally = looked("a", "a", "b", "b", "c", away=away)
        here = {"a", "b", "c"} - {away}
        (chosen,) = {rival[0] for each in here if (rival := tally.rival((each, 1))) is not None}
        assert chosen in here
        assert tally.rival((chosen, 1)) is None


def test_whoever_has_a_majority_holds_and_the_others_give_way() -> None:
    tally = looked("c", "a", "c", "b", "c")
    assert [each.claim.holder.id for each in tally.snapshot().holders] == ["c"]
    assert [each.claim.holder.id for each in tally.snapshot().waiters] == ["a", "b"]
    assert tally.rival(("a", 1)) == tally.rival(("b", 1)) == ("c", 1)
    assert tally.rival(("c", 1)) is None


def test_of_a_split_all_choose_the_same() -> None:
    tally = looked("a", "a", "b", "b", "c")
    chosen = [key for key in tally.votes if tally.rival(key) is None]
    assert len(chosen) == 1
    assert {tally.rival(key) for key in tally.votes} == {None, chosen[0]}
    assert tally.snapshot().holders == ()
    assert len(tally.snapshot().waiters) == 3


def test_a_node_that_does_not_answer_may_have_voted_for_whoever_has_the_others() -> None:
    assert [each.claim.holder.id for each in looked("a", "a", None, "b", "c").snapshot().holders] == ["a"]
