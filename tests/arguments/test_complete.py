"""No public call, and no argument of one, is left out."""

import pytest

from tests.support.arguments.public import calls
from tests.support.arguments.table import EXEMPT, REFUSED

pytestmark = pytest.mark.unit


def test_every_public_call_has_a_row_for_each_of_its_arguments_or_a_reason_why_not() -> None:
    # Grows with the API: see tests/support/arguments/table.py.
    expected = {title: set(arguments) for title, arguments in calls().items() if title not in EXEMPT}
    assert {title: set(row) for title, row in REFUSED.items()} == expected


def test_a_reason_is_given_only_for_calls_that_there_are() -> None:
    assert set(EXEMPT) <= set(calls())
    assert all(EXEMPT.values())
