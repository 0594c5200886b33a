"""What the fence sends: its scripts, the key of a mark, and what a refusal looks like."""

from binascii import crc_hqx
from functools import cache
from importlib.resources import files
from inspect import iscoroutinefunction
from itertools import count
from typing import Any

from fencepost.errors import Refused, Stale
from fencepost.fences.protocol import read_mark

_LUA = files(__package__)
CHECK = _LUA.joinpath("check.lua").read_text()
RUN = _LUA.joinpath("run.lua").read_text()
REFUSAL = "FENCEPOST_STALE "
NO_MARK = "FENCEPOST_NO_MARK"
# Lua's `unpack` gives less than 8,000 values, its stack included.
MOST_WORDS = 7900


def check_client(client: Any, taker: str) -> Any:
    """The client itself, or an error that says what a client is, or which class takes it instead of `taker`.

    What the wrong class asks of a client never comes to its server, or is never heard: every token would pass.
    """
    if not hasattr(client, "register_script"):
        raise TypeError(f"a Redis fence takes a client of redis-py or valkey-py, not {type(client).__name__}")
    if hasattr(client, "execute"):
        raise TypeError("a Redis fence takes a client, not its pipeline, which asks nobody before all is collected")
    ours, blocking = taker.startswith("Async"), taker.removeprefix("Async")
    if is_asynchronous(client) != ours:
        kind, other = ("a blocking client", blocking) if ours else ("a client for asyncio", f"Async{blocking}")
        name = f"{type(client).__module__}.{type(client).__name__}"
        raise TypeError(f"{kind} of Redis, {name}, is for {other}, not {taker}")
    return client


def is_asynchronous(client: Any) -> bool:
    """Also where somebody has wrapped what sends, to trace it."""
    return hasattr(client, "__aenter__") or iscoroutinefunction(getattr(client, "execute_command", None))


def guarded(lua: str) -> str:
    """The caller's script behind the check. A line with `#!lua` must stay the first."""
    first, newline, rest = lua.partition("\n")
    return f"{first}\n{CHECK}{rest}" if first.startswith("#!") and newline else CHECK + lua


def mark_key(name: str) -> str:
    """The key of a name's mark, in the cluster slot of the name: a tag in the name itself is kept."""
    start = name.find("{")
    # As Redis has it: from the first brace to the next that closes, unless there is nothing between.
    if start >= 0 and name.find("}", start + 1) > start + 1:
        return f"fencepost:fence/{name}"
    if "}" not in name:
        return f"fencepost:fence:{{{name}}}"
    # The name itself can not be a tag, which would end within it.
    return f"fencepost:fence:{{{_tag(_slot(name))}}}/{name}"


@cache
def _tag(slot: int) -> int:
    """The first number whose text is in that slot."""
    return next(number for number in count() if _slot(str(number)) == slot)


def _slot(text: str) -> int:
    return crc_hqx(text.encode(), 0) % 16384


def refusal(error: Exception, name: str, token: int, key: str) -> Stale | Refused | None:
    """The refusal that a client's error stands for, whichever client it is. `key` is where the mark stands."""
    said = str(error)
    if NO_MARK in said:
        return _strange(name, key)
    _, found, mark = said.rpartition(REFUSAL)
    return Stale(name, token, mark_of(name, (mark.split() or [""])[0], key)) if found else None


def mark_of(name: str, text: str | bytes, key: str) -> int:
    """The mark as a number. Anybody may have written there."""
    mark = read_mark(text)
    if mark is None or len(str(mark)) != len(text):
        raise _strange(name, key)
    return mark


def _strange(name: str, key: str) -> Refused:
    return Refused(f"the mark of '{name}' at '{key}' is no token: somebody else has written it")


def words(commands: list[tuple[object, ...]]) -> list[object]:
    """Commands as `run.lua` takes them."""
    return [word for command in commands for word in (len(command), *check_length(command))]


def check_length(command: tuple[object, ...]) -> tuple[object, ...]:
    """The command itself. One that is too long would fail in the middle of the script, behind what it did before."""
    if len(command) > MOST_WORDS:
        raise ValueError(
            f"a fenced {command[0]} has at most {MOST_WORDS} words, this one has {len(command)}: "
            "split it, in the block of one guard"
        )
    return command
