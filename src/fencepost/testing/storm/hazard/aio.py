"""A time-out around a call, as web handlers have it."""

import asyncio
import random
from contextlib import AbstractAsyncContextManager, nullcontext

# What comes out of a call that was ended.
Interruption = TimeoutError


def around(dice: random.Random, share: float, most: float) -> AbstractAsyncContextManager[object]:
    """Of all calls in this block that share is cancelled, within `most` seconds."""
    return asyncio.timeout(dice.uniform(0.0, most)) if dice.random() < share else nullcontext()
