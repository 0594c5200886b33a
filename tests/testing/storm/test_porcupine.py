"""The second check of a history: finds each fault that is planted, and nothing in what is fine."""

import itertools
import json
import random
import resource
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.testing.binary import find_built
from fencepost.testing.storm import porcupine
from fencepost.testing.storm.check import Finding, disorder, overlaps
from fencepost.testing.storm.history import Deed, Ended, Event, Got, Held
from fencepost.testing.storm.porcupine import operations, recheck
from fencepost.testing.storm.turn import turns
from tests.support.testing.history import LIMIT, Turn, lives, turn

BIG = 3000
MODES = [("exclusive",), ("exclusive", "shared"), ("counted",)]


@pytest.fixture
def program() -> str:
    return find_built("porcupine")


def first_check(events: Sequence[Event], *, twins: bool = False) -> set[str]:
    """Names that the check in Python finds something about, of what the second one looks at."""
    every = turns(events)
    return {finding.name for finding in (*overlaps(every), *disorder(every, twins=twins))}


def permit(who: str, at: float, until: float) -> Turn:
    return turn(who, at, at, until, until + 0.1, mode="counted", limit=2)


def reader(who: str, asked: float, got: float, until: float, token: int) -> Turn:
    return turn(who, asked, got, until, until + 0.1, mode="shared", tokens=(token,))


FINE: dict[str, list[Turn]] = {
    "nothing": [],
    "one after the other": [turn("x/1/a", 1, 1, 2, 2.1), turn("x/2/a", 1.5, 2.05, 3, 3.1)],
    "the largest token": [turn("x/1/a", 1, 1, 2, 2.1, tokens=(2**63 - 1,))],
    "readers together, then a writer": [
        reader("x/1/a", 1, 1.1, 3, 7),
        reader("x/2/a", 1, 1.2, 4, 6),
        turn("x/3/a", 2, 4.05, 5, 5.1, tokens=(8,)),
    ],
    "a full semaphore": [permit("x/1/a", 1, 5), permit("x/2/a", 2, 3), permit("x/3/a", 4, 6)],
    "lost, and it does not know when": [turn("x/1/a", 1, 1, None, 9, how="Lost"), turn("x/2/a", 1.5, 3.5, 4, 4.1)],
    "killed while it held": [
        [*turn("x/1/a", 1, 1, 2), Deed(8.0, "x/1", "kill", 8.1)],
        turn("x/2/a", 1.5, 2.1, 4, 4.1),
    ],
    "asked, and in doubt": [turn("x/1/a", 1, None, None, 9, how="Uncertain"), turn("x/2/a", 1.5, 2.1, 4, 4.1)],
    "another name": [turn("x/1/a", 1, 1, 3, 3.1, names=("a",)), turn("x/2/a", 2, 2, 3, 3.1, names=("b",))],
}

WRONG: dict[str, list[Turn]] = {
    "two holders": [turn("x/1/a", 1, 1, 3, 3.1), turn("x/2/a", 1.5, 2.5, 3.5, 3.6)],
    "two holders, and one lost it later": [
        turn("x/1/a", 1, 1, 3, 9, how="Lost"),
        turn("x/2/a", 1.5, 2.5, 3.5, 3.6),
    ],
    "a writer among readers": [reader("x/1/a", 1, 1, 3, 1), reader("x/2/a", 1, 1, 3, 2), turn("x/3/a", 2, 2, 2.5, 2.6)],
    "a reader beside a writer": [turn("x/1/a", 1, 1, 3, 3.1, tokens=(1,)), reader("x/2/a", 2, 2, 2.5, 2)],
    "one too many": [permit("x/1/a", 1, 5), permit("x/2/a", 1.1, 5), permit("x/3/a", 1.2, 5)],
    "a token twice": [turn("x/1/a", 1, 1, 2, 2.1, tokens=(7,)), turn("x/2/a", 1.9, 2.2, 3, 3.1, tokens=(7,))],
    "a token below an earlier one": [
        turn("x/1/a", 1, 1, 2, 2.1, tokens=(7,)),
        turn("x/2/a", 1.9, 2.2, 3, 3.1, tokens=(6,)),
    ],
    "a reader's token below that of one before": [reader("x/1/a", 1, 1, 4, 7), reader("x/2/a", 2, 2.2, 3, 6)],
}


@pytest.mark.parametrize("history", FINE.values(), ids=FINE.keys())
def test_a_history_that_a_lock_may_have_passes_both_checks(program: str, history: list[Turn]) -> None:
    events = [*itertools.chain(*history)]
    assert first_check(events) == set()
    assert recheck(events, program) == []


