"""What a transaction is made of. All of its operations happen, or none."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fencepost.core.malformed import Malformed, decoder, is_integer, is_text, read_json

# More than that in one transaction, and an agent refuses it.
MOST_OPERATIONS = 128
# What `consul lock` marks its locks with, so that nothing else is taken for one.
LOCK_FLAG = 0x2DDCCBC058A50C18
Operation = dict[str, Any]


class Pair(NamedTuple):
    """A key and what stands under it. `value` is base64, as it comes; `session` is empty where nobody locks it."""

    key: str
    value: str
    session: str
    flags: int
    created: int
    modified: int


class Conflict(NamedTuple):
    """Nothing of the transaction happened, and why: by the place of the operation that failed."""

    reasons: dict[int, str]

    def says(self, *texts: str) -> bool:
        return any(all(text in reason for text in texts) for reason in self.reasons.values())


def absent(key: str) -> Operation:
    return {"KV": {"Verb": "check-not-exists", "Key": key}}


def unchanged(pair: Pair) -> Operation:
    return at_index(pair.key, pair.modified)


def at_index(key: str, index: int) -> Operation:
    return {"KV": {"Verb": "check-index", "Key": key, "Index": index}}


def lock(key: str, value: str, session: str, flags: int = 0) -> Operation:
    return {"KV": {"Verb": "lock", "Key": key, "Value": value, "Session": session, "Flags": flags}}


def change(key: str, index: int, value: str, flags: int = 0) -> Operation:
    """Only if it was not changed since `index`; 0: if it does not exist."""
    return {"KV": {"Verb": "cas", "Key": key, "Index": index, "Value": value, "Flags": flags}}


def delete(key: str) -> Operation:
    return {"KV": {"Verb": "delete", "Key": key}}


def tree(key: str) -> Operation:
    """Everything whose key begins so."""
    return {"KV": {"Verb": "get-tree", "Key": key}}


def one(key: str) -> Operation:
    """The pair; with index 0 if there is none."""
    return {"KV": {"Verb": "get-or-empty", "Key": key}}


@decoder
def pairs_of(operations: Sequence[Operation], body: bytes) -> dict[str, Pair]:
    """What stands under the keys that a transaction changed or read, after it.

    The answers stand in the order of the operations: none for some, one for most, any number for a tree. What was only
    checked is not counted: it may have been deleted further on.
    """
    answers = deque(_pair(each["KV"]) for each in read_json(body)["Results"] or ())
    found: dict[str, Pair] = {}
    for operation in operations:
        verb, key = operation["KV"]["Verb"], operation["KV"]["Key"]
        if verb == "get-tree":
            while answers and answers[0].key.startswith(key):
                pair = answers.popleft()
                found[pair.key] = pair
        elif verb == "delete":
            found.pop(key, None)
        elif verb != "check-not-exists":
            pair = answers.popleft()
            if verb != "check-index":
                found[key] = pair
    return found


@decoder
def listed(body: bytes) -> dict[str, Pair]:
    """What a read of keys returned."""
    return {pair.key: pair for pair in map(_pair, read_json(body))}


@decoder
def conflict_of(body: bytes) -> Conflict:
    errors: Iterable[dict[str, Any]] = read_json(body)["Errors"] or ()
    return Conflict({int(error["OpIndex"]): str(error["What"]) for error in errors})


def _pair(found: dict[str, Any]) -> Pair:
    pair = Pair(
        found["Key"],
        found["Value"] or "",
        found.get("Session", ""),
        found["Flags"],
        found["CreateIndex"],
        found["ModifyIndex"],
    )
    if not all(map(is_text, pair[:3])) or not all(map(is_integer, pair[4:])) or not is_integer(pair.flags, 0, 2**64):
        raise Malformed("a key is not described as an agent does")
    return pair
