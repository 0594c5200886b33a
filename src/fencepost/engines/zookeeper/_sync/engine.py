# Generated from src/fencepost/engines/zookeeper/_async/engine.py by tools/unasync.py. Do not edit: run `make gen`.
"""The engine on ZooKeeper.

What holds: a lock goes to its contenders in the order in which the servers took their nodes, and a grant's token is the
number of the transaction that made its node. So tokens grow in the order of grants for as long as the servers keep
their data, and nothing is granted without a majority of them. A lock excludes kazoo's `Lock` on the same path, and with
`recipe=curator` Curator's `InterProcessMutex`.

Limits: a session outlives its lease by a third, so a vanished holder's lock is free only then, and up to one tick later
(`lease` says why). Servers keep sessions of 2 to 20 ticks unless they are told otherwise: a ttl that does not fit
is refused when the lease is opened.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import ClassVar

from fencepost._runtime import threads as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.claim import Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.engines.zookeeper._sync.cells import Cells
from fencepost.engines.zookeeper._sync.member import Member
from fencepost.engines.zookeeper._sync.sight import Sight
from fencepost.engines.zookeeper.address import locate
from fencepost.engines.zookeeper.ground import Ground
from fencepost.engines.zookeeper.lease import OVERRUN
from fencepost.engines.zookeeper.trouble import SessionEnded
from fencepost.errors import EngineError, Unavailable

UNKNOWN = "zookeeper has no session of this holder: it ended, or was never opened"


class ZookeeperEngine:
    traits: ClassVar[Traits] = Traits(
        scope="network",
        fencing="strict",
        survives="minority",
        order="arrival",
        death="lease",
        together=False,
        cells=True,
        ttl_floor=0.1,
        overrun=OVERRUN,
        neighbours=("kazoo",),
    )

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        self.on_loss: Callable[[str, str], object] | None = None
        self._ground = Ground(locate(url))
        self._clock = clock
        self._patience = patience
        self._members: dict[str, Member] = {}
        self._sight = Sight(self._ground, self._members, clock=clock, patience=patience)
        self.cells = Cells(self._ground, clock=clock, patience=patience)

    # Leases

    def lease_open(self, holder: Holder, ttl: float) -> None:
        self._bury()
        tell = partial(self._tell, holder.id)
        member = Member(self._ground, holder, ttl, tell, clock=self._clock, patience=self._patience)
        self._members[holder.id] = member
        try:
            member.open()
        except SessionEnded as ended:
            raise Unavailable(f"zookeeper at {self._ground.address} let us in and forgot us: {ended}") from ended

    def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        member = self._members.get(holder.id)
        if member is None:
            return Renewal(alive=False)
        try:
            gone = member.renew(claims)
        except SessionEnded as ended:
            self._end(holder, str(ended))
            return Renewal(alive=False)
        reasons = self._sight.reasons(gone)
        return Renewal(True, tuple((*key, reason) for key, reason in reasons.items()))

    def lease_close(self, holder: Holder) -> None:
        member = self._members.get(holder.id)
        if member is not None:
            try:
                member.close()
            except EngineError:
                self._members.pop(holder.id, None)
                raise
            # Not if it was interrupted: whoever that is closes it again.
            self._members.pop(holder.id, None)

    # Claims

    def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        member = self._members.get(request.holder.id)
        if member is None:
            return Gone(UNKNOWN)
        try:
            return member.claim(request, wait=wait)
        except SessionEnded as ended:
            return Gone(self._end(request.holder, str(ended)))

    def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        holder = queued.request.holder
        member = self._members.get(holder.id)
        if member is None:
            return Gone(UNKNOWN)
        try:
            return member.wait(queued, timeout)
        except SessionEnded as ended:
            return Gone(self._end(holder, str(ended)))

    def withdraw(self, request: Request) -> None:
        member = self._members.get(request.holder.id)
        if member is not None:
            try:
                member.withdraw(request)
            except SessionEnded as ended:
                self._end(request.holder, str(ended))

    def release(self, claim: Claim) -> bool:
        member = self._members.get(claim.holder.id)
        if member is None:
            return False
        try:
            return member.release(claim)
        except SessionEnded as ended:
            self._end(claim.holder, str(ended))
            return False

    def share(self, claim: Claim) -> bool:
        member = self._members.get(claim.holder.id)
        if member is None:
            return False
        try:
            return member.share(claim)
        except SessionEnded as ended:
            self._end(claim.holder, str(ended))
            return False

    # What operators see and do

    def look(self, name: str) -> Snapshot:
        return self._sight.look(name)

    def names(self, prefix: str) -> Sequence[str]:
        return self._sight.names(prefix)

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        return self._sight.evict(name, by)

    def close(self) -> None:
        self.cells.close()
        for member in list(self._members.values()):
            try:
                member.close()
            except (EngineError, SessionEnded):
                # It ends by itself.
                pass
            finally:
                member.end("the session was closed")
        self._members.clear()
        self._sight.close()

    # Inside

    def _tell(self, holder_id: str, reason: str) -> None:
        """Not only who asked is to hear of the end of a session: the others may hold locks on it."""
        if self.on_loss is not None:
            self.on_loss(holder_id, reason)

    def _end(self, holder: Holder, reason: str) -> str:
        member = self._members.pop(holder.id, None)
        return reason if member is None else member.end(reason)

    def _bury(self) -> None:
        """Let go of sessions that nobody has renewed for long."""
        for holder_id, member in self._members.copy().items():
            if member.is_forgotten():
                member.end("nobody renewed it")
                self._members.pop(holder_id, None)


Engine = ZookeeperEngine
