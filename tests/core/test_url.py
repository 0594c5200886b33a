import pytest

from fencepost.core.url import Url, parse_url

pytestmark = pytest.mark.unit


def test_a_url_has_hosts_a_path_a_user_and_options() -> None:
    url = parse_url("REDIS://user:p%40ss@h1:1,h2,[::1]:3/db%20x?a=1&b=")
    assert url == Url("redis", (("h1", 1), ("h2", None), ("::1", 3)), "/db x", "user", "p@ss", {"a": "1", "b": ""})


def test_a_url_is_shown_without_its_password() -> None:
    assert str(parse_url("redis://user:secret@h:1/0?a=1")) == "redis://user:***@h:1/0?a=1"
    assert "secret" not in repr(parse_url("redis://:secret@h"))


@pytest.mark.parametrize("text", ["", "localhost", "://x", "/tmp/locks.db"])
def test_what_is_no_url_says_how_one_looks(text: str) -> None:
    with pytest.raises(ValueError, match="is not an engine URL: write scheme://"):
        parse_url(text)


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1"])
def test_a_bad_port_is_named(port: str) -> None:
    with pytest.raises(ValueError, match=f"port '{port}'"):
        parse_url(f"redis://h:{port}")


def test_an_unknown_option_is_named_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"unknown option 'tll' in x://h\?ttl=1&tll=\*\*\*: x:// knows ttl"):
        parse_url("x://h?ttl=1&tll=1").check_options("ttl")


@pytest.mark.parametrize(
    "text",
    [
        "redis:/user:secret@h",
        "user:secret@h:6379",
        "user:secret@redis://h",
        "redis//user:secret@h",
        "redis://user:secret@h:x",
        "redis://user:sec/secret@h",
        "redis://user:sec?secret@h:1",
        "redis://user:secret@h?tll=1",
        "redis://user:sec@secret@h?tll=1",
        "redis://h?password=secret&tll=1",
        "zookeeper://h?auth=digest:user:secret&tll=1",
        "redis+sentinel://h?sentinel_password=secret&tll=1",
        "postgresql://h/db?listen=postgresql://user:secret@h&tll=1",
        "redis://h?pasword=secret",
        "redis://h?pasword=a@secret",
        "redis://user:1/secret?db=@h",
        "redis://h?ttl=1&pass=a&pwd=secret",
        "redis+sentinel://h?sentinel_pasword=sec=secret",
        "redis:/h?pasword=secret",
        "redis:/h?password=sec&secret",
        "redis?pasword=sec=secret&ttl=1",
        "redis://h:x?pasword=secret",
        "redis://h h?pasword=secret",
        "redis://[h]?pasword=secret",
        "redis://h?ttl=1&ttl=2&pasword=secret",
        "redis://h?pasword=secret&ttl=%ff",
        "redis://h?pasword=secret&ttl=%00",
    ],
)
def test_no_message_about_a_mistyped_url_shows_its_secret(text: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_url(text).check_options("ttl", "password", "auth", "sentinel_password", "listen")
    assert "secret" not in str(raised.value)


def test_what_is_no_secret_is_shown() -> None:
    url = "redis+sentinel://h1:1,h2:2/service?tls=yes&ca=ca.crt"
    assert str(parse_url(url)) == url
