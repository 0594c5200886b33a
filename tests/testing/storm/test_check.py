"""The check of a storm's history: finds each fault that is planted, and nothing in what is fine."""

import itertools
from collections.abc import Sequence

import pytest

from fencepost.testing.storm.check import Finding, check
from fencepost.testing.storm.excuse import excused, stalled
from fencepost.testing.storm.history import Broke, Deed, Event, Left, Stalled, Trouble
from fencepost.testing.storm.turn import clusters, turns
from tests.support.testing.history import TTL, Turn, joined, turn

pytestmark = pytest.mark.unit
SLACK = 0.5


def found(*parts: Sequence[Event]) -> list[Finding]:
    return check([*joined("x/1", "x/2", "x/3"), *itertools.chain(*parts)], slack=SLACK)


def laws(*parts: Sequence[Event]) -> list[str]:
    return [finding.law for finding in found(*parts)]


# Two holders


def test_holders_one_after_the_other_are_fine() -> None:
    assert not found(turn("x/1/a", 1, 1, 2, 2.1), turn("x/2/a", 1.5, 2.05, 3, 3.1))


def test_two_proven_at_once_are_found() -> None:
    first = turn("x/1/a", 1, 1, 3, 3.1, tokens=(1,))
    (finding,) = found(first, turn("x/2/a", 1.5, 2.5, 3.5, 3.6, tokens=(2,)))
    assert str(finding) == (
        "two holders: 'a': x/2/a (exclusive, token 2) from 2.500 to 3.500 "
        "while x/1/a (exclusive, token 1) from 1.000 to 3.000"
    )


def test_a_holder_that_was_stopped_and_no_longer_proves_its_lease_is_fine() -> None:
    stop = Deed(1.2, "x/1", "stop", 8.9)
    assert not found(turn("x/1/a", 1, 1, None, 9, how="Lost"), [stop], turn("x/2/a", 1.5, 3.5, 4, 4.1))


def test_readers_together_are_fine_and_a_writer_among_them_is_found() -> None:
    readers = turn("x/1/a", 1, 1, 3, 3.1, mode="shared") + turn("x/2/a", 1.2, 1.3, 3, 3.1, mode="shared")
    assert not found(readers)
    assert laws(readers, turn("x/3/a", 2, 2, 2.5, 2.6)) == ["two holders"]


def test_a_semaphore_is_full_at_its_limit() -> None:
    def permit(who: str, at: float) -> Turn:
        return turn(who, at, at, 5, 5.1, mode="counted", limit=2)

    assert not found(permit("x/1/a", 1), permit("x/2/a", 1.1))
    assert laws(permit("x/1/a", 1), permit("x/2/a", 1.1), permit("x/3/a", 1.2)) == ["two holders"]


# Tokens


def test_a_token_below_that_of_an_earlier_holder_is_found() -> None:
    assert laws(
        turn("x/1/a", 1, 1, 2, 2.1, tokens=(7,)),
        turn("x/2/a", 1.9, 2.2, 3, 3.1, tokens=(6,)),
    ) == ["token below an earlier one"]


def test_a_token_below_that_of_a_reader_granted_before_it_was_asked_for_is_found() -> None:
    assert laws(
        turn("x/1/a", 1, 1, 4, 4.1, tokens=(7,), mode="shared"),
        turn("x/2/a", 2, 2.2, 3, 3.1, tokens=(6,), mode="shared"),
    ) == ["token below an earlier one"]


def test_readers_who_asked_at_the_same_time_may_have_tokens_in_any_order() -> None:
    assert not found(
        turn("x/1/a", 1, 1.2, 4, 4.1, tokens=(7,), mode="shared"),
        turn("x/2/a", 1, 1.3, 3, 3.1, tokens=(6,), mode="shared"),
    )


def test_a_token_that_was_given_twice_is_found() -> None:
    assert laws(turn("x/1/a", 1, 1, 2, 2.1, tokens=(7,)), turn("x/2/a", 1.9, 2.2, 3, 3.1, tokens=(7,))) == [
        "token twice"
    ]


