# Generated from src/fencepost/testing/contract/_async/interruption.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of interruption: whoever is interrupted anywhere, in the engine too, leaves nothing held, shut or astray."""

import gc
import random
from collections.abc import Iterator
from functools import partial

import pytest

from fencepost.testing.contract._sync.interrupted import ACTS, Scene
from fencepost.testing.contract.interruption import threads as interruption
from fencepost.testing.contract.site import Site

# At how many of its points each act is interrupted, and how often it is done before they are counted: what is made or
# imported once is there by then.
POINTS = 20
WARM = 3


# What is dropped half made is closed when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
class InterruptionChapter:
    @pytest.fixture(autouse=True)
    def collected(self) -> Iterator[None]:
        """Here, and not in a later test."""
        yield
        gc.collect()

    @pytest.mark.parametrize("act", ACTS)
    def test_an_exception_out_of_a_signal_handler_leaves_nothing_behind(
        self, site: Site, act: str, fencepost_dice: random.Random
    ) -> None:
        scene = Scene(site)
        with interruption.reported() as reported:
            counts = []
            for _ in range(WARM):
                whole = interruption.Points()
                ACTS[act](scene).run(whole.strike)
                counts.append(whole.seen)
            # Now and then one comes to many more, as when its lease was lost on a busy machine and another is opened.
            seen, struck = min(counts), 0
            for at in fencepost_dice.sample(range(seen), min(POINTS, seen)):
                points = interruption.Points(at, fencepost_dice.choice(interruption.Points.kinds))
                struck += ACTS[act](scene).run(points.strike) is not None
                assert not reported, f"{reported} after {points.where}"
            # Not always all: who waits comes to other points each time.
            assert struck > min(POINTS, seen) / 3
        scene.close()

    @pytest.mark.parametrize("act", ACTS)
    def test_an_interruption_at_a_step_of_whatever_a_session_does_leaves_nothing_behind(
        self, site: Site, act: str, fencepost_dice: random.Random
    ) -> None:
        scene = Scene(site)
        for step in interruption.steps(fencepost_dice):
            if not ACTS[act](scene).run(partial(interruption.interrupt_at, step)):
                break
        scene.close()
