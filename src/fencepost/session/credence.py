"""Which tokens a session believes: what comes from a server may be late, twice, or a lie."""

from fencepost.core.claim import Mode, Request
from fencepost.core.token import LARGEST
from fencepost.errors import Unavailable

MOST_NAMES = 10_000


class Credence:
    """The highest token that was given for each of the names that were granted last, at most `MOST_NAMES` of them."""

    __slots__ = ("_highest",)

    def __init__(self) -> None:
        self._highest: dict[str, int] = {}

    def check(self, request: Request, tokens: tuple[int, ...]) -> None:
        """Take note of the tokens of a grant; `Unavailable` if it can not be one."""
        highest = self._highest
        for ask, token in zip(request.asks, tokens, strict=True):
            name = ask.name
            before = highest.get(name, 0)
            if not 0 < token <= LARGEST:
                raise Unavailable(f"the engine granted '{name}' with {token}, which is no token: nothing is held")
            if token > before:
                highest[name] = token
            elif ask.mode is Mode.EXCLUSIVE:
                # Of those who share a name, one may hear of its grant after another that came later.
                raise Unavailable(
                    f"the engine granted '{name}' with token {token}, though it had given {before} before: "
                    "an answer that came twice, or an engine that lost its memory; nothing is held"
                )
        if len(highest) > MOST_NAMES:
            for name in list(highest)[: MOST_NAMES // 2]:
                highest.pop(name, None)
