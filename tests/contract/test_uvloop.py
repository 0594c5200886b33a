"""The chapters that lean on the event loop, on the one that uvicorn takes by itself where it is installed."""

import inspect
from typing import Any

import pytest
import uvloop

from fencepost.testing.contract import CHAPTERS, SITES, Site

from .matrix import OTHER_PLACE, OTHER_TRANSPORT

pytestmark = pytest.mark.slow
LAWS = ("transport", "waiting", "unknown", "cell")
SCHEMES = [scheme for scheme in sorted(SITES) if scheme not in OTHER_TRANSPORT + OTHER_PLACE]
# Those that need a site and nothing else that pytest would give them.
TESTS = [
    pytest.param(chapter.tests, test, id=f"{chapter.law}-{name}", marks=getattr(test, "pytestmark", ()))
    for chapter in CHAPTERS
    if chapter.flavour == "async" and chapter.law in LAWS
    for name, test in vars(chapter.tests).items()
    if name.startswith("test_") and list(inspect.signature(test).parameters) == ["self", "site"]
]


@pytest.mark.parametrize("site", SCHEMES, indirect=True)
@pytest.mark.parametrize(("chapter", "test"), TESTS)
def test_under_uvloop(site: Site, chapter: type[Any], test: Any) -> None:
    uvloop.run(test(chapter(), site))
