"""A storm from its beginning to its end."""

import json
from pathlib import Path

import pytest

from fencepost.testing.storm import Finding, storm

pytestmark = pytest.mark.slow


def test_a_storm_goes_on_until_there_were_as_many_grants_as_are_to_be_seen() -> None:
    short = storm("memory://", seconds=0.1)
    wanted = 3 * short.grants
    long = storm("memory://", seconds=0.1, grants=wanted)
    assert long.findings == []
    assert long.grants >= wanted


def test_what_a_second_check_finds_is_in_the_report(tmp_path: Path) -> None:
    stuck = {"do": "acquire", "owner": "x", "mode": "shared", "token": 7, "call": 10**9, "return": 2 * 10**9}
    verdict = json.dumps({"name": "a", "result": "Illegal", "stuck": stuck})
    script = tmp_path / "checker"
    script.write_text(f"#!/bin/sh\ncat >/dev/null\necho '{verdict}'\nexit 1\n")
    script.chmod(0o700)
    report = storm("memory://", seconds=0.1, porcupine=str(script))
    what = "acquire by x (shared, token 7) fits nowhere from 1.000 to 2.000"
    assert report.findings == [Finding("no order", "a", what)]
