"""Which tick of a job has been run, by whom, and how it ended: a document that a stale runner can not change."""

from typing import Any, NamedTuple

Document = dict[str, Any]
# A number grows from tick to tick; a text is a thing to be done once.
Tick = int | str


class Outcome(NamedTuple):
    """The last run: `state` is running, done or failed; `error` says what failed, `took` how long it was at it."""

    tick: Tick
    token: int
    holder: str
    state: str
    error: str = ""
    took: float = 0.0


def last(document: Document) -> Outcome | None:
    return Outcome(*document["last"]) if "last" in document else None


def begun(document: Document, tick: Tick, token: int, holder: str, *, again: bool) -> Document | None:
    """With that tick running; None if it, or a later one, was run already. With `again`, only success counts as run."""
    before = last(document)
    if before is not None:
        if before.token > token:
            return None
        if isinstance(before.tick, int) and isinstance(tick, int) and before.tick > tick:
            return None
        if before.tick == tick and (before.state == "done" or not again):
            return None
    return {"last": list(Outcome(tick, token, holder, "running"))}


def ended(document: Document, outcome: Outcome) -> Document | None:
    """With that outcome; None if another run began since."""
    before = last(document)
    if before is None or before.token != outcome.token:
        return None
    return {"last": list(outcome)}
