"""Leases: opened, renewed, closed. Everything here happens inside the gate."""

from collections.abc import Collection
from typing import Any

from fencepost.contract.answer import Renewal
from fencepost.core.claim import Claim
from fencepost.core.holder import Holder
from fencepost.engines.sqlite.process import Identity
from fencepost.engines.sqlite.queue import Queue
from fencepost.engines.sqlite.row import is_present
from fencepost.engines.sqlite.sql import STATEMENTS


class Leases:
    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def open(self, holder: Holder, ttl: float) -> None:
        self._queue.atomically(self._open, holder, ttl)

    def _open(self, holder: Holder, ttl: float) -> None:
        queue, mailbox = self._queue, self._queue.mailbox
        mailbox.prepare()
        if not mailbox.is_there():
            mailbox.move_out()
        self.sweep()
        addresses = {box for *_, box in self._execute("holders")}
        for name in mailbox.names():
            if name not in addresses and name != mailbox.name:
                mailbox.unlink(name)
        ends_at, number = queue.now() + ttl, queue.store.gate.number
        self._execute("open", holder.id, holder.label, ttl, ends_at, *queue.peers.me, mailbox.name or None, number)
        self._note_ceiling()

    def renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        """One statement, however many claims: only eviction takes one from a living lease, and leaves a mark."""
        now = self._queue.now()
        evicted = self._execute("renew", holder.id, ttl, now + ttl, now)
        if not evicted:
            self.close(holder)
            return Renewal(False)
        self._note_ceiling()
        if self._queue.mailbox.name and not self._queue.mailbox.is_there():
            self._queue.atomically(self._move)
        if evicted == [(0,)]:
            return Renewal(True)
        self._queue.transfer.to_file()
        return Renewal(True, tuple(self._lost(claim) for claim in claims if not self._is_held(claim)))

    def _move(self) -> None:
        """Somebody deleted our box: take another, and look for what was said meanwhile."""
        queue, mailbox = self._queue, self._queue.mailbox
        before = mailbox.name
        mailbox.move_out()
        mailbox.open()
        self._execute("move", before, mailbox.name)
        queue.addresses.clear()
        for place in list(queue.places.values()):
            place.stir()

    def close(self, holder: Holder) -> None:
        for key, place in self._queue.places.copy().items():
            if key[0] == holder.id:
                del self._queue.places[key]
                place.stir(over="the lease was closed")
        self._queue.atomically(self._queue.bury, [holder.id])

    def sweep(self) -> None:
        """Bury every holder whose lease or process has ended."""
        now = self._queue.now()
        is_dead = self._queue.peers.is_dead
        dead = [
            holder
            for holder, expires_at, pid, started, namespace, _ in self._execute("holders")
            if not is_present(expires_at, pid, started, namespace)
            or expires_at <= now
            or is_dead(Identity(pid, started, namespace))
        ]
        if dead:
            self._queue.bury(dead)

    def _execute(self, statement: str, *args: object) -> list[Any]:
        return self._queue.store.execute(STATEMENTS[statement], args).fetchall()

    def _is_held(self, claim: Claim) -> bool:
        return bool(self._execute("held", claim.name, claim.token, claim.holder.id))

    def _lost(self, claim: Claim) -> tuple[int, str, str]:
        by = self._execute("evicted_by", claim.name, claim.token)
        return claim.serial, claim.name, f"evicted by {by[0][0]}" if by else "the engine no longer has it"

    def _note_ceiling(self) -> None:
        self._execute("note_ceiling", self._queue.store.gate.ceiling)