@pytest.mark.parametrize(("mode", "twins", "wrong"), [("shared", False, 1), ("shared", True, 0), ("counted", True, 1)])
def test_readers_alone_may_have_one_token_and_only_where_it_is_said(mode: str, twins: bool, wrong: int) -> None:
    events = [
        *joined("x/1", "x/2"),
        *turn("x/1/a", 1, 1.2, 4, 4.1, tokens=(7,), mode=mode, limit=2),
        *turn("x/2/a", 1, 1.3, 3, 3.1, tokens=(7,), mode=mode, limit=2),
    ]
    assert [finding.law for finding in check(events, slack=SLACK, twins=twins)] == ["token twice"] * wrong


def test_tokens_of_different_names_have_nothing_to_do_with_each_other() -> None:
    assert not found(
        turn("x/1/a", 1, 1, 2, 2.1, tokens=(7, 3), names=("a", "b")),
        turn("x/2/a", 3, 3, 4, 4.1, tokens=(4,), names=("b",)),
    )


# Names without a holder


def test_a_name_that_is_handed_on_at_once_is_fine() -> None:
    assert not found(turn("x/1/a", 1, 1, 5, 5.1), turn("x/2/a", 1.5, 5.4, 6, 6.1))


def test_a_name_without_a_holder_while_somebody_waits_is_found() -> None:
    (finding,) = found(turn("x/1/a", 1, 1, 2, 2.1), turn("x/2/a", 1.5, 4.1, 5, 5.1))
    assert str(finding) == (
        "no holder: 'a': nobody held it for 2.00 s of the time from 2.100 to 4.100, and x/2/a waited (asked at 1.500)"
    )


def test_a_phantom_that_outlasts_the_time_out_of_all_is_found() -> None:
    assert laws(turn("x/1/a", 1, 1, 2, 2.1), turn("x/2/a", 1.5, None, None, 9, how="timeout")) == ["no holder"]


def test_waits_too_short_for_a_slow_machine_say_nothing() -> None:
    hurried = [turn("x/2/a", at / 10, None, None, at / 10 + 0.1, how="timeout") for at in range(21, 60)]
    assert not found(turn("x/1/a", 1, 1, 2, 2.1), *hurried)


def test_a_killed_holder_is_an_excuse_until_its_lease_has_ended() -> None:
    killed = [*turn("x/1/a", 1, 1, 2), Deed(3.0, "x/1", "kill", 3.01)]
    assert not found(killed, turn("x/2/a", 1.5, 3 + TTL + 0.4, 6, 6.1))
    assert laws(killed, turn("x/2/a", 1.5, 3 + TTL + 0.6, 6, 6.1)) == ["no holder"]


def test_a_waiter_that_was_killed_waits_no_longer() -> None:
    killed = [*turn("x/2/a", 1.5), Deed(2.2, "x/2", "kill", 2.3)]
    much_later = turn("x/3/a", 9, 9, 9, 9.1)
    assert not found(turn("x/1/a", 1, 1, 2, 2.1), killed, much_later)


def test_the_death_of_somebody_at_another_name_is_no_excuse() -> None:
    elsewhere = [*turn("x/3/a", 1, 1, 2, names=("b",)), Deed(2.0, "x/3", "kill", 2.0)]
    assert laws(elsewhere, turn("x/1/a", 1, 1, 2, 2.1), turn("x/2/a", 1.5, 4.1, 5, 5.1)) == ["no holder"]


def test_a_waiter_that_is_stopped_does_not_wait() -> None:
    stop = Deed(2.2, "x/2", "stop", 8.0)
    assert not found(turn("x/1/a", 1, 1, 2, 2.1), turn("x/2/a", 1.5, 8.1, 9, 9.1), [stop])


def test_a_server_that_was_down_excuses_everybody() -> None:
    down = Deed(2.0, "", "restart server", 5.0)
    assert not found(turn("x/1/a", 1, 1, 2, 2.1), turn("x/2/a", 1.5, 5 + TTL, 8, 8.1), [down])


@pytest.mark.parametrize("trouble", [[Trouble(2.5, "x/1", "LeaseLost")], []], ids=["lease lost", "call in doubt"])
def test_what_the_library_said_is_in_doubt_is_an_excuse(trouble: list[Event]) -> None:
    how = "released" if trouble else "Uncertain"
    first = turn("x/1/a", 1, 1, 2, 2.1, how=how)
    assert not found(first, turn("x/2/a", 1.5, 4.3, 5, 5.1), trouble)
    assert laws(first, turn("x/2/a", 1.5, 2.5 + TTL + 0.6, 6, 6.1), trouble) == ["no holder"]


