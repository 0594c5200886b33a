"""What happens in a session, as values that instrumentation can subscribe to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something happened to `holder`, the session's lease of that moment."""

    holder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseOpened(Event):
    ttl: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted(Event):
    name: str
    token: int
    waited: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Event):
    """The ask was not granted at once and stands in the queue."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Event):
    name: str
    token: int
    held: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed(Event):
    claims: int
    took: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Jeopardy(Event):
    """A renewal failed. What is held is still proven for `remaining` seconds."""

    reason: str
    remaining: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered(Event):
    """Renewals work again; nothing was lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost(Event):
    """A grant is no longer held, and was not released."""

    name: str
    token: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost(Event):
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled(Event):
    """The engine did not say whether it heard that these names were given back; it is asked again until it does."""

    names: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evicted(Event):
    """Somebody took the name from its holder by hand."""

    name: str
    token: int
    evicted: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedToYield(Event):
    """Somebody politely asks for a lock that is held here."""

    name: str
    token: int
    by: str
    reason: str
