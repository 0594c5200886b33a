# Written by hand; the blocking twin under _sync is generated from it.
"""A cluster: each slot has its own server, and may move."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost.core.holder import Holder
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.drivers.tls import TLS_OPTIONS
from fencepost.engines.redis._async.engine import AsyncRedisEngine
from fencepost.engines.redis._async.server import AsyncLimit, AsyncNode, AsyncServer
from fencepost.engines.redis.address import OPTIONS, Address, addresses
from fencepost.engines.redis.cluster.slot import moved_to, ranges_of
from fencepost.engines.redis.key import SLOTS, Shard, shard_of, slot_of
from fencepost.engines.redis.resp import Reply, ReplyError, pack
from fencepost.engines.redis.script import Script
from fencepost.engines.redis.shape import is_page
from fencepost.engines.redis.trouble import explain, shared_cause, strange
from fencepost.engines.redis.wire import aio as wire
from fencepost.errors import EngineError, Unavailable

# How often a server may say that there are more keys.
MOST_PAGES = 10_000


class AsyncCluster(AsyncServer):
    """Knows which server has which slot, and asks again after a failure. A redirected call did not run."""

    clustered = True

    def __init__(self, seeds: list[Address], patience: float) -> None:
        self._seeds = seeds
        self._patience = patience
        self._nodes: dict[tuple[str, int], AsyncNode] = {}
        self._slots: dict[int, AsyncNode] = {}
        self._mapping = runtime.Turn(Unavailable)

    async def run(self, script: Script, command: bytes, slot: int) -> Reply:
        node = self._slots.get(slot)
        if node is None:
            async with AsyncLimit(self._patience):
                return await self._run(await self._find(slot), script, command, slot)
        return await self._run(node, script, command, slot)

    async def _run(self, node: AsyncNode, script: Script, command: bytes, slot: int) -> Reply:
        try:
            reply = await node.link.call(command)
            if type(reply) is int and script.counts:
                return reply
            return await self._settle(node, script, command, slot, reply)
        except Unavailable:
            self._distrust(node)
            raise

    async def run_and_wait(self, script: Script, command: bytes, slot: int, replicas: int) -> tuple[Reply, int]:
        node = self._slots.get(slot) or await self._find(slot)
        try:
            return await node.run_and_wait(script, command, replicas)
        except Unavailable:
            self._distrust(node)
            raise

    async def try_all(self, script: Script, commands: Sequence[tuple[int, bytes]]) -> list[Reply | EngineError]:
        """All servers at once, each with all that is for it."""
        replies: list[Reply | EngineError] = [None] * len(commands)
        groups: dict[AsyncNode, list[int]] = {}
        trouble: EngineError | None = None
        for index, (slot, _) in enumerate(commands):
            node = self._slots.get(slot)
            if node is None and trouble is None:
                try:
                    node = await self._find(slot)
                except EngineError as error:
                    # Nobody says where the other slots are, either: to ask for each of them takes too long.
                    trouble = error
            if node is None:
                replies[index] = trouble
            else:
                groups.setdefault(node, []).append(index)
        work = [
            (node.link, b"".join(commands[index][1] for index in indices), len(indices))
            for node, indices in groups.items()
        ]
        for (node, indices), found in zip(groups.items(), await wire.scatter(work), strict=True):
            if isinstance(found, EngineError):
                self._distrust(node)
                found = [found] * len(indices)
            for index, reply in zip(indices, found, strict=True):
                if not isinstance(reply, EngineError):
                    slot, command = commands[index]
                    try:
                        reply = await self._settle(node, script, command, slot, reply)
                    except EngineError as error:
                        self._distrust(node)
                        reply = error
                replies[index] = reply
        return replies

    async def indices(self) -> list[tuple[int, bytes]]:
        """Looked for on every server that has slots now. What is known of slots may be old, or lack those of a server
        that failed: then its names would be left out in silence.
        """
        async with self._mapping:
            owners = await self._map()
        missing = next((slot for slot in range(SLOTS) if slot not in owners), None)
        if missing is not None:
            raise _nobody_has(missing)
        found = []
        for node in dict.fromkeys(owners.values()):
            cursor = b"0"
            for _ in range(MOST_PAGES):
                reply = await node.link.call(pack("SCAN", cursor, "MATCH", "fencepost{*}?names", "COUNT", 10_000))
                if isinstance(reply, ReplyError):
                    raise explain(reply, node.address)
                if not is_page(reply):
                    node.link.reset()
                    raise strange(node.address)
                cursor, keys = reply
                found += [(slot_of(key), key) for key in keys]
                if cursor == b"0":
                    break
                if runtime.time_left() <= 0:
                    raise Unavailable(f"redis at {node.address} has more keys than could be looked through in time")
            else:
                raise Unavailable(f"redis at {node.address} has more keys than can be looked through")
        return sorted(set(found))

    async def listening_at(self) -> Address:
        """Anywhere: what is published at one server of a cluster is heard at all."""
        await self._find(0)
        return random.choice(list(self._slots.values())).address

    def close(self) -> None:
        for node in list(self._nodes.values()):
            node.close()

    def _distrust(self, node: AsyncNode) -> None:
        """Its slots may be elsewhere by now. Others are asked for that first: it may not answer again."""
        for slot in [slot for slot, owner in self._slots.copy().items() if owner is node]:
            self._slots.pop(slot, None)
        address = (node.address.host, node.address.port)
        if self._nodes.pop(address, None) is not None:
            self._nodes[address] = node

    async def _settle(self, node: AsyncNode, script: Script, command: bytes, slot: int, reply: Reply) -> Reply:
        if type(reply) is not ReplyError or reply.code != "MOVED":
            # ASK and TRYAGAIN: the slot is on its way. A script with several keys runs nowhere until it has arrived.
            return await node.settle(script, command, reply)
        where = moved_to(reply)
        if where is None:
            raise explain(reply, node.address)
        other = self._slots[slot] = self._node_at(where[0] or node.address.host, where[1])
        return await other.run(script, command)

    def _node_at(self, host: str, port: int) -> AsyncNode:
        node = self._nodes.get((host, port))
        if node is None:
            node = self._nodes[host, port] = AsyncNode(self._seeds[0].at(host, port), self._patience)
        return node

    async def _find(self, slot: int) -> AsyncNode:
        until = boottime() + self._patience
        async with AsyncLimit(self._patience), self._mapping:
            if slot not in self._slots:
                if boottime() >= until:
                    raise Unavailable("the cluster was asked by another which server has which slot, and did not say")
                await self._map()
            node = self._slots.get(slot)
        if node is None:
            raise _nobody_has(slot)
        return node

    async def _map(self) -> dict[int, AsyncNode]:
        """Ask whoever answers first, those that are known before those that the URL names."""
        known = [*self._nodes.values(), *(self._node_at(seed.host, seed.port) for seed in self._seeds)]
        failures: list[EngineError] = []
        nodes = list(dict.fromkeys(known))
        until = boottime() + self._patience
        for number, node in enumerate(nodes):
            # Half of what is left of the time, so that a silent one leaves some for the next.
            share = (until - boottime()) / min(2, len(nodes) - number)
            try:
                async with AsyncLimit(share):
                    reply = await node.link.call(pack("CLUSTER", "SLOTS"))
                if isinstance(reply, ReplyError):
                    raise explain(reply, node.address)
                ranges = ranges_of(reply)
                if ranges is None:
                    node.link.reset()
                    raise strange(node.address)
            except EngineError as error:
                self._distrust(node)
                failures.append(error)
                continue
            owners: dict[int, AsyncNode] = {}
            for slots, host, port in ranges:
                owners.update(dict.fromkeys(slots, self._node_at(host or node.address.host, port)))
            self._slots.update(owners)
            return owners
        why = "; ".join(str(error) for error in failures)
        raise Unavailable(f"no server of the cluster answers: {why}") from shared_cause(failures)


def _nobody_has(slot: int) -> Unavailable:
    return Unavailable(f"no server of the cluster has slot {slot}")


class AsyncClusterEngine(AsyncRedisEngine):
    """redis+cluster://host:6379,host:6379"""

    traits: ClassVar[Traits] = replace(AsyncRedisEngine.traits, together=False)

    def _connect(self, url: Url, patience: float) -> AsyncServer:
        url.check_options(*OPTIONS, "tls", *TLS_OPTIONS)
        if url.path.strip("/"):
            raise ValueError(f"a cluster has one database only: write {url.scheme}://host:6379,host:6379")
        return AsyncCluster(addresses(url), patience)

    def _home(self, holder: Holder) -> tuple[int, Shard]:
        slot = slot_of(holder.id.encode())
        return slot, shard_of(slot)


AsyncEngine = AsyncClusterEngine
