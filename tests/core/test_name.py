import pytest

from fencepost.core.name import check_name

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
