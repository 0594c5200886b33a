"""What stands in the data of nodes: of ours, of other clients', and of evictions."""

import json
from hashlib import sha256
from typing import NamedTuple

from fencepost.core.claim import Claim
from fencepost.core.holder import Holder
from fencepost.core.malformed import STUMBLES, is_integer, is_number, is_text
from fencepost.engines.zookeeper.contender import Contender

MOST_FOREIGN = 200


class Card(NamedTuple):
    """What a contender of ours says about itself, for people."""

    label: str
    ttl: float
    note: str = ""
    # Whether it held the lock alone, and goes on as a reader.
    shared: bool = False

    def pack(self) -> bytes:
        about: dict[str, object] = {"holder": self.label, "ttl": self.ttl, "note": self.note}
        if self.shared:
            about["shared"] = True
        return json.dumps(about, ensure_ascii=False).encode()


def card_of(contender: Contender, data: bytes) -> Card:
    """Of another client's node its data is the label, as kazoo's `identifier`, or its name if there is none."""
    if contender.owner is not None:
        try:
            found = json.loads(data)
            shared = found.get("shared") is True
            card = Card(found["holder"], found["ttl"], found["note"], shared)
            if is_text(card.label) and is_text(card.note) and is_number(card.ttl):
                return card
        except STUMBLES:
            pass
    return Card(data.decode(errors="replace")[:MOST_FOREIGN] or contender.node, 0.0)


def as_it_is(contender: Contender, data: bytes) -> Contender:
    """The contender with what its data says, too."""
    return contender.as_reader() if card_of(contender, data).shared else contender


def claim_of(contender: Contender, data: bytes, token: int | None) -> Claim:
    card = card_of(contender, data)
    holder_id, serial = contender.owner or (contender.node, 0)
    ask = as_it_is(contender, data).ask._replace(note=card.note)
    return Claim(Holder(holder_id, card.label), serial, ask, token)


# Evictions: a sequential node each, whose name begins with what its lock is found by.


def audit_stem(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:16] + "-"


def pack_eviction(claim: Claim, by: str) -> bytes:
    record = {"name": claim.name, "token": claim.token, "holder": claim.holder.label, "by": by}
    return json.dumps(record, ensure_ascii=False).encode()


class Evicted(NamedTuple):
    name: str
    token: int
    label: str
    by: str


def eviction_of(data: bytes) -> Evicted | None:
    try:
        found = json.loads(data)
        record = Evicted(found["name"], found["token"], found["holder"], found["by"])
    except STUMBLES:
        return None
    name, token, label, by = record
    return record if is_integer(token) and all(map(is_text, (name, label, by))) else None
