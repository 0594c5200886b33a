# Generated from src/fencepost/fences/redis/_async/fence.py by tools/unasync.py. Do not edit: run `make gen`.
"""The fence that lives in the Redis it protects."""

from collections.abc import Iterator, Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fencepost.core.duration import check_seconds
from fencepost.core.name import check_name
from fencepost.fences.protocol import Tokened, token_of
from fencepost.fences.redis.source import RUN, check_client, check_length, guarded, mark_key, mark_of, refusal, words

Value = str | bytes | int | float
Script = Callable[..., Any]


class RedisFence:
    """Guards what is in the Redis of `client`, a client of redis-py or valkey-py, cluster clients included.

    Every method checks the token, raises the mark and does its work in one script: nobody comes between. A lower
    token raises `Stale`, and nothing is read or written. Values come back as the client decodes them.

    The mark of a name is a key of its own, kept for ever, in the cluster slot of the name; in a cluster the guarded
    keys must be in that slot, too, such as '{orders/42}:total' for the name 'orders/42'.

    Limits. A mark is as durable as the Redis it is in: a server that loses its memory, or a fail-over to a replica
    that lags, forgets marks, and then an older token may pass again. Redis undoes nothing: a script that fails
    half-way leaves what it did before, and the claim stands. A client that retries runs a guarded script twice.
    """

    def __init__(self, client: Any) -> None:
        self._client = check_client(client, "RedisFence")
        self._run: Script = client.register_script(guarded(RUN))

    def claim(self, name: str, grant: Tokened | int) -> None:
        """Show the token: every lower one is refused from now on."""
        self._call(name, grant, self._run, [], [])

    def highest(self, name: str) -> int:
        """The mark of `name`, 0 if no token was ever accepted. For people and tests; it decides nothing."""
        key = mark_key(check_name(name))
        found = self._client.get(key)
        return 0 if found is None else mark_of(name, found, key)

    def script(self, lua: str) -> "FencedScript":
        """The caller's own Lua, behind the check: called as `script(name, grant, keys=[…], args=[…])`."""
        return FencedScript(self, self._client.register_script(guarded(lua)))

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

    def get(self, name: str, grant: Tokened | int, key: str) -> Any:
        return self._one(name, grant, "GET", key)

    def set(
        self, name: str, grant: Tokened | int, key: str, value: Value, *, expires_in: float | None = None
    ) -> None:
        self._one(name, grant, "SET", key, value, *_expiry(expires_in))

    def delete(self, name: str, grant: Tokened | int, *keys: str) -> int:
        """How many of the keys there were."""
        return int(self.run(name, grant, list(keys), [("DEL", *keys)]))

    def hget(self, name: str, grant: Tokened | int, key: str, field: str) -> Any:
        return self._one(name, grant, "HGET", key, field)

    def hgetall(self, name: str, grant: Tokened | int, key: str) -> dict[Any, Any]:
        found = self._one(name, grant, "HGETALL", key)
        return dict(zip(found[::2], found[1::2], strict=True))

    def hset(self, name: str, grant: Tokened | int, key: str, mapping: Mapping[str, Value]) -> None:
        pairs = (word for pair in mapping.items() for word in pair)
        self._one(name, grant, "HSET", key, *pairs)

    def hdel(self, name: str, grant: Tokened | int, key: str, *fields: str) -> int:
        """How many of the fields there were."""
        return int(self._one(name, grant, "HDEL", key, *fields))

    def run(
        self, name: str, grant: Tokened | int, keys: Sequence[str], commands: list[tuple[object, ...]]
    ) -> Any:
        """Any commands on `keys`, in one step; what the last one answers."""
        return self._call(name, grant, self._run, keys, words(commands))

    def _one(self, name: str, grant: Tokened | int, command: str, key: str, *rest: object) -> Any:
        return self.run(name, grant, [key], [(command, key, *rest)])

    def _call(
        self, name: str, grant: Tokened | int, script: Script, keys: Sequence[str], args: Sequence[object]
    ) -> Any:
        mark, token = mark_key(check_name(name)), token_of(grant)
        try:
            return script(keys=[mark, *keys], args=[token, *args])
        except Exception as error:
            refused = refusal(error, name, token, mark)
            if refused is None:
                raise
            raise refused from None


class FencedScript:
    """A script of the caller's that runs only for a token that is not stale."""

    def __init__(self, fence: RedisFence, script: Script) -> None:
        self._fence = fence
        self._script = script

    def __call__(
        self, name: str, grant: Tokened | int, keys: Sequence[str] = (), args: Sequence[object] = ()
    ) -> Any:
        """Run it. It sees `keys` as KEYS and `args` as ARGV, as if it stood alone."""
        return self._fence._call(name, grant, self._script, keys, args)


class Guarded:
    """What a guarded block may do. Reads see what was there before the block; its own writes land at its end."""

    def __init__(self, fence: RedisFence, name: str, grant: Tokened | int) -> None:
        self._fence = fence
        self._name = name
        self._grant = grant
        self._keys: dict[str, None] = {}
        self._writes: list[tuple[object, ...]] = []

    def get(self, key: str) -> Any:
        return self._fence.get(self._name, self._grant, key)

    def hget(self, key: str, field: str) -> Any:
        return self._fence.hget(self._name, self._grant, key, field)

    def hgetall(self, key: str) -> dict[Any, Any]:
        return self._fence.hgetall(self._name, self._grant, key)

    def set(self, key: str, value: Value, *, expires_in: float | None = None) -> None:
        self._write([key], "SET", key, value, *_expiry(expires_in))

    def delete(self, *keys: str) -> None:
        self._write(keys, "DEL", *keys)

    def hset(self, key: str, mapping: Mapping[str, Value]) -> None:
        self._write([key], "HSET", key, *(word for pair in mapping.items() for word in pair))

    def hdel(self, key: str, *fields: str) -> None:
        self._write([key], "HDEL", key, *fields)

    def _write(self, keys: Sequence[str], *command: object) -> None:
        self._keys.update(dict.fromkeys(keys))
        self._writes.append(check_length(command))

    def land(self) -> None:
        """All writes in one step, if the token is not stale by now."""
        if self._writes:
            self._fence.run(self._name, self._grant, list(self._keys), self._writes)


def _expiry(seconds: float | None) -> tuple[object, ...]:
    return () if seconds is None else ("PX", max(1, int(check_seconds(seconds, "expires_in") * 1000)))