def test_a_cancellation_and_a_time_out_are_no_excuse() -> None:
    for how in ("interrupted", "timeout"):
        gave_up = turn("x/3/a", 1.2, None, None, 2.2, how=how)
        assert laws(turn("x/1/a", 1, 1, 2, 2.1), gave_up, turn("x/2/a", 1.5, 4.1, 5, 5.1)) == ["no holder"]


def test_what_the_machine_stood_still_is_taken_off_twice() -> None:
    def laws_if(stalled: float) -> list[str]:
        stall = Stalled(2.2, "x/3", 2.2 + stalled)
        return laws(turn("x/1/a", 1, 1, 2, 2.1), turn("x/2/a", 1.5, 4.1, 5, 5.1), [stall])

    assert laws_if(0.74) == ["no holder"]
    assert laws_if(0.76) == []


def test_who_stood_still_by_the_hand_of_the_nemesis_is_not_the_machine() -> None:
    events: list[Event] = [Stalled(2.2, "x/3", 3.9), Deed(2.3, "x/3", "stop", 3.8), Stalled(3.0, "x/1", 3.5)]
    assert stalled(events) == [(2.2, 2.3), (3.0, 3.5), (3.8, 3.9)]


def test_who_waits_for_two_names_waits_for_both() -> None:
    both = turn("x/2/a", 1.5, 5.2, 6, 6.1, names=("a", "b"))
    assert not found(turn("x/1/a", 1, 1, 2, 2.1), turn("x/3/a", 1, 1, 5, 5.1, names=("b",)), both)
    assert laws(turn("x/1/a", 1, 1, 2, 2.1), turn("x/3/a", 1, 1, 3, 3.1, names=("b",)), both) == ["no holder"]


def test_names_that_are_asked_for_together_directly_or_not_are_one_cluster() -> None:
    every = turns(
        [*turn("x/1/a", 1, names=("a", "b")), *turn("x/1/b", 1, names=("b", "c")), *turn("x/1/c", 1, names=("d",))]
    )
    assert clusters(every) == {**dict.fromkeys("abc", frozenset("abc")), "d": frozenset("d")}


# Losses


def test_a_lock_that_is_gone_while_its_lease_lives_is_found() -> None:
    assert laws(turn("x/1/a", 1, 1, 2, 2.1, how="Lost")) == ["lost without a reason"]


@pytest.mark.parametrize(
    "reason",
    [Trouble(2.0, "x/1", "LeaseLost"), Deed(1.2, "x/1", "stop", 1.9), Deed(0.5, "", "restart server", 0.6)],
    ids=["its lease ended", "it was stopped", "the server was down"],
)
def test_what_was_lost_with_a_reason_is_fine(reason: Event) -> None:
    assert not found(turn("x/1/a", 1, 1, 2, 2.1, how="Lost"), [reason])


@pytest.mark.parametrize("deed", [Deed(1.5, "x/2", "kill", 1.5), Deed(2.2, "x/1", "kill", 2.2)], ids=str)
def test_the_death_of_another_and_what_was_done_later_are_no_reasons(deed: Event) -> None:
    assert laws(turn("x/1/a", 1, 1, 2, 2.1, how="Lost"), [deed]) == ["lost without a reason"]


# What is left


def test_what_the_engine_still_has_at_rest_is_found() -> None:
    assert laws([Left(9, "x/1", "a", "held by x/2 (token 7)")]) == ["left behind"]


def test_an_error_that_a_storm_is_no_reason_for_is_found() -> None:
    assert laws([Broke(9, "x/1/a", "KeyError: 1")]) == ["raised"]


def test_who_never_came_back_is_found_unless_it_was_killed() -> None:
    assert laws(turn("x/1/a", 1)) == ["never came back"]
    assert not found(turn("x/1/a", 1), [Deed(1.2, "x/1", "kill", 1.3)])


def test_a_deed_concerns_its_victims_alone() -> None:
    events = [*joined("x/1", "x/11", "y/1"), *turn("x/1/a", 1, names=("a",)), *turn("x/11/a", 1, names=("b",))]
    events += [*turn("y/1/a", 1, names=("c",)), Deed(2, "x/1", "kill", 2), Deed(3, "y", "cut", 4)]
    assert excused(events, turns(events)) == {"a": [(2, 2 + TTL)], "c": [(3, 4 + TTL)]}
