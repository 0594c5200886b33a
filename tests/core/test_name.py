import pytest

from fencepost.core.name import check_name, check_names, check_text, listed

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", ["a", "orders/42", "ключ", "🔒", " ", "x" * 1024])
def test_any_text_up_to_1024_characters_is_a_name(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "must not be empty: name the thing"),
        ("x" * 1025, "has at most 1024 characters, this one has 1025: use a digest"),
        ("a\0b", "must not contain a NUL character: remove"),
        ("\ud800", "lone surrogate"),
    ],
)
def test_a_bad_name_raises_and_says_what_to_do(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_name(name)


@pytest.mark.parametrize("name", [None, 42, b"bytes", ["a"]])
def test_what_is_not_text_is_not_a_name(name: object) -> None:
    with pytest.raises(TypeError, match="a lock name is text, not"):
        check_name(name)  # type: ignore[arg-type]


def test_names_to_be_locked_together_are_checked_however_many() -> None:
    names = [f"account/{number}" for number in range(100_000)]
    assert check_names(names) == tuple(names)
    with pytest.raises(ValueError, match="'account/7' is named twice"):
        check_names([*names, "account/7"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x" * 1025, "a note has at most 1024 characters, this one has 1025: shorten it"),
        ("\ud800", "a note must be valid Unicode"),
    ],
)
def test_what_is_said_beside_a_name_is_short_and_valid(text: str, says: str) -> None:
    assert check_text("x" * 1024, "a note") == "x" * 1024
    with pytest.raises(ValueError, match=says):
        check_text(text, "a note")


def test_a_message_lists_ten_names_and_counts_the_rest() -> None:
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed([str(number) for number in range(500)]).endswith("'8', '9' and 490 more")
