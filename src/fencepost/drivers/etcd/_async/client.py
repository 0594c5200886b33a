# Written by hand; the blocking twin under _sync is generated from it.
"""Calls to etcd, each tried once, at whichever member answers."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd import answer, request
from fencepost.drivers.etcd.answer import Found, Lease, Outcome, Status
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.drivers.etcd.trouble import RpcError, explain
from fencepost.drivers.etcd.wire import aio as wire

T = TypeVar("T")


class AsyncClient:
    """Raises `Unavailable` and `Refused`; where the lease asked about is gone, it answers None."""

    def __init__(self, endpoints: Endpoints, patience: float) -> None:
        self.link = wire.Link(endpoints, patience)

    async def read(self, selected: bytes) -> Found:
        return self._read(answer.found, await self._call(request.KV_RANGE, selected))

    async def commit(self, transaction: bytes) -> Outcome | None:
        """What came of a transaction; None if it was to put something on a lease that is gone: it did nothing."""
        try:
            answered = await self.link.call(request.KV_TXN, transaction)
        except RpcError as error:
            if error.lease_is_gone:
                return None
            answered = await self._again(error, request.KV_TXN, transaction)
        return self._read(answer.outcome, answered)

    async def lease_grant(self, lease: int, seconds: int) -> int:
        """For how many seconds it was granted: more than asked, if the cluster thinks that too short."""
        answered = await self._call(request.LEASE_GRANT, request.lease_grant(lease, seconds))
        return self._read(answer.lease, answered).seconds

    async def lease_revoke(self, lease: int) -> None:
        """End it, and with it every key on it. One that is gone already is fine."""
        try:
            await self.link.call(request.LEASE_REVOKE, request.lease_id(lease))
        except RpcError as error:
            if not error.lease_is_gone:
                await self._again(error, request.LEASE_REVOKE, request.lease_id(lease))

    async def lease_keep_alive(self, lease: int, *, listed: bool) -> tuple[int, list[bytes]]:
        """The seconds it has from now on, 0 if it is gone; and if `listed`, the keys on it."""
        work = [(request.LEASE_KEEP_ALIVE, request.lease_id(lease))]
        if listed:
            work.append((request.LEASE_TIME_TO_LIVE, request.lease_time_to_live(lease, keys=True)))
        found = await self._calls(work)
        kept = [self._read(answer.lease, each) for each in found]
        return kept[0].seconds, kept[1].keys if listed else []

    async def leases(self, leases: Sequence[int]) -> list[Lease]:
        """How each of them stands."""
        if not leases:
            return []
        found = await self._calls([(request.LEASE_TIME_TO_LIVE, request.lease_time_to_live(each)) for each in leases])
        return [self._read(answer.lease, each) for each in found]

    async def status(self) -> Status:
        return self._read(answer.status, await self._call(request.STATUS, b""))

    def close(self) -> None:
        self.link.close()

    def _read(self, decode: Callable[[bytes], T], answered: bytes) -> T:
        try:
            return decode(answered)
        except Malformed:
            self.link.distrust()
            raise

    async def _call(self, path: str, body: bytes) -> bytes:
        try:
            return await self.link.call(path, body)
        except RpcError as error:
            return await self._again(error, path, body)

    async def _again(self, error: RpcError, path: str, body: bytes) -> bytes:
        """A call that was not let in did not happen: let us introduce ourselves, and send it again."""
        self._introduce(error)
        try:
            return await self.link.call(path, body)
        except RpcError as further:
            raise explain(further) from further

    def _introduce(self, error: RpcError) -> None:
        """Say anew who we are with the next call, if that was what stood in the way."""
        endpoints = self.link.endpoints
        if not error.token_is_stale or endpoints.credentials is None:
            raise explain(error) from error
        endpoints.token = None
        self.link.clear()

    async def _calls(self, work: Sequence[request.Call]) -> list[bytes]:
        found = await self.link.calls(work)
        failed = next((each for each in found if isinstance(each, RpcError)), None)
        if failed is not None:
            self._introduce(failed)
            found = await self.link.calls(work)
        answered: list[bytes] = []
        for each in found:
            if isinstance(each, RpcError):
                raise explain(each) from each
            answered.append(each)
        return answered
