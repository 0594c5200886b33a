"""What may be locked: any non-empty text up to 1,024 characters."""

from collections.abc import Iterable, Sequence

MOST_CHARACTERS = 1024
MOST_LISTED = 10


def check_name(name: str) -> str:
    """The name itself, or an error that says what to change."""
    if not isinstance(name, str):
        raise TypeError(f"a lock name is text, not {type(name).__name__}: use str(…) on it")
    if not name:
        raise ValueError("a lock name must not be empty: name the thing to be protected, such as 'orders/42'")
    if len(name) > MOST_CHARACTERS:
        raise ValueError(
            f"a lock name has at most {MOST_CHARACTERS} characters, this one has {len(name)}: use a digest of it"
        )
    if "\0" in name:
        raise ValueError("a lock name must not contain a NUL character: remove or replace it")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError("a lock name must be valid Unicode, and this one has a lone surrogate") from None
    return name


def is_name(name: object) -> bool:
    """Whether that is a name which can be locked: what others have written may be anything."""
    try:
        check_name(name)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names to be locked together: at least one, and none twice."""
    if isinstance(names, str):
        raise TypeError(f"several names are a list of texts, not one text: [{names!r}]")
    checked = tuple(check_name(name) for name in names)
    if not checked:
        raise ValueError("name at least one thing to lock")
    if len(set(checked)) < len(checked):
        twice = next(name for name in checked if checked.count(name) > 1)
        raise ValueError(f"'{twice}' is named twice: nobody can hold a lock twice at once")
    return checked


def check_text(text: str, what: str) -> str:
    """What stands beside a name for people to read: every engine keeps it, and everybody who looks is shown it."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{what} has at most {MOST_CHARACTERS} characters, this one has {len(text)}: shorten it")
    return check_unicode(text, what)


def check_unicode(text: str, what: str) -> str:
    """Text that every engine can keep, however long."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} must be valid Unicode, and this one has a lone surrogate") from None
    return text


def listed(names: Sequence[str]) -> str:
    """For a message: the first few, and how many more."""
    shown = ", ".join(f"'{name}'" for name in names[:MOST_LISTED])
    return shown if len(names) <= MOST_LISTED else f"{shown} and {len(names) - MOST_LISTED} more"
