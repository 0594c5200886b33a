# Written by hand; the blocking twin under _sync is generated from it.
"""The fence that lives in the etcd it protects."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from fencepost.core.duration import check_seconds
from fencepost.core.name import check_name, check_text
from fencepost.core.url import parse_url
from fencepost.drivers.etcd import request as ask
from fencepost.drivers.etcd._async.client import AsyncClient
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.drivers.tls import TLS_OPTIONS
from fencepost.errors import Unavailable
from fencepost.fences.etcd import step
from fencepost.fences.protocol import Tokened, token_of

MARKS = "fencepost/fence/"
PATIENCE = 5.0


class AsyncEtcdFence:
    """Guards keys in the etcd that `url` names: `etcd://` or `etcds://`, as for a session.

    Every method checks the token, raises the mark and does its work in one transaction: nobody comes between. A lower
    token raises `Stale`, and nothing is read or written. The mark of a name is the key `fencepost/fence/name`, with the
    token in 19 digits, kept for ever; `marks` puts another prefix in the place of `fencepost/fence/`.

    Limits. A call that raises `Unavailable` may have been done or not; doing it again with the same token is safe where
    doing it twice is. At most 125 writes fit in one transaction, unless etcd is told otherwise.
    """

    def __init__(self, url: str, *, marks: str = MARKS, patience: float = PATIENCE) -> None:
        address = parse_url(url)
        check_text(marks, "the prefix of marks")
        check_seconds(patience, "patience")
        if address.scheme not in ("etcd", "etcds"):
            raise ValueError(f"an etcd fence takes an etcd:// or etcds:// URL, not {address.scheme}://")
        address.check_options("prefix", *(TLS_OPTIONS if address.scheme == "etcds" else ()))
        self._marks = marks
        self._client = AsyncClient(Endpoints(address), patience)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connection. The marks stay."""
        self._client.close()

    async def claim(self, name: str, grant: Tokened | int) -> None:
        """Show the token: every lower one is refused from now on."""
        await self.run(name, grant, [])

    async def highest(self, name: str) -> int:
        """The mark of `name`, 0 if no token was ever accepted. For people and tests; it decides nothing."""
        found = await self._client.read(ask.select(step.mark_key(self._marks, check_name(name))))
        return step.token_in(name, found)

    @asynccontextmanager
    async def guard(self, name: str, grant: Tokened | int) -> "AsyncIterator[AsyncGuarded]":
        """Claim, then run the block. Its reads check the token each; its writes land together when it ends.

        If somebody newer claims while the block runs, ending it raises `Stale` and none of its writes happen.
        If the block raises, none of them happen either, and the claim stands.
        """
        await self.claim(name, grant)
        block = AsyncGuarded(self, name, grant)
        yield block
        await block.land()

    async def get(self, name: str, grant: Tokened | int, key: str) -> bytes | None:
        """What stands under the key, None if nothing does."""
        (part,) = await self.run(name, grant, [ask.read(ask.select(key.encode()))])
        found = step.found_in(part)
        return found.pairs[0].value if found.pairs else None

    async def get_all(self, name: str, grant: Tokened | int, prefix: str) -> dict[str, bytes]:
        """Every key that starts with `prefix`, which must not be empty, and what stands under it."""
        start = _some(prefix).encode()
        (part,) = await self.run(name, grant, [ask.read(ask.select(start, ask.prefix_end(start)))])
        return {step.key_in(pair): pair.value for pair in step.found_in(part).pairs}

    async def put(self, name: str, grant: Tokened | int, key: str, value: str | bytes) -> None:
        await self.run(name, grant, [_put(key, value)])

    async def delete(self, name: str, grant: Tokened | int, *keys: str) -> int:
        """How many of the keys there were."""
        counts = await self.run(name, grant, [ask.delete(key.encode()) for key in keys])
        return sum(count for count in counts if isinstance(count, int))

    async def run(self, name: str, grant: Tokened | int, work: Sequence[bytes]) -> list[Any]:
        """Any parts of a transaction (see `fencepost.drivers.etcd.request`), and what each gave."""
        token = token_of(grant)
        mark = step.mark_key(self._marks, check_name(name))
        outcome = await self._client.commit(step.guarded(mark, token, work))
        if outcome is None:
            raise Unavailable("etcd lost a lease while it was being used")
        return step.parts_of(outcome, name, token, len(work))


class AsyncGuarded:
    """What a guarded block may do. Reads see what was there before the block; its own writes land at its end."""

    def __init__(self, fence: AsyncEtcdFence, name: str, grant: Tokened | int) -> None:
        self._fence = fence
        self._name = name
        self._grant = grant
        self._writes: dict[str, bytes] = {}

    async def get(self, key: str) -> bytes | None:
        return await self._fence.get(self._name, self._grant, key)

    async def get_all(self, prefix: str) -> dict[str, bytes]:
        return await self._fence.get_all(self._name, self._grant, prefix)

    def put(self, key: str, value: str | bytes) -> None:
        # etcd takes one write of each key in a transaction: the last one counts.
        self._writes[key] = _put(key, value)

    def delete(self, key: str) -> None:
        self._writes[key] = ask.delete(key.encode())

    async def land(self) -> None:
        """All writes in one step, if the token is not stale by now."""
        if self._writes:
            await self._fence.run(self._name, self._grant, list(self._writes.values()))


def _put(key: str, value: str | bytes) -> bytes:
    return ask.put(_some(key).encode(), value.encode() if isinstance(value, str) else value)


def _some(key: str) -> str:
    if not key:
        raise ValueError("a guarded key must not be empty")
    return key
