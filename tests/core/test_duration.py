import math

import pytest

from fencepost.core.duration import check_seconds, check_timeout

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("value", [-1, -0.001, math.nan, math.inf, -math.inf])
def test_seconds_are_finite_and_not_negative(value: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        check_timeout(value)


@pytest.mark.parametrize("value", ["1", True, b"", []])
def test_seconds_are_a_number(value: object) -> None:
    with pytest.raises(TypeError, match="timeout is a number of seconds"):
        check_timeout(value)  # type: ignore[arg-type]


def test_none_is_no_limit_and_zero_is_fine() -> None:
    assert check_timeout(None) is None
    assert check_timeout(0) == 0.0
    assert check_seconds(2, "x") == 2.0
