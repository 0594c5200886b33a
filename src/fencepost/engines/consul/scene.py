"""How a name stands, read from its keys, and what is to be done about it: pure decisions.

The lock key tells who holds a name alone: it is locked by that holder's session. Everyone who waits, and everyone who
shares the name with others, has a key of its own below it, also locked by its session, so that Consul itself removes
what a dead session leaves. Order of arrival, among those of one priority, is the order in which these keys were made.
While several share a name, the lock key is locked by one of them and changes with each who joins, so that a transaction
can insist on what it saw. Whoever held the name alone and then shares it has such a key from then on, too.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.core.claim import Ask, Claim, Mode, Request, admits, admitted
from fencepost.core.priority import turn_of
from fencepost.engines.consul.key import place_of
from fencepost.engines.consul.record import STRANGER, Record, is_shared, read, shared_by, write
from fencepost.engines.consul.transaction import (
    LOCK_FLAG,
    Operation,
    Pair,
    absent,
    change,
    delete,
    lock,
    unchanged,
)

# How many keys one step removes: each takes two operations of a transaction.
MOST_REMOVED = 50


class Member(NamedTuple):
    """A request as one name knows it: with the key that it has there, and with its token if it holds the name."""

    record: Record
    pair: Pair
    token: int | None = None

    @property
    def turn(self) -> int:
        """The lowest of those who wait goes first."""
        return turn_of(self.pair.created, self.record.request.priority)


@dataclass(slots=True)
class View:
    """One name at one moment."""

    name: str
    key: str
    lock: Pair | None = None
    holders: list[Member] = field(default_factory=list)
    waiters: list[Member] = field(default_factory=list)
    # Keys that a dead session left behind, where sessions release instead of delete.
    dead: list[Pair] = field(default_factory=list)
    stranger: bool = False
    # The lock key is locked by one who shares the name, or did.
    shared: bool = False
    # Keys of those who took the name while others held it unseen, and have no room beside them: they do not hold.
    wrong: list[Pair] = field(default_factory=list)

    @property
    def foreign(self) -> bool:
        """Something that is no lock stands where the lock should."""
        return self.lock is not None and self.lock.flags != LOCK_FLAG

    @property
    def vacant(self) -> bool:
        """The lock key is there, and nobody holds by it."""
        return self.lock is not None and not self.holders and not self.stranger and not self.foreign

    def holding(self) -> list[Ask]:
        if self.stranger or self.foreign:
            return [Ask(self.name)]
        return [member.record.claim(self.name, None).ask for member in self.holders]

    def claims(self) -> list[Claim]:
        """Everyone, holders first."""
        found = [member.record.claim(self.name, member.token) for member in (*self.holders, *self.waiters)]
        if self.stranger and self.lock is not None:
            found.insert(0, Claim(STRANGER, 0, Ask(self.name), self.lock.modified))
        return found

    def pairs(self) -> list[Pair]:
        """The keys by which it stands so."""
        members = [member.pair for member in (*self.holders, *self.waiters)]
        return members if self.lock is None else [self.lock, *members]

    def find(self, key: tuple[str, int]) -> Member | None:
        return next((member for member in (*self.holders, *self.waiters) if member.record.key == key), None)


def view_of(name: str, key: str, pairs: Mapping[str, Pair]) -> View:
    view = View(name, key, pairs.get(key))
    below = key + "/"
    members = []
    for pair in (pair for each, pair in pairs.items() if each.startswith(below)):
        record = _record(pair, name)
        if record is not None and pair.session:
            members.append(Member(record, pair, (record.token or pair.modified) if record.granted else None))
        elif record is not None:
            view.dead.append(pair)
    members.sort(key=lambda member: member.turn)
    claiming = [member for member in members if member.token is not None]
    alone: Member | None = None
    found = view.lock
    if found is not None and found.session:
        record = _record(found, name)
        view.shared = is_shared(found.value)
        view.stranger = record is None and not view.shared
        if record is not None:
            alone = Member(record, found, found.modified)
            claiming.append(alone)
    elif found is not None and (_record(found, name) is not None or is_shared(found.value)):
        view.dead.append(found)
    view.holders, view.wrong = _parted(name, claiming)
    holding_alone = alone.record.key if alone is not None and alone.pair not in view.wrong else None
    view.waiters = [member for member in members if member.token is None and member.record.key != holding_alone]
    return view


def _parted(name: str, claiming: list[Member]) -> tuple[list[Member], list[Pair]]:
    """Those that hold the name, and the keys of those that were let in though there was no room beside them.

    Who holds was there first: when the one dies that kept the lock key for all who share the name, it looks free.
    """
    by_token = sorted(claiming, key=lambda member: member.token or 0)
    asks = [member.record.claim(name, None).ask for member in by_token]
    if not asks or admits(asks[:-1], asks[-1]):
        # Then there was room for each of those before, too.
        return by_token, []
    holders: list[Member] = []
    wrong: list[Pair] = []
    holding: list[Ask] = []
    for member, ask in zip(by_token, asks, strict=True):
        if admits(holding, ask):
            holders.append(member)
            holding.append(ask)
        else:
            wrong.append(member.pair)
    return holders, wrong


def _record(pair: Pair, name: str) -> Record | None:
    """Who asks for the name by that key; None if that is somebody else's, or about other names."""
    record = read(pair.value)
    return record if record is not None and record.concerns(name) else None


