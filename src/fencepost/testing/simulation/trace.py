"""What happened in one schedule, in order."""

from collections.abc import Callable
from typing import Any

from fencepost.testing.simulation.loop import START


class Trace:
    """Lines that are the same in every run of a seed: tokens, which follow the date, stand there by their rank."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lines: list[tuple[float, str, tuple[Any, ...]]] = []
        self._ranks: dict[int, int] = {}

    def __call__(self, who: str, *what: Any) -> None:
        self._lines.append((self._now() - START, who, what))

    def token(self, token: int | None) -> str:
        """A token by the order in which tokens came to be seen."""
        return "none" if token is None else f"#{self._ranks.setdefault(token, len(self._ranks) + 1)}"

    def __str__(self) -> str:
        return "\n".join(f"{at:9.3f}  {who:8} {' '.join(map(str, what))}" for at, who, what in self._lines)
