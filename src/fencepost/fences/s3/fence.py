"""The fence that lives in the bucket it protects."""

from collections.abc import Callable
from typing import Any

from fencepost.core.name import check_name
from fencepost.core.shown import shown
from fencepost.errors import Conflict, Refused, Stale
from fencepost.fences.protocol import Tokened, check, token_of
from fencepost.fences.s3.pointer import LARGEST, NOTHING, Pointer, content_key, decode, new_nonce

ATTEMPTS = 20
# What botocore raises for a body that is not the one its headers speak of: it was replaced while the store sent it.
TORN = "FlexibleChecksumError"
CHANGED = frozenset(("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey", "404", "412", "409"))
ABSENT = frozenset(("NoSuchKey", "404"))


class S3Fence:
    """Guards objects of `bucket`, through a client of boto3, in any store with conditional writes.

    At a guarded key stands a small pointer with the token (also in its metadata, as `fencing-token`); the content is
    an object of its own beside it. Every change is a conditional write of the pointer (`If-Match`, or `If-None-Match`
    for a new one), so checking the token and doing the work are one atomic step in the store. Safe under the client's
    own retries. Blocking: with asyncio, call it in a thread. The first change through a fence also asks the store for
    two writes that it has to refuse, and raises `Refused` if it takes one: some ignore what a write depends on.

    Limits. Others read a guarded key by `peek`, or follow the pointer. Whoever gets an error of the store does not know
    whether it was done, and may do it again; after `Stale` it was not done, unless the client has retried and somebody
    newer has written meanwhile. A writer that dies half-way, or hears no answer, may leave content that nothing points
    to, under `<key>.content/`.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        if not hasattr(client, "put_object"):
            raise TypeError(f"an S3 fence takes a client of boto3, not {type(client).__name__}")
        if hasattr(client, "__aenter__"):
            raise TypeError("an S3 fence takes a client of boto3, not one for asyncio: call the fence in a thread")
        if not isinstance(bucket, str) or not bucket:
            raise TypeError(f"a bucket is named by a text, not {shown(bucket)}")
        self._client = client
        self._bucket = bucket
        self._is_proven = False

    def claim(self, key: str, grant: Tokened | int) -> None:
        """Show the token: every lower one is refused from now on."""
        self._move(check_key(key), token_of(grant))

    def read(self, key: str, grant: Tokened | int) -> bytes | None:
        """Claim, then read: the content, or None where there is none."""
        token = token_of(grant)
        return self._follow(key, lambda: self._move(check_key(key), token))

    def write(self, key: str, grant: Tokened | int, body: bytes, **options: Any) -> None:
        """Replace the content, unless the token is stale. `options` as `put_object` takes them: `ContentType=…`."""
        token, nonce = token_of(grant), new_nonce()
        content = content_key(check_key(key), token, nonce)
        self._client.put_object(Bucket=self._bucket, Key=content, Body=body, **options)
        try:
            self._replace(key, token, nonce, content)
        except Stale:
            # Only here is it sure that nothing points to it, now or later: what stands at the key is newer than all
            # that we have asked for. After any other error our pointer may be there, or may still be on its way.
            self._forget(content)
            raise

    def delete(self, key: str, grant: Tokened | int) -> None:
        """Take the content away, unless the token is stale. The mark stays."""
        self._replace(check_key(key), token_of(grant), new_nonce(), None)

    def peek(self, key: str) -> bytes | None:
        """The content, past the fence: for those who only look."""
        return self._follow(key, lambda: self._look(check_key(key))[0])

    def highest(self, key: str) -> int:
        """The mark of `key`, 0 if no token was ever accepted. For people and tests; it decides nothing."""
        return self._look(check_key(key))[0].token

    def _replace(self, key: str, token: int, nonce: str, content: str | None) -> None:
        before = self._swing(key, token, nonce, lambda _: content)
        if before.content is not None and before.content != content:
            self._forget(before.content)

    def _move(self, key: str, token: int) -> Pointer:
        """Raise the mark and leave the content as it is."""
        pointer, _ = self._look(key)
        if check(key, token, pointer.token) == pointer.token:
            return pointer
        return self._swing(key, token, new_nonce(), lambda before: before.content)

    def _swing(self, key: str, token: int, nonce: str, content: Callable[[Pointer], str | None]) -> Pointer:
        """Put a pointer of ours where another was; that other one. Whoever was quicker is looked at again."""
        before = NOTHING
        for _ in range(ATTEMPTS):
            found, etag = self._look(key)
            if found.bears(nonce):
                # Done: the answer was lost, and the client has asked again.
                return before
            before = found
            check(key, token, before.token)
            pointer = before.moved(token, nonce, content(before))
            condition = {"IfNoneMatch": "*"} if etag is None else {"IfMatch": etag}
            try:
                self._put(key, pointer, condition)
            except Exception as error:
                if _code(error) not in CHANGED:
                    raise
                continue
            self._prove(key, pointer)
            return before
        raise Conflict(f"the object '{key}' was changed {ATTEMPTS} times while we tried: try again")

    def _put(self, key: str, pointer: Pointer, condition: dict[str, str]) -> None:
        self._client.put_object(
            Bucket=self._bucket, Key=key, Body=pointer.encode(), Metadata=pointer.metadata, **condition
        )

    def _prove(self, key: str, pointer: Pointer) -> None:
        """Once: ask for what has to be refused, as something else stands there. Granted, it would change nothing."""
        for condition in () if self._is_proven else ({"IfMatch": f'"{new_nonce() * 2}"'}, {"IfNoneMatch": "*"}):
            try:
                self._put(key, pointer, condition)
            except Exception as error:
                if _code(error) not in CHANGED:
                    raise
            else:
                (name,) = condition
                raise Refused(f"this store ignores {name}, and would let stale tokens pass: nothing in it is fenced")
        self._is_proven = True

    def _look(self, key: str) -> tuple[Pointer, str | None]:
        for _ in range(ATTEMPTS):
            try:
                found = self._client.get_object(Bucket=self._bucket, Key=key)
                # Read as a whole, or one that was torn would not be noticed.
                is_large = found.get("ContentLength", 0) > LARGEST
                return decode(key, b"" if is_large else found["Body"].read()), found["ETag"]
            except Exception as error:
                if _code(error) in ABSENT:
                    return NOTHING, None
                if type(error).__name__ != TORN:
                    raise
        raise Conflict(f"the object '{key}' was changed {ATTEMPTS} times while we looked: try again")

    def _follow(self, key: str, look: Callable[[], Pointer]) -> bytes | None:
        """The content that the pointer leads to; if somebody replaced it meanwhile, look again."""
        for _ in range(ATTEMPTS):
            pointer = look()
            if pointer.content is None:
                return None
            try:
                found = self._client.get_object(Bucket=self._bucket, Key=pointer.content)
                body: bytes = found["Body"].read()
                return body
            except Exception as error:
                if _code(error) not in ABSENT:
                    raise
        raise Conflict(f"the object '{key}' was replaced {ATTEMPTS} times while it was read: try again")

    def _forget(self, content: str) -> None:
        try:
            self._client.delete_object(Bucket=self._bucket, Key=content)
        except Exception:
            # Nothing points to it: it takes room and does no harm.
            pass


def check_key(key: str) -> str:
    """The key itself, or an error that says what to change. Stores take fewer bytes, and say so."""
    return check_name(key, "the key of an object")


def _code(error: Exception) -> str:
    response: Any = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))
