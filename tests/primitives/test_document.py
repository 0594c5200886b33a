"""The law of strangers, for the documents that sessions share: what others have written there is `Refused`."""

import json
from collections.abc import Callable

import pytest

import fencepost
from fencepost.errors import Refused
from fencepost.fences.result import MemoryResults
from tests.support.engine import cells_of

pytestmark = pytest.mark.unit
Call = Callable[[fencepost.Session], object]

NO_DOCUMENTS = ("", "nonsense", "[]", "7", '"text"', "null", "[" * 100_000, '{"stamps": 7}', '{"stamps": [7]}')
OF_A_ROSTER = ('{"present": 7}', '{"present": {"x": 7}}', '{"present": {"x": ["a"]}}', '{"present": {"x": [1, 2]}}')
OUTCOME = [1, 1, "me", "done", "", 0.0]
STRANGE: dict[str, tuple[str, ...]] = {
    "election/a": ('{"changes": 7}', '{"changes": [7]}', '{"changes": [[1]]}', '{"changes": [[1, "x", "", ""]]}'),
    "group/a": OF_A_ROSTER,
    "barrier/a": (
        *OF_A_ROSTER,
        '{"generation": "x"}',
        '{"generation": -1}',
        '{"present": {"x": ["", ""]}}',
        '{"present": {"x": ["", ""]}, "parties": "x"}',
        '{"passed": 7}',
    ),
    "partitions/a": (*OF_A_ROSTER, '{"owners": 7}', '{"owners": [7]}'),
    "latch/a": ('{"left": 1}', '{"count": 2}', '{"count": 2, "left": "x"}', '{"count": 2, "left": 3}'),
    "job/a": (
        '{"last": 7}',
        '{"last": [1]}',
        *(json.dumps({"last": [*OUTCOME[:at], {}, *OUTCOME[at + 1 :]]}) for at in range(len(OUTCOME))),
        '{"done": 7}',
        '{"done": [7]}',
        '{"ticks": 7}',
        '{"ticks": ["x"]}',
    ),
    "yield/a": ('{"token": "x", "by": "", "reason": ""}', '{"token": 1}', '{"token": 1, "by": 7, "reason": ""}'),
}


def asked_to_yield(session: fencepost.Session) -> object:
    with session.lock("a"):
        return session.ask_to_yield("a")


CALLS: dict[str, tuple[Call, ...]] = {
    "election/a": (
        lambda session: session.election("a").leader(),
        lambda session: next(session.election("a").observe()),
        lambda session: session.election("a").campaign("me"),
    ),
    "group/a": (
        lambda session: session.group("a").members(),
        lambda session: next(session.group("a").watch()),
        lambda session: session.group("a").join(),
    ),
    "barrier/a": (lambda session: session.barrier("a", 2).wait(timeout=0.01),),
    "partitions/a": (lambda session: session.partitions("a", 2).acquire(),),
    "latch/a": (
        lambda session: session.latch("a", 2).remaining(),
        lambda session: session.latch("a", 2).count_down(),
        lambda session: session.latch("a", 2).wait(timeout=0.01),
    ),
    "job/a": (lambda session: session.job("a").last(), lambda session: session.job("a").begin(2)),
    "yield/a": (asked_to_yield,),
}
CASES = [(key, number) for key, calls in CALLS.items() for number in range(len(calls))]


@pytest.mark.parametrize(("key", "number"), CASES)
def test_what_others_have_written_is_refused_and_nothing_is_left_held(key: str, number: int) -> None:
    with fencepost.connect(f"memory://{key.replace('/', '-')}-{number}") as session:
        cells = cells_of(session)
        for value in NO_DOCUMENTS + STRANGE[key]:
            cells.write(key, value, cells.read(key).version)
            with pytest.raises(Refused, match=key):
                print(value[:100], CALLS[key][number](session))
            assert session.names() == []


def test_a_result_that_others_have_written_is_refused() -> None:
    store = MemoryResults()
    with fencepost.connect("memory://") as session:
        session.once("a", store=store).run(lambda: 1)
        store.keep("once/a", 2**62, "no JSON", None)
        with pytest.raises(Refused, match="'once/a'"):
            session.once("a", store=store).run(lambda: 1)
