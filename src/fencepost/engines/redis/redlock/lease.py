"""One lease as its engine knows it: what is asked on it, and which nodes have given their vote.

The session proves its grants by one deadline, counted from the send of its last renewal. A vote counts towards a grant
only if its own time to live began, or began anew, after that send: with the claim that got it, or with a renewal that
its node has answered.
"""

from math import inf
from typing import NamedTuple

from fencepost.core.claim import Mode, Request
from fencepost.core.holder import Holder
from fencepost.engines.redis.key import SINGLE, Place
from fencepost.engines.redis.lease import Epochs, members
from fencepost.engines.redis.nonce import LENGTH, Nonces
from fencepost.engines.redis.record import tail_of
from fencepost.engines.redis.redlock.ballot import Ballot
from fencepost.engines.redis.redlock.script import ASK, CLAIM, LEAVE
from fencepost.engines.redis.redlock.waiter import Waiter
from fencepost.engines.redis.resp import bulk
from fencepost.engines.redis.script import Script

CLAIM_HEAD = CLAIM.head(4, 7)
ASK_HEAD = ASK.head(2, 4)
# How much of one request may be owed an answer, each by itself.
MOST_OWED = 8
FLAGS = {(wait, opens): bulk(b"%d" % wait) + bulk(b"%d" % opens) for wait in (0, 1) for opens in (0, 1)}


class Vote(NamedTuple):
    """What a node proposed, and when we asked and heard of it."""

    token: int
    sent_at: float
    heard_at: float


class Entry:
    """A request that was sent: at each node a vote, a place in the queue, or nothing that we know of."""

    # Once granted.
    token: int | None = None
    waiter: Waiter | None = None
    looks = 0
    # How often it was asked for with a place in the queues.
    queued = 0

    def __init__(self, request: Request, place: Place, own: bytes, asked_at: float, nonces: list[bytes]) -> None:
        # For each node its own: who hears that of one must not speak for the others.
        self.nonces = nonces
        self.request = request
        self.place = place
        self.own = own
        self.asked_at = asked_at
        self.votes: dict[int, Vote] = {}
        # When the claim was sent that a node answered with a place in its queue.
        self.queued_at: dict[int, float] = {}
        # What was sent of it that may make it a holder or a waiter, and that not all nodes have answered.
        self.asked: list[Ballot] = []
        # No vote counts that we asked for before.
        self._given_at = 0.0
        self.alone = request.asks[0].mode is Mode.EXCLUSIVE
        # Whether it was asked to go on as a reader: at each node it may be one, or not yet.
        self.shared = False

    @property
    def name(self) -> str:
        return self.request.asks[0].name

    def ask(self, ballot: Ballot) -> list[Ballot]:
        """About to be asked for; those before it whose words may still be on their way."""
        before = [each for each in self.asked if any(each.ways)] if self.asked else []
        if len(before) > MOST_OWED:
            # A node that is stopped owes more with each renewal, for as long as the grant is held.
            before = [Ballot.of_all(before[:-1]), before[-1]]
        self.asked = [*before, ballot]
        return before

    def hear_vote(self, node: int, token: int, now: float) -> None:
        """A node tells that its vote has come to us: after it answered that we had to wait for it."""
        self.note_vote(node, Vote(token, self.queued_at.get(node, self.asked_at), now))

    def note_vote(self, node: int, vote: Vote) -> None:
        if vote.sent_at >= self._given_at:
            self.votes[node] = vote

    def give_votes(self) -> frozenset[int]:
        """The nodes whose votes we are about to give to another: none counts any more, nor what is said of them now."""
        given = frozenset(self.votes)
        self._given_at = inf
        self.votes = {}
        return given

    def trust(self, now: float) -> None:
        """Each has given its vote to another, or will not do so any more once it hears what is asked from now on."""
        self._given_at = now

    def holds(self, token: int, majority: int) -> bool:
        """Whether a majority has voted for us with that token."""
        return sum(vote.token == token for vote in list(self.votes.values())) >= majority

    def lose_vote(self, node: int, sent_at: float) -> None:
        """The node says, asked at `sent_at`, that its vote is not ours. It may have given it since."""
        vote = self.votes.get(node)
        if vote is not None and vote.heard_at < sent_at:
            self.votes.pop(node, None)


