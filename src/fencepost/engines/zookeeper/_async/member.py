# Written by hand; the blocking twin under _sync is generated from it.
"""One holder at the servers: its session, and its nodes in the lines of locks."""

from collections.abc import Callable, Collection, Sequence

from fencepost._runtime import aio as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued
from fencepost.core.claim import Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper._async.link import AsyncLink
from fencepost.engines.zookeeper.contender import Contender, decoded
from fencepost.engines.zookeeper.ground import Ground
from fencepost.engines.zookeeper.lease import Entry, Lease, longest_pause, session_timeout
from fencepost.engines.zookeeper.line import holding, in_the_way
from fencepost.engines.zookeeper.record import claim_of
from fencepost.engines.zookeeper.trouble import explain, unreachable
from fencepost.errors import EngineError, Refused, Unavailable

GONE = (jute.OK, jute.NO_NODE)
FORGOTTEN = 3.0
# How often one who was evicted at once goes to the end of the line again.
MOST_TRIES = 10


class AsyncMember:
    """The lease of one holder. `SessionEnded` comes out of whatever is asked once the servers do not know it any more.

    A grant can be read off a line as any server lists it, however far it lags: it lists what is there after our own
    node was made, so nobody who came before us is missing. Who has left and is still listed only keeps us waiting.
    """

    def __init__(
        self,
        ground: Ground,
        holder: Holder,
        ttl: float,
        on_end: Callable[[str], object],
        *,
        clock: runtime.Clock,
        patience: float,
    ) -> None:
        self._ground = ground
        self._now = clock.now
        self._patience = patience
        self.lease = Lease(holder.label, ttl, ground.recipe)
        self.link = AsyncLink(
            ground.address, session_timeout(ttl), self.lease.heard, clock=clock, patience=patience, on_end=on_end
        )

    # The session

    async def open(self) -> None:
        self.lease.proven_at = self._now()
        await self.link.connection()
        given, asked = self.link.session.timeout / 1000, session_timeout(self.lease.ttl)
        if abs(given - asked) > 0.001:
            try:
                await self.link.close()
            except EngineError:
                # It ends by itself.
                self.link.forget("refused")
            bound = "longer" if given < asked else "shorter"
            fit = "at most" if given < asked else "at least"
            raise Refused(
                f"zookeeper keeps no session {bound} than {given:g} s, and a ttl of {self.lease.ttl:g} s "
                f"needs one of {asked:.4g} s: use a ttl of {fit} {given * 3 / 4:g} s, or change tickTime"
            )

    async def renew(self, claims: Collection[Claim]) -> list[Claim]:
        """Prove the session alive; which of `claims` the servers do not have. `SessionEnded` if it is not."""
        lease, sent_at = self.lease, self._now()
        if sent_at - max(lease.proven_at, self.link.attached_at) > longest_pause(lease.ttl):
            await self.link.reattach()
        under = self._ground.folder.path.encode()
        proof, listed = await self.link.call([jute.PROVE, jute.get_ephemerals(under)])
        for reply in (proof, listed):
            if reply.error:
                raise explain(reply.error, self._ground.address)
        lease.proven_at = sent_at
        nodes = jute.strings(listed.body)
        if strays := lease.strays(nodes):
            await self.link.call([jute.delete(node) for node in strays])
        present = set(nodes)
        gone = []
        for claim in claims:
            entry = lease.entries.get(claim.serial)
            if entry is None or entry.node not in present:
                gone.append(claim)
                if entry is not None:
                    lease.drop(entry)
        return gone

    async def close(self) -> None:
        """Whoever is interrupted here may close it again, or `end` it."""
        self.lease.end("the lease was closed")
        try:
            await self.link.close()
        except EngineError:
            self.link.forget("the lease was closed")
            raise

    def end(self, reason: str) -> str:
        self.lease.end(reason)
        self.link.forget(reason)
        return reason

    def is_kept(self) -> bool:
        """Whether its holder renews it. Nobody else may speak through it: whatever is heard of a session keeps it."""
        return self.link.ended is None and self._unproven() < self.lease.ttl

    def is_forgotten(self) -> bool:
        """Whether nobody can need it any more: its session is over, or nobody has renewed it for long."""
        return self.link.ended is not None or self._unproven() > FORGOTTEN * session_timeout(self.lease.ttl)

    def _unproven(self) -> float:
        """For how many seconds nothing has proven that the lease lives."""
        return self._now() - self.lease.proven_at

    # Places in lines

    async def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy:
        entry = self.lease.entries.get(request.serial)
        if entry is None:
            entry = self.lease.note(request, self._ground.lock(request.asks[0].name))
            children = await self._enter(entry)
        else:
            self.lease.unwatch(entry)
            children = await self._find(entry)
        await self._settle_in(entry, children)
        return await self._answer(entry, wait=wait)

    async def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        entry: Entry = queued.place
        until = self._now() + timeout
        while True:
            waiter, connection = entry.waiter, entry.connection
            if waiter is None or connection is None:
                raise Unavailable("the connection on which zookeeper tells who leaves was lost")
            try:
                await connection.wait(waiter, until)
            except (OSError, ValueError) as error:
                raise unreachable(error, self._ground.address, self._patience) from error
            if waiter.over is not None:
                return Gone(waiter.over)
            late = not waiter.stirred
            if late:
                # What was not told in time is looked for: the answer is definite.
                answer = await self.claim(entry.request, wait=True)
            else:
                if entry.take_news():
                    await self._look_again(entry)
                answer = await self._answer(entry, wait=True)
            if isinstance(answer, Granted):
                return answer
            assert isinstance(answer, Queued)
            if late or self._now() >= until:
                return answer

    async def withdraw(self, request: Request) -> None:
        entry = self.lease.entries.get(request.serial)
        if entry is None:
            return
        try:
            nodes = [entry.node]
            if entry.node is None:
                nodes = [entry.path(each) for each in self._own(entry, await self._list(entry, fresh=True))]
            await self._delete(nodes)
        except Refused:
            # For good: nobody asks again.
            self.lease.drop(entry)
            raise
        self.lease.drop(entry)

    async def release(self, claim: Claim) -> bool:
        entry = self.lease.entries.get(claim.serial)
        if entry is None or entry.node is None or entry.token != claim.token:
            return False
        (reply,) = await self.link.call([jute.delete(entry.node)])
        if reply.error not in GONE:
            raise explain(reply.error, self._ground.address)
        self.lease.drop(entry)
        return reply.error == jute.OK

    async def share(self, claim: Claim) -> bool:
        """Say in our node, which keeps its place and its token, that readers may come; it tells all who watch it."""
        entry = self.lease.entries.get(claim.serial)
        if entry is None or entry.node is None or entry.token != claim.token:
            return False
        card = self.lease.card(entry.ask, shared=True)
        (reply,) = await self.link.call([jute.set_data(entry.node, card, jute.ANY_VERSION)])
        if reply.error not in GONE:
            raise explain(reply.error, self._ground.address)
        return reply.error == jute.OK

    async def _enter(self, entry: Entry) -> list[bytes]:
        """Take a place at the end of the line; all who are in it."""
        entry.node = None
        for way in self._ground.entrances(entry, self.lease.card(entry.ask)):
            *_, made, listed = await self.link.call(way)
            if not made.error and not listed.error:
                entry.node, stat = jute.created(made.body)
                entry.token = stat.created_by
                self._ground.found(entry.lock, stat, self._now())
                return jute.strings(listed.body)
            if made.error != jute.NO_NODE:
                break
        raise explain(made.error or listed.error, self._ground.address)

    async def _find(self, entry: Entry) -> list[bytes]:
        """The line, with our place in it also if we were never told of it."""
        children = await self._list(entry, fresh=True)
        own = self._own(entry, children)
        if entry.node is None and own:
            (reply,) = await self.link.call([jute.read(jute.EXISTS, entry.path(own[0]))])
            if not reply.error:
                entry.node, entry.token = entry.path(own[0]), jute.stat(reply.body).created_by
        return children if entry.node is not None and own else await self._enter(entry)

    async def _list(self, entry: Entry, *, fresh: bool = False) -> list[bytes]:
        """Who is in the line; `fresh`: with all that was done before, as a server that lags might not have our node."""
        requests = [jute.read(jute.GET_CHILDREN, entry.lock)]
        replies = await self.link.call([jute.PROVE, *requests] if fresh else requests)
        for reply in replies:
            if reply.error not in GONE:
                raise explain(reply.error, self._ground.address)
        return [] if replies[-1].error else jute.strings(replies[-1].body)

    def _own(self, entry: Entry, children: list[bytes]) -> list[Contender]:
        """Our places: one, or more if a request that was given up arrived after it was sent again."""
        line = self._ground.recipe.line(children, entry.ask.name)
        return [each for each in line if each.is_of(entry.request)]

    async def _look_again(self, entry: Entry) -> None:
        """Where one has left the line, more may have before, of whom we are not told. Of our own end we are."""
        if entry.before or entry.node is None:
            await self._settle_in(entry, await self._list(entry))

    async def _settle_in(self, entry: Entry, children: list[bytes]) -> None:
        """Note who stands before us; if we were evicted, go to the end of the line."""
        for _ in range(MOST_TRIES):
            await self._check_number(entry)
            if self._see(entry, children):
                return
            children = await self._enter(entry)
        raise Unavailable(f"zookeeper at {self._ground.address} lists no node of ours, however often it has made one")

    async def _check_number(self, entry: Entry) -> None:
        """Leave a line in which the server has no numbers left to tell who came first."""
        node = b"" if entry.node is None else entry.node.rpartition(b"/")[2]
        own = self._ground.recipe.contender(decoded(node), entry.ask.name)
        if own is None or own.is_in_order:
            return
        await self._delete([entry.node])
        self.lease.drop(entry)
        raise Refused(
            f"zookeeper has counted to the end for '{entry.ask.name}': remove '{entry.lock.decode()}' once nobody "
            "holds it, or ask for nothing there until the server does, about a minute after the last has left"
        )

    def _see(self, entry: Entry, children: list[bytes]) -> bool:
        """Note who stands before us; whether we stand there at all."""
        if len(children) == 1 and entry.node == b"%b/%b" % (entry.lock, children[0]):
            entry.before = []
            return True
        own = entry.node[len(entry.lock) + 1 :] if entry.node is not None else b""
        before = self._ground.recipe.line_before(own, children, entry.ask.name)
        if before is None:
            return False
        entry.before = before
        return True

    async def _answer(self, entry: Entry, *, wait: bool) -> Granted | Queued | Busy:
        """Granted; or else leave, or have ourselves told when whoever is in the way leaves."""
        while blockers := in_the_way(entry.before, entry.ask):
            if not wait:
                if await self._finds_reader(entry, blockers[0]):
                    continue
                return await self._give_way(entry)
            ahead, left = await self._watch(entry, blockers)
            if left:
                if runtime.time_left() <= 0:
                    raise Unavailable("others have left the line until the time was over")
                entry.remove(left)
                await self._look_again(entry)
            elif in_the_way(entry.before, entry.ask):
                return Queued(entry.request, ahead, entry)
        self.lease.unwatch(entry)
        return Granted((entry.token,))

    async def _finds_reader(self, entry: Entry, blocker: Contender) -> bool:
        """Whether the one who keeps a reader out has gone on as a reader itself; the first of the line, if anybody."""
        if entry.ask.mode is not Mode.SHARED or blocker is not entry.before[0]:
            return False
        assert entry.node is not None
        reply, own = await self.link.call(
            [jute.read(jute.GET_DATA, entry.path(blocker)), jute.read(jute.EXISTS, entry.node)]
        )
        return own.error != jute.NO_NODE and entry.see(blocker, reply)

    async def _give_way(self, entry: Entry) -> Busy:
        assert entry.node is not None
        holders = entry.before[: holding(entry.before)]
        read = [jute.read(jute.GET_DATA, entry.path(each)) for each in holders]
        left, *found = await self.link.call([jute.delete(entry.node), *read])
        if left.error not in GONE:
            raise explain(left.error, self._ground.address)
        self.lease.drop(entry)
        return Busy(_claims(holders, found, holders))

    async def _watch(self, entry: Entry, blockers: Sequence[Contender]) -> tuple[tuple[Claim, ...], set[bytes]]:
        """Have their departure told, and ours; who they are, and the nodes of those who have left already.

        Somebody may take our node out of the line while we wait. A server tells in the order in which things happened,
        so whoever hears that the last one before has left would have heard of that.
        """
        assert entry.node is not None
        paths = [entry.path(each) for each in blockers]
        for path in (*paths, entry.node):
            self.lease.watch(entry, path)
        # The connection before the call: if that makes another, waiting on this one says so.
        entry.connection = self.link.present
        read = [jute.read(jute.GET_DATA, path, watch=True) for path in paths]
        *found, own = await self.link.call([*read, jute.read(jute.EXISTS, entry.node, watch=True)])
        if entry.ask.mode is Mode.SHARED:
            # Its way is barred by one only.
            entry.see(blockers[0], found[0])
        hidden = [path for path, reply in zip(paths, found, strict=True) if reply.error == jute.NO_AUTH]
        left = {path for path, reply in zip(paths, found, strict=True) if reply.error == jute.NO_NODE}
        if hidden:
            # Of a node that we may not read servers tell us nothing, but they do of the line that it is in.
            self.lease.watch(entry, entry.lock)
            line = jute.read(jute.GET_CHILDREN, entry.lock, watch=True)
            looks = [jute.read(jute.EXISTS, path) for path in (*hidden, entry.node)]
            _, *seen, own = await self.link.call([line, *looks])
            left |= {path for path, reply in zip(hidden, seen, strict=True) if reply.error == jute.NO_NODE}
        if own.error == jute.NO_NODE:
            left.add(entry.node)
        return _claims(blockers, found, entry.before[: holding(entry.before)]), left

    async def _delete(self, nodes: Sequence[bytes | None]) -> None:
        requests = [jute.delete(node) for node in nodes if node is not None]
        for reply in await self.link.call(requests) if requests else ():
            if reply.error not in GONE:
                raise explain(reply.error, self._ground.address)


def _claims(
    contenders: Sequence[Contender], replies: Sequence[jute.Reply], holders: Sequence[Contender]
) -> tuple[Claim, ...]:
    """What those say of themselves who are still there; only who holds has a token."""
    claims = []
    for contender, reply in zip(contenders, replies, strict=True):
        if not reply.error:
            data, stat = jute.node(reply.body)
            claims.append(claim_of(contender, data, stat.created_by if contender in holders else None))
    return tuple(claims)
