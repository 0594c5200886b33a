"""Which engines a test of the contract is about, said where the test is declared.

The plugin leaves a test out at all others when it collects: none passes without having tested anything.
"""

from collections.abc import Iterable

import pytest

from fencepost.core.traits import Traits

NEEDS, LACKS = "fencepost_needs", "fencepost_lacks"


def needs(*traits: str, **levels: str) -> pytest.MarkDecorator:
    """For engines that have these traits, and these levels of others at least."""
    mark: pytest.MarkDecorator = getattr(pytest.mark, NEEDS)
    return mark(*traits, **levels)


def lacks(*traits: str, **levels: str) -> pytest.MarkDecorator:
    """For engines that have none of these traits, and are below these levels of others."""
    mark: pytest.MarkDecorator = getattr(pytest.mark, LACKS)
    return mark(*traits, **levels)


def is_about(marks: Iterable[pytest.Mark], traits: Traits) -> bool:
    """Whether a test with these marks is about an engine with these traits."""
    for mark in marks:
        if mark.name == NEEDS and (traits.shortfalls(mark.kwargs) or not all(_given(mark, traits))):
            return False
        if mark.name == LACKS and (any(_given(mark, traits)) or len(traits.shortfalls(mark.kwargs)) < len(mark.kwargs)):
            return False
    return True


def _given(mark: pytest.Mark, traits: Traits) -> list[object]:
    return [getattr(traits, trait) for trait in mark.args]
