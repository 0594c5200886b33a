"""Processes, threads and tasks contend on every engine, a nemesis harms them, and the history is checked, twice."""

import random
from pathlib import Path

import pytest

from fencepost.core.url import parse_url
from fencepost.testing.binary import find_built
from fencepost.testing.contract import Site
from fencepost.testing.storm import storm
from fencepost.testing.storm.check import overlaps
from fencepost.testing.storm.history import read
from fencepost.testing.storm.porcupine import recheck
from fencepost.testing.storm.turn import turns
from tests.support.testing.history import turn

from .conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.storm]

SECONDS = 5.0
# Fewer would show nothing.
ENOUGH = 20
# Nodes that are asked by two readers at once may propose the same to both: see docs/engines/redlock.md.
TWINS = ("redlock",)


def test_what_is_promised_holds_while_processes_and_connections_are_harmed(
    site: Site, dice: random.Random, porcupine: str | None
) -> None:
    # The server of an advisory lock frees it with its connection, and the holder hears of it a moment later.
    cuts = site.scheme != "postgresql+advisory"
    twins = site.scheme in TWINS
    seed = dice.randrange(10**6)
    report = storm(
        site.url,
        seconds=SECONDS,
        seed=seed,
        ttl=site.ttl,
        cuts=cuts,
        twins=twins,
        grants=ENOUGH,
        porcupine=porcupine,
    )
    print(report)
    assert report.findings == []
    assert report.grants >= ENOUGH


def test_what_is_promised_holds_while_servers_are_harmed(
    harmed: Place, dice: random.Random, porcupine: str | None
) -> None:
    report = storm(
        harmed.url,
        seconds=SECONDS,
        seed=dice.randrange(10**6),
        ttl=harmed.ttl,
        servers=harmed.servers,
        durable=harmed.durable,
        twins=parse_url(harmed.url).scheme in TWINS,
        grants=ENOUGH,
        porcupine=porcupine,
    )
    print(report)
    assert report.findings == []
    assert report.grants >= ENOUGH


def test_both_checks_find_who_held_a_name_beside_another(dice: random.Random, tmp_path: Path) -> None:
    program = find_built("porcupine")
    seed = dice.randrange(10**6)
    report = storm("memory://", seconds=0.5, seed=seed, grants=ENOUGH, folder=tmp_path, porcupine=program)
    assert report.findings == []
    events = read(tmp_path)
    held = dice.choice([each for each in turns(events) if each.granted and each.until > each.since])
    while_held = (held.since + held.until) / 2
    events += turn("x/1/a", held.asked_at, while_held, names=held.names, tokens=(2**62,) * len(held.names))
    assert {finding.name for finding in overlaps(turns(events))} == set(held.names)
    assert {finding.name for finding in recheck(events, program)} == set(held.names)
