"""Which tick of a job has been run, by whom, and how it ended: a document that a stale runner can not change."""

from typing import Any, NamedTuple

from fencepost.core.malformed import is_integer, is_number
from fencepost.core.name import check_name
from fencepost.core.shown import shown
from fencepost.core.token import LARGEST

Document = dict[str, Any]
# A number grows from tick to tick; a text is a thing to be done once.
Tick = int | str
# How many things done once are remembered under one name.
REMEMBERED = 1000
# And how many ticks that are numbers.
REMEMBERED_TICKS = 100


class Outcome(NamedTuple):
    """The last run: `state` is running, done or failed; `error` says what failed, `took` how long it was at it."""

    tick: Tick
    token: int
    holder: str
    state: str
    error: str = ""
    took: float = 0.0


def check_tick(tick: Tick) -> Tick:
    """The tick itself, or an error that says what one is: any other would make the record unreadable for all."""
    if isinstance(tick, str):
        return check_name(tick, "a tick that is a text")
    if not isinstance(tick, int) or isinstance(tick, bool):
        raise TypeError(f"a tick is a whole number or a text, not {shown(tick)}")
    if not -LARGEST <= tick <= LARGEST:
        raise ValueError(f"a tick lies between -2**63 + 1 and 2**63 - 1, got {shown(tick)}")
    return tick


def is_job(document: Document) -> bool:
    """Whether a document that anybody may have written is one of a job."""
    done, ticks = document.get("done", []), document.get("ticks", [])
    return (
        ("last" not in document or _is_outcome(document["last"]))
        and isinstance(done, list)
        and all(_is_outcome(each) for each in done)
        and isinstance(ticks, list)
        and all(type(each) is int for each in ticks)
    )


def _is_outcome(value: object) -> bool:
    if not (isinstance(value, list) and len(value) == len(Outcome._fields)):
        return False
    outcome = Outcome(*value)
    return (
        type(outcome.tick) in (int, str)
        and is_integer(outcome.token, least=1)
        and all(isinstance(each, str) for each in (outcome.holder, outcome.error))
        and outcome.state in ("running", "done", "failed")
        and is_number(outcome.took)
    )


def last(document: Document, tick: Tick | None = None) -> Outcome | None:
    """The last run; with a tick, the last run of that, as far as it is remembered."""
    runs = [document["last"]] if "last" in document else []
    if tick is not None:
        runs = [run for run in [*document.get("done", []), *runs] if run[0] == tick]
    return Outcome(*runs[-1]) if runs else None


def begun(document: Document, tick: Tick, token: int, holder: str, *, again: bool, now: float) -> Document | None:
    """With that tick running; None if it, or a later one, was run already. With `again`, only success counts as run.

    A tick that lies ahead of `now`, seconds since 1970, was begun by a clock that is ahead of ours, or was once. It
    does not count as later, or it would stop the job for everybody until then.
    """
    before, same = last(document), last(document, tick)
    if before is not None and before.token > token:
        return None
    if same is not None and (same.state == "done" or not again):
        return None
    changed = {**document, "last": list(Outcome(tick, token, holder, "running"))}
    if isinstance(tick, int):
        ticks = _ticks(document)
        if same is None and _is_over(tick, ticks, now):
            return None
        changed["ticks"] = [*(each for each in ticks if each != tick), tick][-REMEMBERED_TICKS:]
    return changed


def _is_over(tick: int, ticks: list[int], now: float) -> bool:
    if tick in ticks or any(tick < each <= now for each in ticks):
        return True
    # What was run before the first that is remembered, nobody knows.
    return len(ticks) == REMEMBERED_TICKS and tick < min(ticks)


def _ticks(document: Document) -> list[int]:
    """Those that were begun, the latest last."""
    before = last(document)
    known = [before.tick] if before is not None and isinstance(before.tick, int) else []
    return list(document.get("ticks", known))


def ended(document: Document, outcome: Outcome) -> Document | None:
    """With that outcome; None if another run began since."""
    before = last(document)
    if before is None or before.token != outcome.token:
        return None
    changed = {**document, "last": list(outcome)}
    if isinstance(outcome.tick, str) and outcome.state == "done":
        changed["done"] = [*document.get("done", []), list(outcome)][-REMEMBERED:]
    return changed
