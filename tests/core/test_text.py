"""What is shown of names, labels and notes, which are other people's."""

import logging

import pytest

from fencepost.core import event
from fencepost.errors import AcquireTimeout, Stale, printable
from fencepost.instrumentation import log

pytestmark = pytest.mark.unit

FORGED = "a\nCRITICAL root: forged\x1b[2J"


def test_a_text_is_one_line_that_nothing_obeys() -> None:
    assert printable("plain é") == "plain é"
    assert printable("a\nb\r\t\x1b\x07\u202e\ud800") == r"a\nb\r\t\e\u0007\u202e\ud800"


def test_what_an_error_says_is_safe_to_show() -> None:
    assert str(AcquireTimeout(f"lock '{FORGED}' not acquired")).isprintable()
    assert str(Stale(FORGED, 1, 2)).isprintable()
    assert Stale(FORGED, 1, 2).name == FORGED


def test_a_name_forges_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for happened in (
            event.Lost(holder=FORGED, name=FORGED, token=1, reason=FORGED),
            event.Unsettled(holder=FORGED, names=(FORGED, FORGED), reason=FORGED),
            event.Waiting(holder=FORGED, names=(FORGED,)),
        ):
            log.write(happened)
    assert len(caplog.messages) == 3
    assert all(message.isprintable() for message in caplog.messages)
