"""Spans of time, as pairs of instants, and what is left of one when others are taken out of it."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

Span = tuple[float, float]


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same time in order, without overlaps."""
    found: list[Span] = []
    for since, until in sorted(span for span in spans if span[0] <= span[1]):
        if found and since <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((since, until))
    return found


def without(span: Span, taken: Sequence[Span]) -> list[Span]:
    """What is left of `span`. `taken` is in order and without overlaps, as `merged` gives it."""
    since, until = span
    left = []
    for start, end in within(span, taken):
        if since < start:
            left.append((since, start))
        since = end
    return [*left, (since, until)] if since < until else left


def within(span: Span, spans: Sequence[Span]) -> list[Span]:
    """The parts of `spans`, in order and without overlaps, that lie in `span`."""
    since, until = span
    found = []
    for start, end in spans[max(0, bisect_left(spans, (since, since)) - 1) :]:
        if start >= until:
            break
        if end > since:
            found.append((max(since, start), min(until, end)))
    return found


def length(spans: Iterable[Span]) -> float:
    return sum(until - since for since, until in spans)