@pytest.mark.parametrize("history", WRONG.values(), ids=WRONG.keys())
def test_a_planted_fault_is_found_by_both_checks(program: str, history: list[Turn]) -> None:
    elsewhere = turn("x/3/b", 1, 1, 2, 2.1, names=("b",))
    events = [*itertools.chain(elsewhere, *history)]
    assert first_check(events) == {"a"}
    assert [(finding.law, finding.name) for finding in recheck(events, program)] == [("no order", "a")]


def test_a_finding_says_what_fits_nowhere(program: str) -> None:
    first = turn("x/1/a", 1, 1, 3, 3.1, tokens=(1,))
    (finding,) = recheck([*first, *turn("x/2/a", 1.5, 2.5, 3.5, 3.6, tokens=(2,))], program)
    assert str(finding) == "no order: 'a': acquire by x/2/a (exclusive, token 2) fits nowhere from 1.500 to 2.500"


def test_it_finds_what_does_not_fit_though_any_two_of_it_do(program: str) -> None:
    # By its token, the reader came after the writer; but it was there before the writer had gone.
    events = [*turn("x/1/a", 0, 10, 20, 20.1, tokens=(5,)), *reader("x/2/a", 0, 5, 6, 6)]
    assert first_check(events) == set()
    assert [finding.law for finding in recheck(events, program)] == ["no order"]


@pytest.mark.parametrize(("mode", "twins", "wrong"), [("shared", False, 1), ("shared", True, 0), ("counted", True, 1)])
def test_readers_alone_may_have_one_token_and_only_where_it_is_said(
    program: str, mode: str, twins: bool, wrong: int
) -> None:
    events = [
        *turn("x/1/a", 1, 1.2, 4, 4.1, tokens=(7,), mode=mode, limit=2),
        *turn("x/2/a", 1, 1.3, 3, 3.1, tokens=(7,), mode=mode, limit=2),
    ]
    assert len(recheck(events, program, twins=twins)) == wrong


def test_a_token_that_readers_share_ends_with_the_next_one(program: str) -> None:
    twins = [*reader("x/1/a", 1, 1.2, 4, 7), *reader("x/2/a", 1, 1.3, 3, 7)]
    assert recheck([*twins, *reader("x/3/a", 2, 2.1, 3, 8)], program, twins=True) == []
    late = [*reader("x/3/a", 2, 2.1, 2.2, 8), *reader("x/3/b", 2.5, 2.6, 2.7, 7)]
    assert [finding.law for finding in recheck([*twins, *late], program, twins=True)] == ["no order"]


def test_a_lock_is_released_by_its_owner_alone(program: str) -> None:
    """No storm records such a history: its flows release what they were granted."""
    acquire, release = operations(turns(turn("x/1/a", 1, 1, 2, 2.1)))
    for owner, code in (("x/1/a", 0), ("x/2/a", 1)):
        lines = f"{json.dumps(acquire)}\n{json.dumps({**release, 'owner': owner})}\n"
        assert subprocess.run([program], input=lines, text=True, check=False, capture_output=True).returncode == code


# Histories by dice


