"""How long a mark is remembered after its result has expired."""

# A worker that is paused for longer than this, and wakes up after its result has expired, is not known any more.
MARK_OUTLIVES = 7 * 86_400.0
