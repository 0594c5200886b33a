"""How somebody else's value stands in a message: on one line, short, whatever it is."""

from fencepost.errors import printable

MOST_SHOWN = 60


def described(error: BaseException) -> str:
    """Its kind and what it says, of an error of somebody else's code: it may even fail to say anything."""
    kind = type(error).__name__
    try:
        return f"{kind}: {error}"
    except Exception:
        return kind


def shown(value: object) -> str:
    """The value as a person would write it. Texts are in quotes."""
    if isinstance(value, str):
        # Cut first: a text may be as long as it likes.
        more = "…" if len(value) > MOST_SHOWN else ""
        return f"'{printable(value[:MOST_SHOWN])}{more}'"
    try:
        text = printable(repr(value))
    except Exception:
        # A number of more digits than Python writes, or an object that fails to describe itself.
        return f"a value of type {type(value).__name__} that cannot be written out"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
