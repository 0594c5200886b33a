"""A history in files: what was written before a kill is there."""

from pathlib import Path

import pytest

from fencepost.testing.storm.history import SUFFIX, Asked, Deed, Event, Got, Log, concerns, read

pytestmark = pytest.mark.unit


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    events: list[Event] = [Asked(1.5, "x/1/a", ("a", "b")), Got(2.0, "x/1/a", (3, 2**62))]
    log = Log(tmp_path, "x/1")
    for event in events:
        log.write(event)
    log.close()
    other = Log(tmp_path, "y")
    other.write(Deed(1.0, "", "kill", 2.0))
    other.close()
    assert read(tmp_path) == [*events, Deed(1.0, "", "kill", 2.0)]


def test_a_line_that_was_being_written_at_a_kill_is_left_out(tmp_path: Path) -> None:
    log = Log(tmp_path, "x")
    log.write(Asked(1.5, "x/1/a", ("a",)))
    log.close()
    with (tmp_path / f"x{SUFFIX}").open("a") as file:
        file.write('{"kind": "Go')
    assert read(tmp_path) == [Asked(1.5, "x/1/a", ("a",))]


def test_what_concerns_a_process_concerns_its_flows_and_no_process_with_a_longer_number() -> None:
    assert [who for who in ("x", "x/1", "x/1/a", "x/11/a") if concerns("x/1", who)] == ["x/1", "x/1/a"]
    assert concerns("", "x/1")
