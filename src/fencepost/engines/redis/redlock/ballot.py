"""One question to all nodes, and when its answer is known: often before the last of them has answered."""

from collections.abc import Callable, Collection, Sequence

from fencepost.engines.redis.resp import Reply
from fencepost.engines.redis.trouble import shared_cause
from fencepost.errors import EngineError, Refused, Unavailable

# How long whoever is patient hears on.
GRACE = 0.05
# The way of what is still to be sent.
PENDING = object()
# The way of what several asked, and nobody knows any more on which: it is not that of what is said now.
LOST = object()
VOID = "a node has heard more of this lease than we have said"


class Ballot:
    """Collects what nodes say until `need` of them say aye, or that can not come any more.

    A no needs as many answers as an aye does: what fewer nodes know of is not safe from the loss of the others.
    Whoever is `patient` hears after a no what the others say, too, for a little while: one of them may have said aye.
    `asked` are the nodes that are asked; by default all. `ways` are the connections on which they still owe an answer,
    also to whoever has gone on since: what was said on them may come late.
    """

    __slots__ = (
        "_is_aye",
        "_left",
        "asked",
        "ayes",
        "crew",
        "decided",
        "failures",
        "is_known",
        "need",
        "patient",
        "replies",
        "ways",
    )

    def __init__(
        self,
        size: int,
        need: int,
        is_aye: Callable[[Reply], bool],
        asked: Collection[int] | None = None,
        *,
        patient: bool = False,
    ) -> None:
        self._is_aye = is_aye
        self.need = need
        # Its own: whoever asks may go on with theirs.
        self.asked: Collection[int] = range(size) if asked is None else tuple(asked)
        self._left = len(self.asked)
        self.ayes = 0
        self.replies: list[Reply | None] = [None] * size
        self.failures: dict[int, EngineError] = {}
        self.decided = need <= 0
        self.patient = patient
        # Whether the answer is known, though there is more to hear.
        self.is_known = False
        self.ways: list[object | None] = [None] * size
        # Whose connections they are, where there are several sets of them.
        self.crew: object = None

    def hear(self, node: int, reply: Reply) -> bool:
        """Whether the answer is known now."""
        self._left -= 1
        self.replies[node] = reply
        self.ways[node] = None
        if is_void(reply):
            self.failures[node] = Unavailable(VOID)
        elif self._is_aye(reply):
            self.ayes += 1
            if self.ayes >= self.need:
                self.decided = True
                return True
        return self._decide()

    def fail(self, node: int, error: EngineError) -> bool:
        """A node does not answer, or with an error."""
        self._left -= 1
        self.failures[node] = error
        return self._decide()

    def _decide(self) -> bool:
        self.is_known = self.ayes + self._left < self.need <= self.answered
        self.decided = self.decided or not self._left or (self.is_known and not self.patient)
        return self.decided

    def may_overtake(self, node: int, way: object) -> bool:
        """Whether what is said to a node on that way may be heard there before what was said in this ballot."""
        return self.ways[node] is not None and self.ways[node] is not way

    @classmethod
    def of_all(cls, ballots: "Sequence[Ballot]") -> "Ballot":
        """One in place of several: what was said in it may come late to the nodes that owe any of them an answer."""
        size = len(ballots[0].ways)
        one = cls(size, 0, any_reply, ())
        one.ways = [LOST if any(each.ways[node] for each in ballots) else None for node in range(size)]
        return one

    @property
    def answered(self) -> int:
        return len(self.asked) - self._left - len(self.failures)

    @property
    def pending(self) -> list[int]:
        """Those of whom nothing is known yet."""
        return [node for node in self.asked if self.replies[node] is None and node not in self.failures]

    def check(self, majority: int) -> None:
        """Raise unless a majority has answered."""
        if self.answered < majority:
            raise self.trouble(majority)

    def trouble(self, majority: int) -> EngineError:
        why = "; ".join(str(error) for error in self.failures.values()) or "the others did not answer in time"
        # What stays as it is until somebody changes something; but a node that is down may come back.
        final = bool(self.failures) and all(isinstance(error, Refused) for error in self.failures.values())
        kind = Refused if final else Unavailable
        found = kind(f"{self.answered} of {len(self.replies)} nodes answered, and {majority} are needed: {why}")
        found.__cause__ = shared_cause(self.failures.values())
        return found


def any_reply(reply: Reply) -> bool:
    return True


def is_vote(reply: Reply) -> bool:
    """Whether this answer to a claim is the node's vote."""
    return type(reply) is int or reply[0] == 1


def is_void(reply: Reply) -> bool:
    """Whether a claim came to a node after its lease had gone on: see lua/queue.lua. It is no answer."""
    return type(reply) is list and reply[:1] == [-2]


def is_one(reply: Reply) -> bool:
    return bool(reply == 1)
