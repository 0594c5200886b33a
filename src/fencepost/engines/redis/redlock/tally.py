"""What all nodes together say of one name: who has a majority of their votes, who waits, and who must give way."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar
from zlib import crc32

from fencepost.contract.answer import Eviction, Snapshot, Standing
from fencepost.core.claim import Claim, Mode
from fencepost.engines.redis.record import snapshot_of
from fencepost.engines.redis.redlock.agreement import agree
from fencepost.engines.redis.resp import Reply

T = TypeVar("T")
Key = tuple[str, int]


class Place(NamedTuple):
    rank: int
    standing: Standing


class Tally:
    """Votes and places, by request, and which nodes have not answered."""

    def __init__(self, name: str, lock: bytes, replies: Sequence[Reply | None], majority: int) -> None:
        self.name = name
        self.majority = majority
        # Those that did not answer may have voted for whoever has the others' votes.
        self._enough = max(1, majority - sum(reply is None for reply in replies))
        self.votes: dict[Key, list[Standing]] = {}
        self.places: dict[Key, list[Place]] = {}
        self._evictions: list[Eviction] = []
        for reply in replies:
            if reply is None:
                continue
            snapshot = snapshot_of(name, lock, reply)
            for standing in snapshot.holders:
                self.votes.setdefault(_key(standing.claim), []).append(standing)
            for rank, standing in enumerate(snapshot.waiters):
                self.places.setdefault(_key(standing.claim), []).append(Place(rank, standing))
            self._evictions += snapshot.evictions

    def snapshot(self) -> Snapshot:
        holders = [self._holding(votes) for votes in self.votes.values() if len(votes) >= self._enough]
        holding = {_key(holder.claim) for holder in holders}
        waiting = []
        for key, places in self.places.items():
            if key not in holding and len(places) + len(self.votes.get(key, ())) >= self._enough:
                standings = sorted((place.standing for place in places), key=lambda each: each.since)
                waiting.append((_middle(sorted(place.rank for place in places)), _middle(standings)))
        return Snapshot(
            self.name,
            holders=tuple(sorted(holders, key=lambda holder: holder.claim.token or 0)),
            waiters=tuple(standing for _, standing in sorted(waiting, key=lambda each: each[0])),
            evictions=self._agreed_evictions(),
        )

    def _holding(self, votes: list[Standing]) -> Standing:
        """It holds as long as a majority of its votes does."""
        token = agree([vote.claim.token or 0 for vote in votes], self.majority).token
        remaining = sorted((vote.remaining for vote in votes), reverse=True)[: self.majority][-1]
        since = _middle(sorted(vote.since for vote in votes))
        return Standing(votes[0].claim._replace(token=token), since, remaining)

    def _agreed_evictions(self) -> tuple[Eviction, ...]:
        seen = Counter((each.token, each.evicted, each.by) for each in self._evictions)
        found = {(each.token, each.evicted, each.by): each for each in self._evictions}
        agreed = [each for key, each in found.items() if seen[key] >= self._enough]
        return tuple(sorted(agreed, key=lambda each: each.ago))

    def rival(self, key: Key) -> Key | None:
        """Whom the request `key` must let have its votes, so that somebody gets a majority; None if nobody.

        Whoever has a majority, of course. Else the votes are split, and all who have some and see the same must choose
        the same: the one whose number is lowest, which is a fair dice, since it is another for every request. Only of
        those who wait: who has a vote and no place, as a stranger or the dead, can not take what is given to it.
        """
        whole = [each for each, votes in self.votes.items() if len(votes) >= self.majority]
        here = [each for each in self.votes if each in self.places or each == key]
        chosen = min(whole or here, key=_dice, default=key)
        if chosen == key or (self._shares(chosen) and self._shares(key)):
            return None
        return chosen

    def _shares(self, key: Key) -> bool:
        return all(vote.claim.ask.mode is Mode.SHARED for vote in self.votes.get(key, ()))


def _key(claim: Claim) -> Key:
    return claim.holder.id, claim.serial


def _dice(key: Key) -> tuple[int, Key]:
    return crc32(b"%b:%d" % (key[0].encode(), key[1])), key


def _middle(ordered: list[T]) -> T:
    return ordered[len(ordered) // 2]
