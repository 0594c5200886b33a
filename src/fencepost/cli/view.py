"""What the engine knows of a name, as plain values: the JSON that `docs/command-line.md` promises."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost.contract.answer import Snapshot, Standing
    from fencepost.core.claim import Claim
    from fencepost.core.deadlock import Wait
    from fencepost.core.job import Outcome

View = dict[str, Any]


def view(snapshot: "Snapshot") -> View:
    return {
        "name": snapshot.name,
        "holders": [_holder(each) for each in snapshot.holders],
        "waiters": [{**_standing(each), "priority": each.priority} for each in snapshot.waiters],
        "evictions": [
            {"token": each.token, "evicted": each.evicted, "by": each.by, "ago": _seconds(each.ago)}
            for each in snapshot.evictions
        ],
    }


def wait(found: "Wait") -> View:
    return {
        "waiter": found.waiter.holder.label,
        "name": found.waiter.name,
        "blocker": found.blocker.holder.label,
        "token": found.blocker.token,
    }


def last_run(outcome: "Outcome | None") -> View | None:
    return None if outcome is None else outcome._asdict()


def taken(claim: "Claim") -> View:
    return {"holder": claim.holder.label, "token": claim.token, "mode": str(claim.ask.mode), "note": claim.ask.note}


def _holder(standing: "Standing") -> View:
    return {"holder": standing.claim.holder.label, "token": standing.claim.token, **_standing(standing)}


def _standing(standing: "Standing") -> View:
    ask = standing.claim.ask
    return {
        "holder": standing.claim.holder.label,
        "mode": str(ask.mode),
        "weight": ask.weight,
        "since": _seconds(standing.since),
        "remaining": _seconds(max(0.0, standing.remaining)),
        "note": ask.note,
    }


def _seconds(value: float) -> float:
    return round(value, 3)
