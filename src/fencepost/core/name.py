"""What may be locked: any non-empty text up to 1,024 characters."""

MOST_CHARACTERS = 1024


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
