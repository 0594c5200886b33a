"""The counts, as far as they take no time; and what they would find."""

import pytest

from fencepost import AcquireTimeout, Session, connect
from fencepost.testing.contract import SITES
from tools import endure


@pytest.mark.parametrize("what", endure.COUNTS)
def test_what_is_counted_is_counted_to_the_end(what: str) -> None:
    with SITES["sqlite"]() as site:
        assert str(endure.count(what, site.url, 8, seed=1)).startswith(f"8 {what} in ")


@pytest.mark.unit
def test_a_token_that_is_not_higher_than_the_last_is_found() -> None:
    resource = endure.Resource()
    resource.show("a", 7)
    resource.show("b", 7)
    resource.show("a", 8)
    with pytest.raises(AssertionError, match="token 8 of 'a' after 8"):
        resource.show("a", 8)


@pytest.mark.unit
def test_what_a_cancelled_task_left_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endure, "AT_ONCE", 0.1)
    with SITES["memory"]() as site, connect(site.url) as somebody, pytest.raises(AcquireTimeout):
        hold(somebody)
        endure.count("cancellations", site.url, 1, seed=1)


def hold(session: Session) -> None:
    session.lock(endure.NAMES[-1]).acquire()
