"""Tokens in memory follow the clock, and grow also when it does not."""

import pytest

import fencepost
from fencepost.engines.memory import book

pytestmark = pytest.mark.unit


class WallClock:
    def __init__(self) -> None:
        self.now_ns = 2_000_000_000_000_000_000

    def time_ns(self) -> int:
        return self.now_ns


def test_tokens_grow_while_the_clock_stands_still_and_when_it_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = WallClock()
    monkeypatch.setattr(book, "time", clock)
    tokens = []
    with fencepost.connect("memory://clock") as session:
        for step in (0, 0, -60, 0):
            clock.now_ns += step * 1_000_000_000
            with session.lock("a") as grant:
                tokens.append(grant.token)
    assert tokens == sorted(set(tokens))