class Lease:
    def __init__(self, holder: Holder, ttl: float, channel: str, size: int) -> None:
        self.holder = holder
        self.size = size
        self.id = holder.id.encode()
        self.epochs = Epochs()
        self.ttl = max(1, int(ttl * 1000))
        self.entries: dict[int, Entry] = {}
        # What was given up, until a majority has confirmed that: asked again, it must be known as it was.
        self.leaving: dict[int, Entry] = {}
        # The nodes that know of this lease.
        self.nodes: set[int] = set()
        # When the last renewal was sent that a majority answered, and for each node the last that it answered.
        self.base = 0.0
        self.confirmed: dict[int, float] = {}
        self.key = SINGLE.lease(holder.id)
        self._channel = channel.encode() + b","
        self._nonces = Nonces()
        self._middle = bulk(self.key) + bulk(SINGLE.mark)
        self._tail = tail_of(holder.label, "")
        self._end = self._ending(self._tail)

    def _ending(self, tail: bytes) -> bytes:
        """What comes before the nonce, in the same word as the channel."""
        words = bulk(b":" + tail) + bulk(b"%d" % self.ttl)
        return b"%b$%d\r\n%b" % (words, len(self._channel) + LENGTH, self._channel)

    def note(self, request: Request, place: Place, now: float) -> Entry:
        """Before anything is sent: from now on renewals cover it, whatever becomes of the answer."""
        nonces = [self._nonces.next() for _ in range(self.size)]
        entry = Entry(request, place, b"fp:%b:%d:" % (self.id, request.serial), now, nonces)
        self.entries[request.serial] = entry
        return entry

    def give_up(self, serial: int) -> Entry | None:
        """From now on it is renewed no more."""
        entry = self.entries.pop(serial, None)
        if entry is not None:
            self.leaving[serial] = entry
        return self.leaving.get(serial)

    def claim(self, entry: Entry, *, wait: bool) -> tuple[Script, list[bytes]]:
        """For each node the call that claims its vote, and opens the lease where it may be unknown."""
        place, own = entry.place, entry.own
        script: Script
        if entry.alone:
            note = entry.request.asks[0].note
            end = self._ending(self._tail + note.encode()) if note else self._end
            start = b"%b%b%b$%d\r\n%b\r\n%b" % (CLAIM_HEAD, place.pair, self._middle, len(own), own, end)
            starts = [b"%b%b\r\n" % (start, nonce) for nonce in entry.nonces]
            script = CLAIM
        else:
            start = ASK_HEAD + place.lock_bulk + bulk(SINGLE.mark)
            starts = [start + bulk(self.member(entry, node)) for node in range(self.size)]
            script = ASK
        known = FLAGS[wait, False] + self.epochs.bulk
        if len(self.nodes) == self.size:
            return script, [each + known for each in starts]
        unknown = FLAGS[wait, True] + self.epochs.bulk
        return script, [each + (known if node in self.nodes else unknown) for node, each in enumerate(starts)]

    def member(self, entry: Entry, node: int) -> bytes:
        """The entry as it stands in the queue of that node."""
        channel = self._channel + entry.nonces[node]
        if entry.alone:
            note = entry.request.asks[0].note.encode()
            return b"%b%d:%b:x:%b%b" % (entry.own[3:], self.ttl, channel, self._tail, note)
        return members(self.holder, entry.request, self.ttl, channel)[0]

    def leave(self, entry: Entry) -> list[bytes]:
        """For each node the call that leaves nothing of the entry there."""
        keys = [self.key, entry.place.lock]
        return [
            LEAVE.pack(keys, SINGLE.prefix, "", self.epochs.now, self.member(entry, node)) for node in range(self.size)
        ]

    def close(self) -> list[bytes]:
        """For each node the call that leaves nothing of the lease there."""
        entries = list({**self.leaving, **self.entries}.values())
        keys = [self.key, *(entry.place.lock for entry in entries)]
        return [
            LEAVE.pack(keys, SINGLE.prefix, "close", self.epochs.now, *(self.member(each, node) for each in entries))
            for node in range(self.size)
        ]

    def value(self, entry: Entry) -> bytes:
        """The entry as the lock that it holds alone."""
        return b"%b%d:%b%b" % (entry.own, entry.token or 0, self._tail, entry.request.asks[0].note.encode())

    def proven(self, entry: Entry, since: float | None = None) -> dict[int, int]:
        """The tokens of the votes that live as long as a renewal sent at `since`, by default the last, makes them."""
        base = self.base if since is None else since
        confirmed = self.confirmed
        return {
            node: vote.token
            for node, vote in entry.votes.copy().items()
            if vote.sent_at >= base or confirmed.get(node, 0.0) >= base
        }
