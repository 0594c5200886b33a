"""A holder killed at any instant leaves nothing half done, and lets no older token in."""

from pathlib import Path

import pytest

from tests.support.fences.crash import crash_everywhere
from tests.support.fences.process import started

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("shared", ["sqlite", "file", "postgresql"])
def test_a_holder_killed_at_any_instant_leaves_content_and_mark_in_step(shared: str, tmp_path: Path) -> None:
    with started(crash_everywhere, shared, tmp_path) as (_, pipe):
        instants, wrong = pipe.recv()
    assert wrong == []
    assert instants > 20
