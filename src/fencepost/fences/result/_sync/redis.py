# Generated from src/fencepost/fences/result/_async/redis.py by tools/unasync.py. Do not edit: run `make gen`.
"""Results in Redis or Valkey."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fencepost.core.name import check_name
from fencepost.errors import Refused
from fencepost.fences.protocol import Tokened, token_of
from fencepost.fences.redis._sync.fence import Script
from fencepost.fences.redis.source import check_client, refusal
from fencepost.fences.result.lifetime import MARK_OUTLIVES, check_result
from fencepost.fences.result.source import CLAIM, KEEP, keys_of, milliseconds


class RedisResults:
    """Results behind marks of their own, through a client of redis-py or valkey-py. As durable as that Redis is.

    A mark is forgotten a week after its result has expired, and never if that does not.
    """

    def __init__(self, client: Any) -> None:
        self._client = check_client(client, "RedisResults")
        self._claim: Script = client.register_script(CLAIM)
        self._keep: Script = client.register_script(KEEP)

    def find(self, name: str) -> str | None:
        _, key = keys_of(check_name(name))
        return _text(name, self._client.get(key))

    def claim(self, name: str, grant: Tokened | int) -> str | None:
        return _text(name, self._call(self._claim, name, grant, milliseconds(MARK_OUTLIVES)))

    def keep(self, name: str, grant: Tokened | int, value: str, expires_in: float | None) -> None:
        lasting = check_result(value, expires_in)
        lives = () if lasting is None else (milliseconds(lasting), milliseconds(lasting + MARK_OUTLIVES))
        self._call(self._keep, name, grant, value, *lives)

    @contextmanager
    def work(self) -> "Iterator[None]":
        yield

    def _call(self, script: Script, name: str, grant: Tokened | int, *args: object) -> Any:
        keys, token = keys_of(check_name(name)), token_of(grant)
        try:
            return script(keys=list(keys), args=[token, *args])
        except Exception as error:
            refused = refusal(error, name, token, keys[0])
            if refused is None:
                raise
            raise refused from None


def _text(name: str, value: Any) -> str | None:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        raise Refused(f"what is kept as the result of '{name}' is none: somebody else has written it") from None
