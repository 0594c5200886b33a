"""What an app does while it answers happens under the guard, too."""

from collections.abc import Iterable
from typing import Any

import pytest

from fencepost.errors import Stale
from fencepost.fences.http import FencedWsgi
from fencepost.fences.memory import MemoryFence

pytestmark = pytest.mark.unit


def test_an_app_that_answers_by_a_generator_works_under_the_guard() -> None:
    fence, done = MemoryFence(), []

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        yield b"first"
        done.append(environ["fencepost.token"])
        yield b"second"

    fenced = FencedWsgi(app, fence)
    request = {"REQUEST_METHOD": "POST", "PATH_INFO": "/orders/42", "HTTP_FENCING_TOKEN": "7"}
    answer = fenced(request, lambda *_: None)
    assert done == [7], "before the guard was left"
    assert list(answer) == [b"first", b"second"]
    with pytest.raises(Stale), fence.guard("orders/42", 6):
        pass
