"""Processes, threads and tasks contend on every engine, a nemesis harms them, and the history is checked."""

import random

import pytest

from fencepost.core.url import parse_url
from fencepost.testing.contract import Site
from fencepost.testing.storm import storm

from .conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.storm]

SECONDS = 5.0
# Fewer would show nothing.
ENOUGH = 20
# Nodes that are asked by two readers at once may propose the same to both: see docs/engines/redlock.md.
TWINS = ("redlock",)


def test_what_is_promised_holds_while_processes_and_connections_are_harmed(site: Site, dice: random.Random) -> None:
    # The server of an advisory lock frees it with its connection, and the holder hears of it a moment later.
    cuts = site.scheme != "postgresql+advisory"
    twins = site.scheme in TWINS
    seed = dice.randrange(10**6)
    report = storm(site.url, seconds=SECONDS, seed=seed, ttl=site.ttl, cuts=cuts, twins=twins, grants=ENOUGH)
    print(report)
    assert report.findings == []
    assert report.grants >= ENOUGH


def test_what_is_promised_holds_while_servers_are_harmed(harmed: Place, dice: random.Random) -> None:
    report = storm(
        harmed.url,
        seconds=SECONDS,
        seed=dice.randrange(10**6),
        ttl=harmed.ttl,
        servers=harmed.servers,
        durable=harmed.durable,
        twins=parse_url(harmed.url).scheme in TWINS,
        grants=ENOUGH,
    )
    print(report)
    assert report.findings == []
    assert report.grants >= ENOUGH