def is_held(pair: Pair, token: int | None) -> bool:
    """Whether the key that was read says that the claim with this token is held by it."""
    if pair.modified == token:
        return True
    record = read(pair.value) if pair.session else None
    return record is not None and record.granted and record.token == token


def own_lock(pair: Pair | None, key: tuple[str, int]) -> Pair | None:
    """The lock key, if it is this request that has it."""
    record = None if pair is None or not pair.session else read(pair.value)
    return pair if record is not None and record.key == key else None


def left_of(claim: Claim, lock: str, pairs: Mapping[str, Pair]) -> list[Pair]:
    """The keys that the request of this claim has at one name, whatever they say."""
    key = (claim.holder.id, claim.serial)
    return [pair for pair in (own_lock(pairs.get(lock), key), pairs.get(place_of(lock, *key))) if pair is not None]


def tokens_of(request: Request, views: Mapping[str, View]) -> tuple[int, ...] | None:
    """The tokens of the request, if it holds all that it asked for."""
    key = (request.holder.id, request.serial)
    found = []
    for ask in request.asks:
        member = views[ask.name].find(key)
        if member is None or member.token is None:
            return None
        found.append(member.token)
    return tuple(found)


def missing(views: Mapping[str, View]) -> set[str]:
    """Names that those who wait here want besides, and without which nothing can be said about them."""
    wanted = {ask.name for view in views.values() for member in view.waiters for ask in member.record.request.asks}
    return wanted - views.keys()


def is_open_to(request: Request, views: Mapping[str, View]) -> bool:
    """Whether the request could be granted now, as nobody waits before it and whoever holds tolerates it."""
    return all(
        all(member.record.request.priority < request.priority for member in view.waiters)
        and not view.foreign
        and admits(view.holding(), ask)
        for ask in request.asks
        for view in (views[ask.name],)
    )


def next_step(views: Mapping[str, View], now: float) -> list[Operation] | None:
    """What is to be done about these names: put right what is wrong, grant to whoever is next, tidy up. One thing."""
    for view in views.values():
        if view.wrong:
            return _without(view.wrong)
    holding = {name: view.holding() for name, view in views.items()}
    waiting = {
        member.record.key: member for view in views.values() for member in view.waiters if _is_whole(member, views)
    }
    in_order = sorted(waiting.values(), key=lambda member: member.turn)
    for request in admitted(holding, [member.record.request for member in in_order], views.keys()):
        return grant(views, waiting[request.holder.id, request.serial].record, now)
    for view in views.values():
        readers = [member for member in view.holders if member.record.granted]
        if readers and (view.lock is None or view.shared):
            if view.lock is None or view.lock.session not in {member.pair.session for member in readers}:
                first = readers[0]
                return [unchanged(first.pair), *_vacate(view), _lock_for(view, first, shared_by(first.record))]
        elif view.vacant and view.shared and view.lock is not None:
            return [unchanged(view.lock), delete(view.key)]
    for view in views.values():
        if view.dead:
            return _without(view.dead)
    return None


