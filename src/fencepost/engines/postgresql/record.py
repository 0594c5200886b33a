"""Claims as the server writes them down, and the answers that are made of them."""

import json
from typing import Any

from fencepost.contract.answer import Eviction, Snapshot, Standing
from fencepost.core.claim import Ask, Claim, Mode
from fencepost.core.holder import Holder


def claim_of(record: list[Any]) -> Claim:
    holder, label, serial, name, mode, weight, most, note, token = record
    return Claim(Holder(holder, label or ""), serial, Ask(name, Mode(mode), weight, most, note), token)


def claims_of(text: bytes | None) -> tuple[Claim, ...]:
    return tuple(claim_of(record) for record in json.loads(text or b"[]"))


def snapshot_of(name: str, text: bytes | None) -> Snapshot:
    found = json.loads(text or b"{}")
    standings = [Standing(claim_of(record), *rest) for record, *rest in found["standing"]]
    return Snapshot(
        name,
        holders=tuple(each for each in standings if each.claim.token is not None),
        waiters=tuple(each for each in standings if each.claim.token is None),
        evictions=tuple(Eviction(name, *record) for record in found["evictions"]),
    )
