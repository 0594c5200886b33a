"""What is particular to the fence in memory."""

import threading

import pytest

from fencepost.errors import Stale
from fencepost.fences import MemoryFence

pytestmark = pytest.mark.unit


def test_racing_threads_lose_nothing_that_was_acknowledged() -> None:
    fence, threads, rounds = MemoryFence(), 8, 50
    tokens, start = iter(range(1, threads * rounds + 1)), threading.Barrier(threads)
    drawing = threading.Lock()
    words: list[str] = []
    acknowledged: list[str] = []

    def work(worker: int) -> None:
        nonlocal words
        start.wait()
        for turn in range(rounds):
            with drawing:
                token = next(tokens)
            word = f"{worker}-{turn}"
            try:
                with fence.guard("list", token):
                    seen = list(words)
                with fence.guard("list", token):
                    words = [*seen, word]
            except Stale:
                continue
            acknowledged.append(word)

    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(threads)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert sorted(words) == sorted(acknowledged)
    assert fence.highest("list") == threads * rounds


def test_two_fences_share_nothing() -> None:
    one, other = MemoryFence(), MemoryFence()
    one.claim("a", 5)
    other.claim("a", 4)
    assert (one.highest("a"), other.highest("a")) == (5, 4)


def test_no_mark_is_forgotten_however_many_names_there_are() -> None:
    fence, many = MemoryFence(), 5000
    for number in range(many):
        fence.claim(f"orders/{number}", 2)
    for number in range(many):
        with pytest.raises(Stale):
            fence.claim(f"orders/{number}", 1)
