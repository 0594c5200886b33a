"""A property of bytes, on two courses: a few examples as a unit test, and many wherever `make soak` repeats it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

Check = Callable[..., None]


def tried(few: int, many: int, *known: dict[str, Any], **drawn: st.SearchStrategy[Any]) -> Callable[[Check], Check]:
    """The test that `check` holds for whatever is drawn: in `few` examples, and in `many` marked `storm`.

    Before these it holds for what is `known` to have failed.
    """

    def decorate(check: Check) -> Check:
        courses = [
            pytest.param(_course(check, few, known, drawn), id="few", marks=pytest.mark.unit),
            pytest.param(_course(check, many, known, drawn), id="many", marks=[pytest.mark.slow, pytest.mark.storm]),
        ]

        @pytest.mark.parametrize("course", courses)
        def test(course: Callable[[], None]) -> None:
            course()

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


def _course(
    check: Check, count: int, known: tuple[dict[str, Any], ...], drawn: dict[str, st.SearchStrategy[Any]]
) -> Callable[[], None]:
    course: Callable[[], None] = settings(max_examples=count)(given(**drawn)(check))
    for each in known:
        course = example(**each)(course)
    return course


# How long the pieces are that bytes come in, again and again.
sizes = st.lists(st.integers(1, 60), min_size=1, max_size=4)


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    """The same in pieces of these sizes in turn."""
    found: list[bytes] = []
    at = 0
    while at < len(data):
        size = sizes[len(found) % len(sizes)]
        found.append(data[at : at + size])
        at += size
    return found


@st.composite
def harmed(draw: st.DrawFn, whole: st.SearchStrategy[bytes], *junk: bytes) -> bytes:
    """`whole` with up to three places where bytes are missing, others, or too many; `junk` is what may stand there."""
    data = bytearray(draw(whole))
    other = st.binary(max_size=3) | st.sampled_from([*junk, b"", b"\0", b"\xff"])
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.sampled_from([0, 1, 1, 2, 5]))] = draw(other)
    return bytes(data)
