"""What a service says of a token is not trusted: any answer is an answer, or says that the token is stale."""

from types import SimpleNamespace as Thing

import pytest

from fencepost.errors import Stale
from fencepost.fences.http import raise_if_stale

pytestmark = pytest.mark.unit


def answer(mark: str | None, shown: str | None = "6") -> Thing:
    asked = {} if shown is None else {"Fencing-Token": shown}
    said = {} if mark is None else {"Fencing-Mark": mark}
    return Thing(status_code=412, headers=said, request=Thing(url="http://a/b", headers=asked))


def test_a_mark_says_that_the_token_is_stale() -> None:
    with pytest.raises(Stale) as stale:
        raise_if_stale(answer("7"))
    assert (stale.value.token, stale.value.highest) == (6, 7)


@pytest.mark.parametrize("mark", [None, "", "0", "-7", "٣", "7, 8", "9" * 5000, str(2**63)])
def test_what_is_no_mark_says_nothing(mark: str | None) -> None:
    refused = answer(mark)
    assert raise_if_stale(refused) is refused


def test_who_has_shown_no_token_is_stale_beside_any_mark() -> None:
    with pytest.raises(Stale) as stale:
        raise_if_stale(answer("7", None))
    assert (stale.value.token, stale.value.highest) == (0, 7)
