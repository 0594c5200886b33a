"""What comes from a server is not trusted: whatever is no answer is told as such, and quickly."""

import struct
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost import Unavailable
from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper.frame import Intake

pytestmark = pytest.mark.unit

DECODERS: list[Callable[[bytes], object]] = [
    jute.header,
    jute.connected,
    jute.created,
    jute.node,
    jute.stat,
    jute.strings,
    jute.failure,
    jute.event,
    jute.token,
]


@pytest.mark.parametrize("length", [-1, -4, -5, -(2**31), 2**31 - 1])
def test_a_list_with_a_length_that_can_not_be_is_malformed(length: int) -> None:
    with pytest.raises(jute.Malformed):
        jute.strings(struct.pack(">ii", 2**31 - 1, length))


@pytest.mark.parametrize("decode", DECODERS, ids=lambda decode: decode.__name__)
@given(
    body=st.binary(max_size=120) | st.lists(st.integers(-8, 8)).map(lambda them: struct.pack(f">{len(them)}i", *them))
)
def test_bad_bytes_are_malformed_and_nothing_else(decode: Callable[[bytes], object], body: bytes) -> None:
    with suppress(jute.Malformed):
        decode(body)


def test_what_is_malformed_is_unavailable_to_whoever_asked_and_ends_the_connection_of_whoever_reads() -> None:
    assert issubclass(jute.Malformed, Unavailable)
    assert issubclass(jute.Malformed, ValueError)


@given(st.lists(st.integers(-2, 40)).map(lambda them: struct.pack(f">{len(them)}i", *them)))
def test_whatever_comes_in_is_taken_or_malformed(data: bytes) -> None:
    intake = Intake(lambda path, gone: None)
    with suppress(ValueError):
        intake.feed(data)
