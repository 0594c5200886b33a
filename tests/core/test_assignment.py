from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.assignment import assigned

pytestmark = pytest.mark.unit

present = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)


@given(st.integers(1, 40), present)
def test_shares_differ_by_one_at_most(count: int, ids: list[str]) -> None:
    shares = Counter(assigned([None] * count, ids))
    sizes = [shares.get(id, 0) for id in ids]
    assert sum(sizes) == count
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 40), present, present)
def test_no_more_moves_than_it_takes(count: int, before: list[str], after: list[str]) -> None:
    old = assigned([None] * count, before)
    new = assigned(old, after)
    sizes = Counter(new)
    assert max(sizes.get(id, 0) for id in after) - min(sizes.get(id, 0) for id in after) <= 1
    moved = sum(1 for one, other in zip(old, new, strict=True) if one != other)
    # What the absent had must move; of the others, only what is above the new largest shares.
    orphans = sum(1 for owner in old if owner not in after)
    ranked = sorted((sum(1 for owner in old if owner == id) for id in after), reverse=True)
    least, extra = divmod(count, len(after))
    surplus = sum(max(0, size - least - (place < extra)) for place, size in enumerate(ranked))
    assert moved == orphans + surplus


def test_nothing_moves_when_nobody_comes_or_goes() -> None:
    owners = assigned([None] * 7, ["a", "b", "c"])
    assert assigned(owners, ["c", "a", "b"]) == owners


def test_without_members_nobody_owns_anything() -> None:
    assert assigned(["a", "a"], []) == [None, None]
