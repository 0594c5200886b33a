"""Which tokens a session believes: what comes from a server may be late, twice, or a lie."""

from fencepost.core.claim import Mode, Request
from fencepost.core.token import LARGEST
from fencepost.errors import Unavailable

MOST_NAMES = 10_000


class Credence:
    """The highest token that was given for each of the names that were granted last, at most `MOST_NAMES` of them.

    In two generations: each grant puts its name into the younger, and the elder is forgotten as a whole. To move a name
    within one dictionary, it would be taken out first, and another thread would not find it.
    """

    __slots__ = ("_elder", "_younger")

    def __init__(self) -> None:
        self._younger: dict[str, int] = {}
        self._elder: dict[str, int] = {}

    def __len__(self) -> int:
        return len({**self._elder, **self._younger})

    def check(self, request: Request, tokens: tuple[int, ...]) -> None:
        """Take note of the tokens of a grant; `Unavailable` if it can not be one."""
        younger = self._younger
        for ask, token in zip(request.asks, tokens, strict=True):
            name = ask.name
            before = younger.get(name) or self._elder.get(name, 0)
            if not 0 < token <= LARGEST:
                raise Unavailable(f"the engine granted '{name}' with {token}, which is no token: nothing is held")
            if token > before:
                younger[name] = token
            elif ask.mode is not Mode.EXCLUSIVE:
                # Of those who share a name, one may hear of its grant after another that came later.
                younger[name] = before
            else:
                raise Unavailable(
                    f"the engine granted '{name}' with token {token}, though it had given {before} before: "
                    "an answer that came twice, or an engine that lost its memory; nothing is held"
                )
        if len(younger) >= MOST_NAMES // 2:
            self._elder = younger
            self._younger = {}
