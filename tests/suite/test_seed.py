"""Chance is the same in every run, unless another course is asked for."""

import pytest

from .conftest import Run

pytest_plugins = ["pytester"]
SUITE = """
    import hypothesis

    def test_one(dice):
        print("threw", [dice.random() for _ in range(3)])
        assert False

    def test_two(dice):
        print("threw", [dice.random() for _ in range(3)])
        assert False

    @hypothesis.settings(max_examples=5)
    @hypothesis.given(hypothesis.strategies.integers())
    def test_three(number):
        print("tried", number)

    @hypothesis.given(hypothesis.strategies.integers())
    def test_four(number):
        print("tried", number)
    """


def lines(result: pytest.RunResult, word: str) -> list[str]:
    return [line for line in result.outlines if line.startswith(word)]


def test_two_runs_throw_and_try_the_same_and_another_seed_does_not(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(SUITE)
    # Passed tests are shown as well.
    first, second, other = run("seed", "-rA"), run("seed", "-rA"), run("seed", "-rA", "--seed", "7")
    thrown = lines(first, "threw")
    assert len(set(thrown)) == 2, "each test has dice of its own"
    assert thrown == lines(second, "threw")
    assert not set(thrown) & set(lines(other, "threw"))
    assert len(lines(first, "tried")) > 5
    assert lines(first, "tried") == lines(second, "tried") != lines(other, "tried")
    assert set(lines(first, "seed")) == {"seed 0"}
    assert set(lines(other, "seed")) == {"seed 7"}
