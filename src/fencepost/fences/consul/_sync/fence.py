# Generated from src/fencepost/fences/consul/_async/fence.py by tools/unasync.py. Do not edit: run `make gen`.
"""The fence that lives in the Consul it protects."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fencepost._runtime import threads as runtime
from fencepost.core.malformed import Malformed
from fencepost.core.name import check_name, check_text
from fencepost.errors import Unavailable
from fencepost.fences.consul.agent import Agent, Conflict, Operation
from fencepost.fences.consul.mark import Mark, look, mark_key, put, read_mark, remove, show, value_of
from fencepost.fences.protocol import Tokened, check, token_of

MOST_ATTEMPTS = 100


class ConsulFence:
    """Guards what is in the key-value store of the agent at `url`.

    Every method checks the token, raises the mark and does its work in one transaction: nobody comes between. A
    lower token raises `Stale`, and nothing is read or written. The mark of a name is a key of its own, kept for ever,
    below `<prefix>.fencepost/fence/`. Values are bytes.

    Limits: a transaction has at most 128 operations. An `Unavailable` means that what was asked may or may not have
    happened; asking again with the same token is safe where doing it twice is.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8500",
        *,
        token: str | None = None,
        prefix: str = "",
        context: ssl.SSLContext | None = None,
        timeout: float = 5.0,
    ) -> None:
        self._agent = Agent(url, token=token, context=context, timeout=timeout)
        self._prefix = check_text(prefix, "the prefix of marks")
        # As last seen. If it was raised since, the transaction fails, and it is read again.
        self._marks: dict[str, Mark] = {}

    def claim(self, name: str, grant: Tokened | int) -> None:
        """Show the token: every lower one is refused from now on."""
        self.run(name, grant, [])

    def highest(self, name: str) -> int:
        """The mark of `name`, 0 if no token was ever accepted. For people and tests; it decides nothing."""
        return (self._look(mark_key(self._prefix, check_name(name)))).token

    def get(self, name: str, grant: Tokened | int, key: str) -> bytes | None:
        found = self.run(name, grant, [look(key)])
        if len(found) != 2:
            raise Malformed("consul answered without what it was asked for")
        return value_of(found[1])

    def set(self, name: str, grant: Tokened | int, key: str, value: str | bytes) -> None:
        self.run(name, grant, [put(key, value)])

    def delete(self, name: str, grant: Tokened | int, key: str) -> None:
        self.run(name, grant, [remove(key)])

    @contextmanager
    def guard(self, name: str, grant: Tokened | int) -> "Iterator[Guarded]":
        """Claim, then run the block. Its reads check the token each; its writes land together when it ends.

        If somebody newer claims while the block runs, ending it raises `Stale` and none of its writes happen.
        If the block raises, none of them happen either, and the claim stands.
        """
        self.claim(name, grant)
        block = Guarded(self, name, grant)
        yield block
        block.land()

    def run(self, name: str, grant: Tokened | int, operations: list[Operation]) -> list[dict[str, Any]]:
        """Any operations of Consul's own (`{"Verb": …, "Key": …}`), in one step; what it answers to each."""
        key = mark_key(self._prefix, check_name(name))
        token = token_of(grant)
        for _ in range(MOST_ATTEMPTS):
            mark = self._marks.get(key)
            if mark is None or token < mark.token:
                mark = self._look(key)
            check(name, token, mark.token)
            found = runtime.in_thread(self._agent.transact, [show(key, token, mark), *operations])
            if not isinstance(found, Conflict):
                if not found:
                    raise Malformed("consul answered without the mark")
                self._marks[key] = Mark(token, found[0]["ModifyIndex"])
                return found
            # Somebody showed a token meanwhile, or what was asked for beside it is not so.
            self._marks.pop(key, None)
            if 0 not in found.places:
                raise ValueError(f"consul refused operation {min(found.places)} of those guarded by '{name}'")
        raise Unavailable(f"the mark of '{name}' changed {MOST_ATTEMPTS} times while it was shown a token: try again")

    def close(self) -> None:
        """Let go of the connections. Marks stay."""
        self._agent.close()

    def _look(self, key: str) -> Mark:
        found = runtime.in_thread(self._agent.transact, [look(key)])
        if isinstance(found, Conflict) or not found:
            raise Unavailable("consul did not read the mark: try again")
        mark = self._marks[key] = read_mark(found[0])
        return mark


class Guarded:
    """What a guarded block may do. Reads see what was there before the block; its own writes land at its end."""

    def __init__(self, fence: ConsulFence, name: str, grant: Tokened | int) -> None:
        self._fence = fence
        self._name = name
        self._grant = grant
        self._writes: list[Operation] = []

    def get(self, key: str) -> bytes | None:
        return self._fence.get(self._name, self._grant, key)

    def set(self, key: str, value: str | bytes) -> None:
        self._writes.append(put(key, value))

    def delete(self, key: str) -> None:
        self._writes.append(remove(key))

    def land(self) -> None:
        """All writes in one step, if the token is not stale by now."""
        if self._writes:
            self._fence.run(self._name, self._grant, self._writes)
