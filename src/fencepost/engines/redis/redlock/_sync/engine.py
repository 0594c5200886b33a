# Generated from src/fencepost/engines/redis/redlock/_async/engine.py by tools/unasync.py. Do not edit: run `make gen`.
"""The engine on N independent Redis or Valkey servers: Redlock, with a queue at each node and a token on each grant.

What holds: a grant has the votes of a majority of nodes, each for a full time to live, and a token above all earlier
ones of its name, which a majority has accepted; so it survives the loss of any minority. Whoever stood in the queues of
a majority before another came is served before it, and is told by the nodes themselves.

What breaks it: a node whose clock jumps ahead lets its votes go early, and a node that restarts without its data has
forgotten them. Either can make two holders. Their tokens are in order all the same, as long as nodes keep their data
or clocks agree, and a fence refuses the older. docs/engines/redlock.md says more.
"""

import random
import secrets
from collections.abc import Callable, Collection, Sequence
from typing import ClassVar

from fencepost._runtime import threads as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.backoff import backoff
from fencepost.core.claim import Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.engines.redis import record
from fencepost.engines.redis.key import SINGLE, Place
from fencepost.engines.redis.lease import Epochs, members
from fencepost.engines.redis.redlock._sync.census import names
from fencepost.engines.redis.redlock.agreement import agree
from fencepost.engines.redis.redlock.answer import agreed, ahead, note_votes
from fencepost.engines.redis.redlock.ballot import Ballot, any_reply, is_one, is_void, is_vote
from fencepost.engines.redis.redlock.fleet import threads as fleet
from fencepost.engines.redis.redlock.lease import Entry, Lease
from fencepost.engines.redis.redlock.renewal import LOST, compose, judge
from fencepost.engines.redis.redlock.roster import roster
from fencepost.engines.redis.redlock.script import ACCEPT, EVICT, LEAVE, RELEASE, RENEW, SHARE, YIELD
from fencepost.engines.redis.redlock.tally import Tally
from fencepost.engines.redis.redlock.waiter import Waiter
from fencepost.engines.redis.resp import Reply, bulk
from fencepost.engines.redis.script import LOOK, OPEN
from fencepost.engines.redis.waiter import news_of
from fencepost.errors import EngineError, Refused, Unavailable

AUDIT_LENGTH = 1000
MOST_PLACES = 10_000
RELEASE_HEAD = RELEASE.head(3, 2)
RELEASE_LATE_HEAD = RELEASE.head(3, 3)
MARK = bulk(SINGLE.mark)
FORGOTTEN = "a majority of nodes has no lease of this holder: it ended, or they lost their memory"


