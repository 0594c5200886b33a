"""What was made of values that come again and again, and may be anybody's."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
# Below that size. Ours are seldom larger; a stranger's may be as large as its store lets them be.
SMALL = 4096
MOST = 10_000


def remembered(size: Callable[..., int]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep what the function has answered last, for what is small; `size` is told the same arguments."""

    def keeping(function: Callable[P, T]) -> Callable[P, T]:
        kept = lru_cache(maxsize=MOST)(function)

        @wraps(function)
        def recall(*args: P.args, **named: P.kwargs) -> T:
            return kept(*args, **named) if size(*args, **named) < SMALL else function(*args, **named)  # type: ignore[arg-type]

        return recall

    return keeping
