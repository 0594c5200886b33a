"""Whatever a test drops half made is collected at its end: in a later test, the warning would be an error."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collected(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    ignored = (each for mark in request.node.iter_markers("filterwarnings") for each in mark.args)
    if any("PytestUnraisableExceptionWarning" in each for each in ignored):
        gc.collect()