@pytest.mark.parametrize("modes", MODES, ids=" and ".join)
def test_a_long_history_takes_much_less_than_a_second(
    program: str, dice: random.Random, modes: tuple[str, ...]
) -> None:
    events = [*lives(dice, "a", modes, BIG // 2)]
    assert len([*operations(turns(events))]) == BIG
    before = _computed()
    assert recheck(events, program) == []
    assert _computed() - before < 1.0
    late = turn("x/5/a", events[-1].at, events[-1].at, mode=modes[0], limit=LIMIT, tokens=(1,))
    before = _computed()
    assert [finding.law for finding in recheck([*events, *late], program)] == ["no order"]
    assert _computed() - before < 1.0


@pytest.mark.parametrize("fits", [True, False], ids=["fine", "wrong"])
def test_many_readers_at_once_are_decided_soon(program: str, dice: random.Random, fits: bool) -> None:
    """They ask at the same time, and nobody knows when they lose it: there are too many orders to try each."""
    tokens = dice.sample(range(1, 1000), 60)
    readers = [reader(f"x/1/{token}", 1, 2 + token / 1000, 2000, token) for token in tokens]
    lost = [[asked, got, ended] for asked, got, _, ended in (readers if fits else readers[1:])]
    writer = turn("x/2/a", 3, 1999, 2000, 2001, tokens=(1000,))
    found = recheck([*itertools.chain(readers[0] * (not fits), *lost, writer)], program)
    assert [finding.law for finding in found] == ["no order"] * (not fits)


def test_a_dozen_readers_with_one_token_are_decided_soon(program: str) -> None:
    twins = [reader(f"x/1/{number}", 0, 1, 2, 7) for number in range(12)]
    writer = turn("x/2/a", 1.1, 1.2, 1.3, 1.4, tokens=(8,))
    assert [found.law for found in recheck([*itertools.chain(*twins, writer)], program, twins=True)] == ["no order"]


def _computed() -> float:
    """The CPU seconds of children that have ended. A busy machine does not add to them."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _wrong_token(event: Event, dice: random.Random) -> list[Event]:
    return [replace(event, tokens=(dice.randint(1, 24),))] if isinstance(event, Got) else [event]


def _held_to_the_end(event: Event, _: random.Random) -> list[Event]:
    return [Held(event.at - 1e-6, event.who), event] if isinstance(event, Ended) else [event]


@pytest.mark.parametrize("fault", [_wrong_token, _held_to_the_end])
def test_the_second_check_finds_whatever_the_first_one_does_in_random_histories(
    program: str, dice: random.Random, fault: Callable[[Event, random.Random], list[Event]]
) -> None:
    names = [f"{number:03}" for number in range(300)]
    events = [event for name in names for event in lives(dice, name, dice.choice(MODES), 12, flows=5)]
    assert first_check(events) == set()
    assert recheck(events, program) == []
    wrong = [each for event in events for each in (fault(event, dice) if dice.random() < 0.1 else [event])]
    first = first_check(wrong)
    second = {finding.name for finding in recheck(wrong, program)}
    assert first <= second < set(names)
    assert len(first) > 50


# What is not fine, though nothing was found


def test_what_cannot_be_decided_in_time_is_not_fine(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The program has to come to its end by itself, before it is ended.
    monkeypatch.setattr(porcupine, "BESIDES", 20.0)
    # No order fits, and there are too many to try each: the tokens do not say which reader came first.
    twins = [reader(f"x/1/{number}", 0, 1, 2, 7) for number in range(60)]
    writer = turn("x/2/a", 1.1, 1.2, 1.3, 1.4, tokens=(8,))
    (finding,) = recheck([*itertools.chain(*twins, writer)], program, twins=True, timeout=0.2)
    assert (finding.law, finding.name) == ("not decided", "a")


def test_a_history_that_makes_no_sense_is_not_fine(program: str) -> None:
    (finding,) = recheck(turn("x/1/a", 1, 1, 2, 2.1, tokens=(0,)), program)
    assert finding.law == "not decided"
    assert "operation 1 makes no sense" in finding.what


def _script(folder: Path, text: str) -> str:
    script = folder / "checker"
    script.write_text(f"#!/bin/sh\ncat >/dev/null\n{text}\n")
    script.chmod(0o700)
    return str(script)


@pytest.mark.parametrize("text", ["exit 1", "exit 2", "kill -9 $$"])
def test_a_checker_that_fails_says_nothing_about_the_history(tmp_path: Path, text: str) -> None:
    (finding,) = recheck(turn("x/1/a", 1, 1, 2, 2.1), _script(tmp_path, text))
    assert finding.law == "not decided"


def test_a_checker_that_does_not_end_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(porcupine, "BESIDES", 0.0)
    (finding,) = recheck(turn("x/1/a", 1, 1, 2, 2.1), _script(tmp_path, "exec sleep 600"), timeout=0.1)
    assert isinstance(finding, Finding)
    assert finding.law == "not decided"
    assert "timed out" in finding.what


# What the checker is given


@pytest.mark.unit
def test_a_grant_begins_between_its_ask_and_its_sight_and_ends_after_it_was_last_seen() -> None:
    what = {"owner": "x/1/a", "mode": "exclusive", "limit": 1}
    left, right = {"name": "left", "token": 7, **what}, {"name": "right", "token": 8, **what}
    both = turn("x/1/a", 1, 1.5, 2, 9, names=("left", "right"), tokens=(7, 8), how="Lost")
    assert [*operations(turns(both))] == [
        {"do": "acquire", **left, "call": 1_000_000_000, "return": 1_500_000_000},
        {"do": "release", **left, "call": 2_000_000_000, "return": 9_000_000_000},
        {"do": "acquire", **right, "call": 1_000_000_000, "return": 1_500_000_000},
        {"do": "release", **right, "call": 2_000_000_000, "return": 9_000_000_000},
    ]


@pytest.mark.unit
@pytest.mark.parametrize("how", ["busy", "timeout", "interrupted", "Uncertain"])
def test_an_ask_that_nobody_saw_granted_is_left_out(how: str) -> None:
    assert [*operations(turns(turn("x/1/a", 1, None, None, 2, how=how)))] == []
