"""Claims as the server writes them down, and the answers that are made of them."""

from typing import Any

from fencepost.contract.answer import Eviction, Snapshot, Standing
from fencepost.core.claim import Ask, Claim, Mode
from fencepost.core.holder import Holder
from fencepost.core.malformed import Malformed, decoder, is_integer, is_number, is_text, read_json
from fencepost.engines.postgresql.query import Rows, words
from fencepost.errors import Refused


def claim_of(record: list[Any]) -> Claim:
    """`Refused` if somebody else has changed what stands in the table."""
    try:
        holder, label, serial, name, mode, weight, most, note, token = record
        ask = Ask(name, Mode(mode), weight, most, note)
        well_formed = all(map(is_text, (holder, label or "", name, note))) and all(
            map(is_integer, (serial, weight, most))
        )
    except (ValueError, TypeError):
        well_formed = False
    if not well_formed or not (token is None or is_integer(token)):
        raise Refused(f"a row in the table of claims is not as fencepost writes it: {record!r:.200}")
    return Claim(Holder(holder, label or ""), serial, ask, token)


@decoder
def claims_of(text: bytes | None) -> tuple[Claim, ...]:
    return tuple(claim_of(record) for record in read_json(text or b"[]"))


@decoder
def reasons_of(rows: Rows) -> dict[int, str]:
    """By token, who evicted whoever had it."""
    return {int(token or 0): f"evicted by {words(by)}" for token, by in rows}


@decoder
def answer_of(text: bytes | None) -> dict[str, Any]:
    """What a claim was answered, where that is more than a token."""
    found = read_json(text or b"{}")
    if not isinstance(found, dict):
        raise Malformed("a claim was answered by what is no answer")
    return found


@decoder
def snapshot_of(name: str, text: bytes | None) -> Snapshot:
    found = read_json(text or b"{}")
    standings = [_standing_of(record, *rest) for record, *rest in found["standing"]]
    return Snapshot(
        name,
        holders=tuple(each for each in standings if each.claim.token is not None),
        waiters=tuple(each for each in standings if each.claim.token is None),
        evictions=tuple(_eviction_of(name, *record) for record in found["evictions"]),
    )


def _standing_of(record: list[Any], since: object, left: object, priority: int) -> Standing:
    return Standing(claim_of(record), _seconds(since), _seconds(left), priority)


def _eviction_of(name: str, token: int, evicted: str, by: str, since: object) -> Eviction:
    return Eviction(name, token, evicted, by, _seconds(since))


def _seconds(value: object) -> float:
    """Never and always, which a stranger may have written, are no numbers in JSON, and are told as an end of time."""
    return float(value) if isinstance(value, int | float) and is_number(value) else 0.0
