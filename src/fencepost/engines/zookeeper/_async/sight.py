# Written by hand; the blocking twin under _sync is generated from it.
"""What operators see and do: who holds and waits, which names there are, and taking one away on the record."""

from collections.abc import Collection, Mapping, Sequence

from fencepost._runtime import aio as runtime
from fencepost.contract.answer import Eviction, Snapshot, Standing
from fencepost.core.claim import Claim
from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper._async.link import AsyncLink
from fencepost.engines.zookeeper._async.member import AsyncMember
from fencepost.engines.zookeeper.contender import Contender, decoded
from fencepost.engines.zookeeper.ground import Ground
from fencepost.engines.zookeeper.jute import Reply
from fencepost.engines.zookeeper.line import holding
from fencepost.engines.zookeeper.record import (
    Evicted,
    as_it_is,
    audit_stem,
    card_of,
    claim_of,
    eviction_of,
    pack_eviction,
)
from fencepost.engines.zookeeper.trouble import SessionEnded, explain
from fencepost.errors import Unavailable

AUDIT_LENGTH = 200
# How often an eviction starts again because the line has changed while it was looked at.
MOST_TRIES = 10
MOST_AT_ONCE = 500
LOST = "the engine no longer has it"


class AsyncSight:
    """Looks through the session of any member that is kept, or if there is none through one of its own."""

    def __init__(
        self, ground: Ground, members: Mapping[str, AsyncMember], *, clock: runtime.Clock, patience: float
    ) -> None:
        self._ground = ground
        self._members = members
        self._clock = clock
        self._patience = patience
        self._own: AsyncLink | None = None

    async def look(self, name: str) -> Snapshot:
        line = await self._line(name)
        now = self._clock.now()
        held = holding([contender for contender, _, _ in line])
        standings = []
        for position, (contender, data, stat) in enumerate(line):
            token = stat.created_by if position < held else None
            # Of others' sessions only this is known: they were renewed within that time.
            left = card_of(contender, data).ttl
            standings.append(Standing(claim_of(contender, data, token), self._ground.age(stat, now), left))
        evictions = [
            Eviction(name, each.token, each.label, each.by, self._ground.age(stat, now))
            for each, stat in reversed(await self._evictions([name]))
        ]
        holders = tuple(each for each in standings if each.claim.token is not None)
        waiters = tuple(each for each in standings if each.claim.token is None)
        return Snapshot(name, holders, waiters, tuple(evictions))

    async def names(self, prefix: str) -> Sequence[str]:
        folder = self._ground.folder
        under = folder.path.encode()
        _, listed = await self._call([jute.PROVE, jute.read(jute.GET_CHILDREN, under)])
        if listed.error == jute.NO_NODE:
            return []
        named = [(folder.name(decoded(child)), child) for child in self._strings(listed)]
        wanted = [(name, child) for name, child in named if name is not None and name.startswith(prefix)]
        base = under.rstrip(b"/")
        lines = await self._call([jute.read(jute.GET_CHILDREN, b"%b/%b" % (base, child)) for _, child in wanted])
        return sorted(
            name
            for (name, _), reply in zip(wanted, lines, strict=True)
            if not reply.error and self._ground.recipe.line(jute.strings(reply.body), name)
        )

    async def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        for _ in range(MOST_TRIES):
            line = await self._line(name)
            held = line[: holding([contender for contender, _, _ in line])]
            if not held:
                return ()
            taken = [claim_of(contender, data, stat.created_by) for contender, data, stat in held]
            if await self._take_away(name, [contender for contender, _, _ in held], taken, by):
                return tuple(taken)
        raise Unavailable(f"'{name}' changed hands {MOST_TRIES} times while it was to be evicted: try again")

    async def reasons(self, claims: Collection[Claim]) -> dict[tuple[int, str], str]:
        """Why claims are gone."""
        records = await self._evictions({claim.name for claim in claims}) if claims else []
        by = {(each.name, each.token): f"evicted by {each.by}" for each, _ in records}
        return {(claim.serial, claim.name): by.get((claim.name, claim.token or 0), LOST) for claim in claims}

    def close(self) -> None:
        # Its session has no nodes, and ends by itself.
        if self._own is not None:
            self._own.forget("the engine was closed")

    async def _take_away(self, name: str, held: Sequence[Contender], taken: Sequence[Claim], by: str) -> bool:
        """Remove the nodes and write down that, and by whom, in one step; whether they were all there still."""
        lock, audit, acl = self._ground.lock(name), self._ground.folder.audit, self._ground.address.acl
        stem = audit + b"/" + audit_stem(name).encode()
        steps = [jute.delete(b"%b/%b" % (lock, contender.node.encode())) for contender in held]
        steps += [jute.create(jute.CREATE, stem, pack_eviction(claim, by), acl, jute.SEQUENCE) for claim in taken]
        folder = jute.create(jute.CREATE, audit, b"", acl, jute.PERSISTENT)
        made, done = await self._call([folder, jute.multi(steps)])
        if made.error not in (jute.OK, jute.NODE_EXISTS):
            raise explain(made.error, self._ground.address)
        error = done.error or jute.failure(done.body)
        if error not in (jute.OK, jute.NO_NODE):
            raise explain(error, self._ground.address)
        if not error:
            await self._shorten()
        return error == jute.OK

    async def _shorten(self) -> None:
        """Keep the record bounded: the oldest go."""
        audit = self._ground.folder.audit
        (listed,) = await self._call([jute.read(jute.GET_CHILDREN, audit)])
        records = sorted(self._strings(listed), key=lambda node: node.rpartition(b"-")[2])
        await self._call([jute.delete(audit + b"/" + node) for node in records[:-AUDIT_LENGTH]])

    async def _evictions(self, names: Collection[str]) -> list[tuple[Evicted, jute.Stat]]:
        """What is on record of these names, the oldest first."""
        audit = self._ground.folder.audit
        (listed,) = await self._call([jute.read(jute.GET_CHILDREN, audit)])
        if listed.error == jute.NO_NODE:
            return []
        stems = tuple(audit_stem(name).encode() for name in names)
        nodes = sorted(node for node in self._strings(listed) if node.startswith(stems))
        nodes.sort(key=lambda node: node.rpartition(b"-")[2])
        replies = await self._call([jute.read(jute.GET_DATA, audit + b"/" + node) for node in nodes])
        found = []
        for reply in replies:
            if not reply.error:
                data, stat = jute.node(reply.body)
                record = eviction_of(data)
                if record is not None and record.name in names:
                    found.append((record, stat))
        return found

    async def _line(self, name: str) -> list[tuple[Contender, bytes, jute.Stat]]:
        """The line of a lock, with the data and stat of each who is in it."""
        lock = self._ground.lock(name)
        _, listed = await self._call([jute.PROVE, jute.read(jute.GET_CHILDREN, lock)])
        if listed.error == jute.NO_NODE:
            return []
        line = self._ground.recipe.line(self._strings(listed), name)
        paths = [b"%b/%b" % (lock, contender.node.encode()) for contender in line]
        read = await self._call([jute.read(jute.GET_DATA, path) for path in paths])
        # That another's node is there everybody may see, also where its data may not be read.
        seen = (
            await self._call([jute.read(jute.EXISTS, path) for path in paths])
            if any(each.error for each in read)
            else read
        )
        found = []
        for contender, node, there in zip(line, read, seen, strict=True):
            if not node.error:
                data, stat = jute.node(node.body)
                found.append((as_it_is(contender, data), data, stat))
            elif node.error == jute.NO_AUTH and not there.error:
                found.append((contender, b"", jute.stat(there.body)))
        return found

    def _strings(self, listed: Reply) -> list[bytes]:
        if listed.error:
            raise explain(listed.error, self._ground.address)
        return jute.strings(listed.body)

    async def _call(self, requests: list[bytes]) -> list[Reply]:
        """In parts: a server that has too much to do reads no further, and we only read when all is sent."""
        return [
            reply
            for start in range(0, len(requests), MOST_AT_ONCE)
            for reply in await self._call_at_once(requests[start : start + MOST_AT_ONCE])
        ]

    async def _call_at_once(self, requests: list[bytes]) -> list[Reply]:
        for member in list(self._members.values()):
            if member.link.session.id and member.is_kept():
                try:
                    return await member.link.call(requests)
                except SessionEnded as ended:
                    member.end(str(ended))
        for _ in range(2):
            if self._own is None or self._own.ended is not None:
                self._own = AsyncLink(
                    self._ground.address, self._patience * 4, _nobody, clock=self._clock, patience=self._patience
                )
            try:
                return await self._own.call(requests)
            except SessionEnded:
                # It was idle for too long.
                continue
        raise Unavailable(f"zookeeper at {self._ground.address} ends every session at once")


def _nobody(node: bytes, gone: bool) -> None:
    """Nothing is watched through this session."""