class RedlockEngine:
    traits: ClassVar[Traits] = Traits(
        scope="network",
        fencing="clock",
        survives="minority",
        order="arrival",
        death="lease",
        # A majority of votes for each of several holders is more than a limit allows.
        counted=False,
        together=False,
        ttl_floor=0.1,
        neighbours=("redlock-py",),
    )

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        nodes, timeout, self._prefix = where = roster(url, patience)
        self._size = len(nodes)
        self._majority = where.majority
        self._now = clock.now
        self._fleet = fleet.Fleet(nodes, timeout)
        channel = f"fencepost-{secrets.token_hex(8)}"
        self._ears = fleet.Ears(nodes, timeout, self._majority, channel, self._deliver)
        self._leases: dict[str, Lease] = {}
        self._places: dict[str, Place] = {}

    # Leases

    def lease_open(self, holder: Holder, ttl: float) -> None:
        lease = Lease(holder, ttl, self._ears.channel, self._size)
        lease.base = self._now()
        ballot = self._ballot(any_reply)
        self._fleet.ask(OPEN, [OPEN.pack([lease.key], lease.ttl)] * self._size, ballot)
        ballot.check(self._majority)
        lease.nodes.update(node for node, reply in enumerate(ballot.replies) if reply is not None)
        self._leases[holder.id] = lease

    def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        lease = self._leases.get(holder.id)
        if lease is None:
            return Renewal(alive=False)
        lease.ttl = max(1, int(ttl * 1000))
        sent_at = self._now()
        ballot = self._ballot(any_reply, self._size)
        commands, subjects = compose(lease, self._size, ballot)
        self._fleet.ask(RENEW, commands, ballot)
        verdict = judge(lease, subjects, ballot.replies, sent_at, self._majority)
        if not verdict.alive:
            self._forget(lease, FORGOTTEN)
            return Renewal(alive=False)
        for serial, _ in verdict.gone:
            lease.entries.pop(serial, None)
        if verdict.unsure:
            ballot.check(self._majority)
            raise Unavailable("too few nodes answered to tell whether a majority of them still has all that is held")
        lease.base = sent_at
        known = {(serial, entry.name) for serial, entry in lease.entries.copy().items()}
        lost = {(each.serial, each.name): LOST for each in claims if (each.serial, each.name) not in known}
        return Renewal(True, tuple((*key, reason) for key, reason in (lost | verdict.gone).items()))

    def lease_close(self, holder: Holder) -> None:
        lease = self._leases.get(holder.id) or Lease(holder, 0, "", self._size)
        # All of them, not only a majority: after this the connections may be closed, with all that is on its way.
        ballot = self._ballot(any_reply, self._size)
        try:
            commands = lease.close()
            self._forget(lease, "the lease was closed")
            self._fleet.ask(LEAVE, commands, ballot)
        except EngineError:
            raise
        except BaseException:
            # Whoever is interrupted here closes it again, and then it must be known what is to be given back.
            self._leases[holder.id] = lease
            raise
        ballot.check(self._majority)

    # Claims

    def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        lease = self._leases.get(request.holder.id)
        if lease is None:
            return Gone(FORGOTTEN)
        entry = lease.entries.get(request.serial)
        if entry is not None and entry.shared:
            # Never claimed anew: a node where it is a reader still would take that for a vote to hold it alone.
            return Granted((entry.token or 0,)) if self._share(entry) else Gone(LOST)
        if entry is None:
            if len(request.asks) > 1:
                raise Refused("redlock:// grants one name at a time: ask for them one by one, all in the same order")
            entry = lease.note(request, self._place(request.asks[0].name), self._now())
        elif wait and not self._ears.is_open:
            # It may have places: asking without them would lose them.
            self._ears.open()
        # Ask without a place first: where nobody is in the way there is nothing to listen for.
        listening = self._ears.is_open
        epoch = lease.epochs.now
        waits = wait and listening
        script, commands = lease.claim(entry, wait=waits)
        entry.queued += waits
        # Whoever has to wait has the time to hear all: a vote that it did not hear of would be lost to everybody.
        ballot = Ballot(self._size, self._majority, is_vote, patient=waits)
        sent_at = self._now()
        self._fleet.ask(
            script, commands, ballot, entry.ask(ballot), lambda: self._claim_late(lease, entry, wait=waits)
        )
        unknown = note_votes(lease, entry, ballot.replies, sent_at, self._now())
        if entry.token is not None and not entry.holds(entry.token, self._majority):
            # Asked again after it was granted, and taken away meanwhile: whatever comes now is another grant.
            entry.token = None
        if len(lease.proven(entry)) >= self._majority:
            return self._win(lease, entry)
        if unknown >= self._majority:
            self._forget(lease, FORGOTTEN)
            return Gone(FORGOTTEN)
        if any(map(is_void, ballot.replies)):
            if epoch != lease.epochs.now:
                # Another thread's claim was given up while this was on its way: it did nothing there.
                return self.claim(request, wait=wait)
            if ballot.answered < self._majority:
                lease.epochs.advance()
        ballot.check(self._majority)
        if not wait:
            return self._refuse(lease, entry, ballot)
        if not listening:
            self._ears.open()
            return self.claim(request, wait=True)
        self._ears.mend()
        return self._queue(lease, entry, ballot)

    def _claim_late(self, lease: Lease, entry: Entry, *, wait: bool) -> list[bytes]:
        lease.epochs.advance()
        return lease.claim(entry, wait=wait)[1]

    def _leave_late(self, lease: Lease, entry: Entry) -> list[bytes]:
        lease.epochs.advance()
        return lease.leave(entry)

    def _win(self, lease: Lease, entry: Entry) -> Granted:
        """A majority of votes is ours: make sure that one also stands behind the token."""
        if entry.token is None:
            token, complete = agree(lease.proven(entry).values(), self._majority)
            if not complete:
                token = self._settle_token(lease, entry)
            entry.token = token
            entry.waiter = None
        return Granted((entry.token,))

    def _settle_token(self, lease: Lease, entry: Entry) -> int:
        """Write the highest proposal back, unless a majority is behind one after all."""
        if entry.waiter is not None:
            self._hear_all(lease, entry)
        proposals = lease.proven(entry)
        if len(proposals) < self._majority:
            raise Unavailable("votes were lost before a majority of nodes could accept their token")
        token, complete = agree(proposals.values(), self._majority)
        if complete:
            return token
        behind = {node for node, proposal in proposals.items() if proposal == token}
        ballot = self._ballot(is_one, self._majority - len(behind), set(range(self._size)) - behind)
        keys = [entry.place.lock, SINGLE.prefix + b"hold\0" + entry.place.lock, SINGLE.mark]
        self._fleet.ask(ACCEPT, [ACCEPT.pack(keys, entry.own[3:-1], token)] * self._size, ballot)
        if ballot.ayes < ballot.need:
            accepted = len(behind) + ballot.ayes
            raise Unavailable(f"{accepted} nodes accepted the token, and {self._majority} are needed")
        for node, reply in enumerate(ballot.replies):
            if reply == 1 and node in entry.votes:
                entry.votes[node] = entry.votes[node]._replace(token=token)
        return token

    def _hear_all(self, lease: Lease, entry: Entry) -> None:
        """Who came by its votes while it waited may have been seen with a token: hear all that others could see."""
        script, commands = lease.claim(entry, wait=self._ears.is_open)
        ballot = self._ballot(is_vote, self._size)
        sent_at = self._now()
        self._fleet.ask(
            script,
            commands,
            ballot,
            entry.ask(ballot),
            lambda: self._claim_late(lease, entry, wait=self._ears.is_open),
        )
        note_votes(lease, entry, ballot.replies, sent_at, self._now())

    def _refuse(self, lease: Lease, entry: Entry, ballot: Ballot) -> Busy:
        """Give back at once the votes that were not enough, and those that may be on their way."""
        lease.entries.pop(entry.request.serial, None)
        late = {*ballot.pending, *ballot.failures}
        if entry.votes or late:
            leaving = self._ballot(any_reply, len(entry.votes), late | entry.votes.keys())
            self._fleet.ask(
                LEAVE,
                lease.leave(entry),
                leaving,
                entry.asked,
                lambda: self._leave_late(lease, entry),
            )
        return Busy(ahead(entry, ballot.replies, self._majority))

    def _queue(self, lease: Lease, entry: Entry, ballot: Ballot) -> Queued:
        replies = ballot.replies
        waiter = entry.waiter = entry.waiter or Waiter()
        answers = [reply for reply in replies if type(reply) is list and reply[0] == 0]
        # The end of a lease is pushed by nobody, nor is a stranger's release: whoever is first looks for it.
        left = [reply[1] / 1000 for reply in answers if reply[1] >= 0]
        again = min(left, default=lease.ttl / 1000) + random.uniform(0.001, 0.005)
        if entry.votes or any(reply[2] for reply in answers):
            again = min(again, backoff(entry.looks, random.random(), first=0.01, most=0.1))
            entry.looks += 1
        elif any(ballot.ways):
            # A node that has not answered yet may have given us its vote, and nobody will tell us.
            again = min(again, backoff(entry.looks, random.random(), first=0.01, most=1.0))
            entry.looks += 1
        waiter.again_at = self._now() + again
        return Queued(entry.request, ahead(entry, replies, self._majority), entry)

    def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        entry: Entry = queued.place
        until = self._now() + timeout
        while True:
            lease = self._leases.get(queued.request.holder.id)
            waiter = entry.waiter
            if lease is None or waiter is None:
                return Granted((entry.token,)) if entry.token is not None else Gone(FORGOTTEN)
            self._ears.wait(waiter, until)
            if waiter.over is not None:
                return Gone(waiter.over)
            waiter.news = False
            if len(lease.proven(entry)) >= self._majority:
                return self._win(lease, entry)
            if entry.votes:
                self._give_way(lease, entry)
            answer = self.claim(queued.request, wait=True)
            if not isinstance(answer, Queued):
                return Gone(FORGOTTEN) if isinstance(answer, Busy) else answer
            if self._now() >= until:
                return answer
            queued = answer

    def _give_way(self, lease: Lease, entry: Entry) -> None:
        """Some votes, and not enough: unless they are ours to keep, let another have them, and stand behind it."""
        tally = self._tally(entry.name)
        rival = tally.rival((lease.holder.id, entry.request.serial))
        if rival is None:
            return
        other = b"%b:%d:" % (rival[0].encode(), rival[1])
        keys = [entry.place.lock, SINGLE.index]
        given = entry.give_votes()
        ballot = self._ballot(any_reply, len(given), given)
        epoch = lease.epochs.now
        commands = [YIELD.pack(keys, lease.member(entry, node), other, epoch) for node in range(self._size)]
        try:
            self._fleet.ask(YIELD, commands, ballot)
        finally:
            if ballot.answered < len(given):
                # It may be on its way still, and give away the vote that we get next: see lua/queue.lua.
                lease.epochs.advance()
            entry.trust(self._now())

    def withdraw(self, request: Request) -> None:
        lease = self._leases.get(request.holder.id)
        entry = None if lease is None else lease.give_up(request.serial)
        if lease is None or entry is None:
            lease = Lease(request.holder, 0, "", self._size)
            entry = lease.note(request, self._place(request.asks[0].name), 0.0)
        # Nobody waits for the lock here any more: there is time to hear all who can be reached.
        ballot = self._ballot(any_reply, self._size)
        leaving, left = lease, entry
        self._fleet.ask(
            LEAVE,
            lease.leave(entry),
            ballot,
            entry.asked,
            lambda: self._leave_late(leaving, left),
        )
        try:
            ballot.check(self._majority)
        except Refused:
            # For good: nobody asks again.
            lease.leaving.pop(request.serial, None)
            raise
        lease.leaving.pop(request.serial, None)

    def release(self, claim: Claim) -> bool:
        holder, serial, ask, _ = claim
        lease = self._leases.get(holder.id)
        entry = None if lease is None else lease.give_up(serial)
        place = self._places.get(ask.name) or self._place(ask.name)
        own = b"fp:%b:%d:" % (holder.id.encode(), serial)
        if lease is not None and entry is not None:
            texts = [lease.member(entry, node) for node in range(self._size)]
        else:
            texts = members(holder, Request(holder, serial, (ask,)), 0, b"") * self._size
        ballot = Ballot(self._size, self._majority, is_one)
        start = b"%b%b$%d\r\n%b\r\n" % (place.pair, MARK, len(own), own)
        words = [b"%b$%d\r\n%b\r\n" % (start, len(text), text) for text in texts]
        commands = [RELEASE_HEAD + each for each in words]
        if lease is None or entry is None:
            self._fleet.ask(RELEASE, commands, ballot)
        else:
            self._fleet.ask(
                RELEASE,
                commands,
                ballot,
                entry.asked,
                lambda: _late(words, lease.epochs),
            )
        ballot.check(self._majority)
        if lease is not None:
            lease.leaving.pop(serial, None)
        if ballot.ayes >= self._majority:
            return True
        # Nodes that voted for us and do not answer still did, for all we know.
        silent = 0 if entry is None else sum(ballot.replies[node] is None for node in entry.votes)
        return ballot.ayes + silent >= self._majority

    def share(self, claim: Claim) -> bool:
        lease = self._leases.get(claim.holder.id)
        entry = None if lease is None else lease.entries.get(claim.serial)
        if entry is None or entry.token != claim.token:
            return False
        # From now on it is renewed as one or the other, and asks no node for a vote to hold it alone.
        entry.shared, entry.alone = True, False
        return self._share(entry)

    def _share(self, entry: Entry) -> bool:
        # All who can be reached: a reader needs the votes of a majority, too.
        ballot = self._ballot(is_one, self._size)
        self._fleet.ask(SHARE, [SHARE.pack([entry.place.lock, SINGLE.mark], entry.own)] * self._size, ballot)
        ballot.check(self._majority)
        silent = sum(ballot.replies[node] is None for node in entry.votes)
        if ballot.ayes < self._majority <= ballot.ayes + silent:
            raise Unavailable(f"{ballot.ayes} nodes let readers in, and {self._majority} are needed")
        return ballot.ayes >= self._majority

    # What operators see and do

    def look(self, name: str) -> Snapshot:
        return (self._tally(name)).snapshot()

    def _tally(self, name: str) -> Tally:
        place = self._place(name)
        ballot = self._ballot(any_reply, self._size)
        command = LOOK.pack([place.lock, SINGLE.index, SINGLE.audit])
        self._fleet.ask(LOOK, [command] * self._size, ballot)
        ballot.check(self._majority)
        return Tally(name, place.lock, ballot.replies, self._majority)

    def names(self, prefix: str) -> Sequence[str]:
        return names(self._fleet, self._size, self._majority, self._prefix, prefix)

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        place = self._place(name)
        ballot = self._ballot(any_reply, self._size)
        command = EVICT.pack([place.lock, SINGLE.index, SINGLE.audit], by, AUDIT_LENGTH)
        self._fleet.ask(EVICT, [command] * self._size, ballot)
        ballot.check(self._majority)
        taken: dict[tuple[str, int], list[Claim]] = {}
        for reply in ballot.replies:
            for text in reply or ():
                claim = record.claim_of(name, place.lock, text)
                taken.setdefault((claim.holder.id, claim.serial), []).append(claim)
        enough = self._majority - (self._size - ballot.answered)
        found = [agreed(claims, self._majority) for claims in taken.values() if len(claims) >= enough]
        return tuple(sorted(found, key=lambda claim: claim.token or 0))

    def close(self) -> None:
        for lease in list(self._leases.values()):
            self._forget(lease, "the session was closed")
        self._ears.close()
        self._fleet.close()

    # Inside

    def _ballot(
        self, is_aye: Callable[[Reply], bool], need: int | None = None, asked: Collection[int] | None = None
    ) -> Ballot:
        return Ballot(self._size, self._majority if need is None else need, is_aye, asked)

    def _place(self, name: str) -> Place:
        place = self._places.get(name)
        if place is None:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            place = self._places[name] = Place((self._prefix + name).encode(), clustered=False)
        return place

    def _forget(self, lease: Lease, reason: str) -> None:
        self._leases.pop(lease.holder.id, None)
        for entry in list(lease.entries.values()):
            if entry.waiter is not None:
                entry.waiter.stir(over=reason)

    def _deliver(self, node: int, message: bytes) -> None:
        """A node has given its vote to somebody who waits here, or has news for it."""
        news = news_of(message)
        lease = None if news is None else self._leases.get(news.holder)
        entry = None if news is None or lease is None else lease.entries.get(news.serial)
        if news is None or lease is None or entry is None:
            return
        tokens, waiter = news.granted(entry.nonces[node]), entry.waiter
        # Once asked again, only answers count: this may have been said before them, of a vote that is gone since.
        if tokens and entry.queued == 1:
            entry.hear_vote(node, tokens[0], self._now())
            if waiter is None:
                return
            if len(lease.proven(entry)) < self._majority:
                # The others may be on their way; or somebody else has them, and we have to find out who.
                waiter.look_by(self._now() + random.uniform(0.005, 0.01))
                return
        if waiter is not None:
            waiter.stir()


def _late(words: list[bytes], epochs: Epochs) -> list[bytes]:
    """Releases that come before what they are about must say so."""
    epoch = bulk(epochs.advance())
    return [RELEASE_LATE_HEAD + each + epoch for each in words]


Engine = RedlockEngine
