"""A path that a gateway judges is the one that others read: urllib, posixpath, h11 and httpx."""

from posixpath import normpath
from urllib.parse import unquote, urlsplit

import h11
import httpx
from hypothesis import strategies as st

from fencepost.fences.http.target import meant, spelled
from tests.support.course import harmed, tried

paths = st.lists(st.text("aZ9ж€ .~-%+&=:@!,", max_size=5), max_size=4).map(lambda parts: "/" + "/".join(parts))
ENCODED = [b"%", b"%2", b"%2f", b"%2E", b"%00", b"%5c", b"%25", b"%c3%28"]
JUNK = [*ENCODED, b"..", b"//", b";", b"?", b"#", b"\\", b"\xc3\xa9"]


# Each is another path for some server.
KNOWN = [{"raw": raw} for raw in (b"/a%252f", b"/a/%2e%2e/b", b"/a/..", b"//a", b"/a/./b", b"/a%2fb", b"/a%c3%28")]


@tried(80, 2000, *KNOWN, raw=harmed(paths.map(lambda path: spelled(path).encode()), *JUNK))
def test_a_path_that_is_judged_is_read_alike_by_all_and_spelled_in_one_way(raw: bytes) -> None:
    path = meant(raw)
    if path is None:
        return
    assert path == unquote(raw.decode(), errors="strict")
    assert path.split("/") == [unquote(part) for part in raw.decode().split("/")]
    # Nothing in it is dropped or folded, and nothing is encoded twice.
    assert normpath(path) == (path.rstrip("/") or "/")
    assert unquote(path) == path
    again = spelled(path)
    assert meant(again.encode()) == path
    assert urlsplit(f"http://a{again}").path == again
    assert httpx.URL(f"http://a{again}").path == path
    asked = h11.Connection(h11.SERVER)
    asked.receive_data(f"GET {again} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    request = asked.next_event()
    assert isinstance(request, h11.Request)
    assert request.target == again.encode()
