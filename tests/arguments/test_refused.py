"""An argument that will not do raises at once, in one line that names it, and nothing is sent or held."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import FencepostError
from tests.support.arguments.stage import Sent, Stage
from tests.support.arguments.table import REFUSED

pytestmark = pytest.mark.unit

MOST_SAID = 600
# In whose words an argument is named, where that is not its own name.
WORDS = {
    "grant": "token|grant",
    "names": "name",
    "url": "URL|unknown option",
    "requires": "requires|trait",
    "every": "schedule",
    "kinds": "kind of event",
    "number": "partition",
    "function": "function",
    "connection": "SQL(ite)? fence takes",
    "store": "store|SQL fence takes",
    "table": "table",
    "column": "column",
    "key": "key|column|table|name",
    "columns": "column",
    "version": "version|column",
    "values": "values|used here with",
    "target": "port",
    "method": "method",
    "times": "times|number of calls",
    "methods": "method",
    "data": "data|content",
    "value": "value|result",
    "holder": "label",
    "upstream": "service",
    "largest_token": "token",
    "order_by": "order_by|column",
    "count": "count|number of",
    "limit": "limit|rate",
    "client": "client",
    "where": "where|column",
    "expected": "expected|version",
}
# They keep what they are told on disk.
DURABLE = ("FileFence", "HostFence", "FileResults")
CALLS = [(title, argument) for title, row in REFUSED.items() for argument, kind in row.items() if kind.bad]


@pytest.fixture(params=["sync", "async"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path, twin=request.param == "sync")
    yield stage
    stage.close()


def test_what_will_not_do_is_refused_before_anything_is_sent(stage: Stage) -> None:
    faults = [
        f"{title}({argument}={_described(value)}): {fault}"
        for title, argument in CALLS
        if stage.has(title)
        for value in REFUSED[title][argument].bad
        if (fault := _fault(stage, title, argument, value))
    ]
    assert not faults, "\n".join(faults)


def test_what_will_do_raises_nothing_but_what_is_documented_and_leaves_nothing_held(tmp_path: Path) -> None:
    stage = Stage(tmp_path, twin=True)
    for title, row in REFUSED.items():
        if title.startswith((*DURABLE, "Proxy.__init__")):
            continue
        for argument, kind in row.items():
            for value in kind.good:
                stage.prepare(title)
                held = stage.session.statistics().held
                try:
                    found = stage.call(title, **{argument: value})
                except (FencepostError, Sent):
                    continue
                except Exception as error:
                    raise AssertionError(f"{title}({argument}={_described(value)}): {error!r}") from error
                stage.give_back(found)
                assert stage.session.statistics().held == held, f"{title}({argument}={_described(value)})"
    stage.close()


def _fault(stage: Stage, title: str, argument: str, value: object) -> str | None:
    """What is wrong with the answer to a bad argument; None if nothing is."""
    # Whatever it takes to have the object is not counted.
    stage.prepare(title)
    sent, held = stage.sent, stage.session.statistics().held
    try:
        found: Any = stage.call(title, **{argument: value})
    except (ValueError, TypeError) as error:
        said = str(error)
    except BaseException as error:
        return f"raised {type(error).__name__}: {error!r}"
    else:
        return f"was taken: {_described(found)}"
    if not said.isprintable():
        return f"is not one line that can be shown: {said!r}"
    if len(said) > MOST_SAID:
        return f"says too much: {said[:80]}…"
    if not re.search(WORDS.get(argument, argument), said):
        return f"is not named in: {said}"
    if stage.sent != sent or stage.session.statistics().held != held:
        return "something was sent, or is held"
    return None


def _described(value: object) -> str:
    try:
        return repr(value)[:60]
    except Exception:
        return f"a {type(value).__name__}"
