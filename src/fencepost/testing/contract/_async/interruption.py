# Written by hand; the blocking twin under _sync is generated from it.
"""The law of interruption: whoever is interrupted anywhere, in the engine too, leaves nothing held, shut or astray."""

import gc
import random
from collections.abc import Iterator
from functools import partial

import pytest

from fencepost.testing.contract._async.interrupted import ACTS, AsyncScene
from fencepost.testing.contract.interruption import aio as interruption
from fencepost.testing.contract.site import Site

# At how many of its points each act is interrupted, and how often it is done before they are counted: what is made or
# imported once is there by then.
POINTS = 20
WARM = 3


# What is dropped half made is closed when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
class AsyncInterruptionChapter:
    @pytest.fixture(autouse=True)
    def collected(self) -> Iterator[None]:
        """Here, and not in a later test."""
        yield
        gc.collect()

    @pytest.mark.parametrize("act", ACTS)
    async def test_an_exception_out_of_a_signal_handler_leaves_nothing_behind(
        self, site: Site, act: str, fencepost_dice: random.Random
    ) -> None:
        scene = AsyncScene(site)
        with interruption.reported() as reported:
            counts = []
            for _ in range(WARM):
                whole = interruption.Points()
                await ACTS[act](scene).run(whole.strike)
                counts.append(whole.seen)
            # Now and then one comes to many more, as when its lease was lost on a busy machine and another is opened.
            seen, struck = min(counts), 0
            for at in fencepost_dice.sample(range(seen), min(POINTS, seen)):
                points = interruption.Points(at, fencepost_dice.choice(interruption.Points.kinds))
                struck += await ACTS[act](scene).run(points.strike) is not None
                assert not reported, f"{reported} after {points.where}"
            # Not always all: who waits comes to other points each time.
            assert struck > min(POINTS, seen) / 3
        await scene.close()

    @pytest.mark.parametrize("act", ACTS)
    async def test_an_interruption_at_a_step_of_whatever_a_session_does_leaves_nothing_behind(
        self, site: Site, act: str, fencepost_dice: random.Random
    ) -> None:
        scene = AsyncScene(site)
        for step in interruption.steps(fencepost_dice):
            if not await ACTS[act](scene).run(partial(interruption.interrupt_at, step)):
                break
        await scene.close()
