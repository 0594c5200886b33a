"""A time-out around a call, as web handlers have it."""

import asyncio
import random
from contextlib import AbstractAsyncContextManager, nullcontext

SHARE = 0.4
MOST = 0.08

# What comes out of a call that was ended.
Interruption = TimeoutError


def around(dice: random.Random) -> AbstractAsyncContextManager[object]:
    """Now and then, a call in this block is cancelled."""
    return asyncio.timeout(dice.uniform(0.0, MOST)) if dice.random() < SHARE else nullcontext()
