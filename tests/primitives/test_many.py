"""Many names at once."""

import pytest

from fencepost import connect
from fencepost.primitives._sync import grants
from fencepost.session._sync.grant import Grant

pytestmark = pytest.mark.unit


def test_to_give_back_many_names_none_is_sought_among_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sought = 0

    class Listed(list[Grant]):
        def __contains__(self, grant: object) -> bool:
            nonlocal sought
            sought += 1
            return super().__contains__(grant)

    together = grants.of_one_request
    monkeypatch.setattr(grants, "of_one_request", lambda held: Listed(together(held)))
    with connect("memory://many") as session:
        held = session.lock_all([f"name {number}" for number in range(20)]).acquire()
        held.release()
        assert sought == 0
        assert held.released
