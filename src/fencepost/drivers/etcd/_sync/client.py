# Generated from src/fencepost/drivers/etcd/_async/client.py by tools/unasync.py. Do not edit: run `make gen`.
"""Calls to etcd, each tried once, at whichever member answers."""

from collections.abc import Sequence

from fencepost.drivers.etcd import answer, request
from fencepost.drivers.etcd.answer import Found, Lease, Outcome, Status
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.drivers.etcd.trouble import RpcError, explain
from fencepost.drivers.etcd.wire import threads as wire


class Client:
    """Raises `Unavailable` and `Refused`; where the lease asked about is gone, it answers None."""

    def __init__(self, endpoints: Endpoints, patience: float) -> None:
        self.link = wire.Link(endpoints, patience)

    def read(self, selected: bytes) -> Found:
        return answer.found(self._call(request.KV_RANGE, selected))

    def commit(self, transaction: bytes) -> Outcome | None:
        """What came of a transaction; None if it was to put something on a lease that is gone: it did nothing."""
        try:
            return answer.outcome(self.link.call(request.KV_TXN, transaction))
        except RpcError as error:
            if error.lease_is_gone:
                return None
            return answer.outcome(self._again(error, request.KV_TXN, transaction))

    def lease_grant(self, lease: int, seconds: int) -> int:
        """For how many seconds it was granted: more than asked, if the cluster thinks that too short."""
        return answer.lease(self._call(request.LEASE_GRANT, request.lease_grant(lease, seconds))).seconds

    def lease_revoke(self, lease: int) -> None:
        """End it, and with it every key on it. One that is gone already is fine."""
        try:
            self.link.call(request.LEASE_REVOKE, request.lease_id(lease))
        except RpcError as error:
            if not error.lease_is_gone:
                self._again(error, request.LEASE_REVOKE, request.lease_id(lease))

    def lease_keep_alive(self, lease: int, *, listed: bool) -> tuple[int, list[bytes]]:
        """The seconds it has from now on, 0 if it is gone; and if `listed`, the keys on it."""
        work = [(request.LEASE_KEEP_ALIVE, request.lease_id(lease))]
        if listed:
            work.append((request.LEASE_TIME_TO_LIVE, request.lease_time_to_live(lease, keys=True)))
        found = self._calls(work)
        return answer.lease(found[0]).seconds, answer.lease(found[1]).keys if listed else []

    def leases(self, leases: Sequence[int]) -> list[Lease]:
        """How each of them stands."""
        if not leases:
            return []
        found = self._calls([(request.LEASE_TIME_TO_LIVE, request.lease_time_to_live(each)) for each in leases])
        return [answer.lease(each) for each in found]

    def status(self) -> Status:
        return answer.status(self._call(request.STATUS, b""))

    def close(self) -> None:
        self.link.close()

    def _call(self, path: str, body: bytes) -> bytes:
        try:
            return self.link.call(path, body)
        except RpcError as error:
            return self._again(error, path, body)

    def _again(self, error: RpcError, path: str, body: bytes) -> bytes:
        """A call that was not let in did not happen: let us introduce ourselves, and send it again."""
        endpoints = self.link.endpoints
        if not error.token_is_stale or endpoints.credentials is None:
            raise explain(error) from error
        endpoints.token = None
        self.link.clear()
        try:
            return self.link.call(path, body)
        except RpcError as further:
            raise explain(further) from further

    def _calls(self, work: Sequence[wire.Call]) -> list[bytes]:
        found = self.link.calls(work)
        for each, (path, body) in zip(found, work, strict=True):
            if isinstance(each, RpcError):
                again = self._again(each, path, body)
                return [again] if len(work) == 1 else self._calls(work)
        return [each for each in found if isinstance(each, bytes)]
