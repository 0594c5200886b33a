"""What may be locked: any non-empty text up to 1,024 characters."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from fencepost.core.shown import shown

MOST_CHARACTERS = 1024
# Of what a leader or a member says of itself. A store keeps it beside that of others, and Consul takes 512 KiB in all.
MOST_DATA = 16_384
MOST_LISTED = 10
# For what names a lock that belongs to a group, to partitions or to once-only work.
ROOM = 32


def check_name(name: str, what: str = "a lock name") -> str:
    """The name itself, or an error that says what to change."""
    if not isinstance(name, str):
        raise TypeError(f"{what} is text, not {type(name).__name__}: use str(…) on it")
    if not name:
        raise ValueError(f"{what} must not be empty: name the thing to be protected, such as 'orders/42'")
    if len(name) > MOST_CHARACTERS:
        raise ValueError(
            f"{what} has at most {MOST_CHARACTERS} characters, this one has {len(name)}: use a digest of it"
        )
    _check_characters(name, what)
    return name


def is_name(name: object) -> bool:
    """Whether that is a name which can be locked: what others have written may be anything."""
    try:
        check_name(name)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def shortened(name: str) -> str:
    """The name, with room for what is put before or behind it to name another lock: a digest tells long ones apart."""
    if len(name) <= MOST_CHARACTERS - ROOM:
        return name
    digest = f"…{sha256(name.encode()).hexdigest()}"
    return name[: MOST_CHARACTERS - ROOM - len(digest)] + digest


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names to be locked together: at least one, and none twice."""
    if isinstance(names, str):
        raise TypeError(f"several names are a list of texts, not one text: [{shown(names)}]")
    if not isinstance(names, Iterable):
        raise TypeError(f"several names are a list of texts, not {type(names).__name__}")
    checked = tuple(check_name(name) for name in names)
    if not checked:
        raise ValueError("name at least one thing to lock")
    if len(set(checked)) < len(checked):
        twice = next(name for name in checked if checked.count(name) > 1)
        raise ValueError(f"{shown(twice)} is named twice: nobody can hold a lock twice at once")
    return checked


def check_text(text: str, what: str, most: int = MOST_CHARACTERS) -> str:
    """What stands beside a name for people to read: every engine keeps it, and everybody who looks is shown it."""
    if not isinstance(text, str):
        raise TypeError(f"{what} is text, not {type(text).__name__}: use str(…) on it")
    if len(text) > most:
        raise ValueError(f"{what} has at most {most} characters, this one has {len(text)}: shorten it")
    _check_characters(text, what)
    return text


def _check_characters(text: str, what: str) -> None:
    """What not every store can keep is refused by all: elsewhere it would come back as something else."""
    if "\0" in text:
        raise ValueError(f"{what} must not contain a NUL character: remove or replace it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} must be valid Unicode, and this one has a lone surrogate") from None


def is_plain(text: str) -> bool:
    """Whether every store can keep it."""
    try:
        _check_characters(text, "it")
    except ValueError:
        return False
    return True


def listed(names: Sequence[str]) -> str:
    """For a message: the first few, and how many more."""
    first = ", ".join(f"'{name}'" for name in names[:MOST_LISTED])
    return first if len(names) <= MOST_LISTED else f"{first} and {len(names) - MOST_LISTED} more"
