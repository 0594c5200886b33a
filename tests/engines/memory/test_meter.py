"""Rate limits are forgotten when they are idle, so that names used once do not pile up."""

import pytest

from fencepost.core.rate import Rate
from fencepost.engines.memory.meter import SWEEP_AT, Meters

pytestmark = pytest.mark.unit


def test_a_sweep_forgets_the_idle_and_keeps_the_busy() -> None:
    meters = Meters()
    daily, brief = Rate(86400.0, 1), Rate(1.0, 1)
    assert meters.take("busy", daily, 1, 100.0) == 0.0
    for number in range(3 * SWEEP_AT):
        # Each is idle again when the next one comes.
        assert meters.take(f"once/{number}", brief, 1, 101.0 + 2 * number) == 0.0
    assert len(meters._busy_until) <= SWEEP_AT
    assert meters.take("busy", daily, 1, 101.0 + 2 * 3 * SWEEP_AT) > 0.0
