import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.token import LARGEST, check_token, next_token

pytestmark = pytest.mark.unit


@given(st.lists(st.integers(0, 2**52)))
def test_tokens_grow_whatever_the_clock_does(clock: list[int]) -> None:
    last = 0
    for now_us in clock:
        token = next_token(last, now_us)
        assert token > last
        assert token >= now_us
        last = token


@pytest.mark.parametrize("token", [0, -1, LARGEST + 1])
def test_a_token_out_of_range_raises(token: int) -> None:
    with pytest.raises(ValueError, match="between 1 and"):
        check_token(token)


@pytest.mark.parametrize("token", ["1", 1.0, None, True])
def test_what_is_no_integer_is_no_token(token: object) -> None:
    with pytest.raises(TypeError, match=r"pass grant\.token"):
        check_token(token)  # type: ignore[arg-type]
