"""A storm from its beginning to its end."""

import pytest

from fencepost.testing.storm import storm

pytestmark = pytest.mark.slow


def test_a_storm_goes_on_until_there_were_as_many_grants_as_are_to_be_seen() -> None:
    short = storm("memory://", seconds=0.1)
    wanted = 3 * short.grants
    long = storm("memory://", seconds=0.1, grants=wanted)
    assert long.findings == []
    assert long.grants >= wanted