def _without(pairs: list[Pair]) -> list[Operation]:
    return [operation for pair in pairs[:MOST_REMOVED] for operation in (unchanged(pair), delete(pair.key))]


def _is_whole(member: Member, views: Mapping[str, View]) -> bool:
    """Whether the request still has a place at every name it asks for: an eviction may have left it but some."""
    asks = member.record.request.asks
    return len(asks) == 1 or all(views[ask.name].find(member.record.key) for ask in asks)


def grant(views: Mapping[str, View], record: Record, now: float) -> list[Operation]:
    """Make one who waits the holder of all it asks for."""
    operations = []
    for ask in record.request.asks:
        view = views[ask.name]
        member = view.find(record.key)
        assert member is not None
        operations.append(unchanged(member.pair))
        mine = record._replace(at=now)
        if ask.mode is Mode.EXCLUSIVE:
            operations += [*_vacate(view), _lock_for(view, member, write(mine))]
            continue
        if view.holders and view.shared and view.lock is not None:
            operations.append(change(view.key, view.lock.modified, shared_by(record), LOCK_FLAG))
        elif view.lock is None or view.vacant:
            operations += [*_vacate(view), _lock_for(view, member, shared_by(record))]
        operations.append(lock(member.pair.key, write(mine._replace(granted=True)), member.pair.session))
    return operations


def seize(record: Record, session: str, keys: Mapping[str, str]) -> list[Operation]:
    """Take all that is asked for, if nobody is there. Whoever does so looks afterwards whether that was so."""
    operations = []
    for ask in record.request.asks:
        key = keys[ask.name]
        alone = ask.mode is Mode.EXCLUSIVE
        operations += [absent(key), lock(key, write(record) if alone else shared_by(record), session, LOCK_FLAG)]
        if not alone:
            operations.append(lock(place_of(key, *record.key), write(record._replace(granted=True)), session))
    return operations


def share(view: View, member: Member) -> list[Operation]:
    """Have one that holds the name alone go on as one of several: the lock key stays locked by the same session."""
    assert member.token is not None
    holder, serial, asks, priority = member.record.request
    changed = tuple(ask._replace(mode=Mode.SHARED) if ask.name == view.name else ask for ask in asks)
    record = member.record._replace(
        request=Request(holder, serial, changed, priority), granted=True, token=member.token
    )
    place = lock(place_of(view.key, *record.key), write(record), member.pair.session)
    return [unchanged(member.pair), _lock_for(view, member, shared_by(record)), place]


def queue_up(record: Record, session: str, keys: Collection[str]) -> list[Operation]:
    """Take a place in each queue."""
    value = write(record)
    places = [place_of(key, *record.key) for key in keys]
    return [operation for place in places for operation in (absent(place), lock(place, value, session))]


def heir_of(view: View) -> Member | None:
    """Who is to hold the name next, if that can be said without looking at any other."""
    if view.waiters:
        asks = view.waiters[0].record.request.asks
        if len(asks) == 1 and asks[0].mode is Mode.EXCLUSIVE:
            return view.waiters[0]
    return None


def hand_over(view: View, heir: Member, now: float) -> list[Operation]:
    """Make the heir the holder, in the transaction that has just deleted the lock key."""
    return [unchanged(heir.pair), _lock_for(view, heir, write(heir.record._replace(at=now)))]


def watched(view: View, key: tuple[str, int]) -> tuple[Pair | None, bool]:
    """What the waiter should watch, so that its turn is not missed: a pair, and whether all below it counts too.

    Whoever waits behind another watches only that one's key, which stays until it has held the name and given it back.
    The first watches who holds.
    """
    before: Member | None = None
    for member in view.waiters:
        if member.record.key == key:
            break
        before = member
    if before is not None:
        return before.pair, False
    return view.lock, any(member.record.granted for member in view.holders)


def _vacate(view: View) -> list[Operation]:
    """Insist that the lock key is as it was seen, and is not there afterwards."""
    if view.lock is None:
        return [absent(view.key)]
    return [unchanged(view.lock), delete(view.key)]


def _lock_for(view: View, member: Member, value: str) -> Operation:
    return lock(view.key, value, member.pair.session, LOCK_FLAG)
